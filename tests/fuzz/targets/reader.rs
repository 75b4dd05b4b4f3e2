//! The reader that `KB_AGENT_FUZZ_TARGET` names. One program, because linking one takes long.
#![no_main]

use std::sync::LazyLock;

use kb_agent::{fuzz, kb, reasoner, tui};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<String> = LazyLock::new(|| {
    std::env::var("KB_AGENT_FUZZ_TARGET").expect("KB_AGENT_FUZZ_TARGET names a target")
});

fuzz_target!(init: fuzz::forgive_panics_of_libraries(), |input: &[u8]| {
    match TARGET.as_str() {
        "reply" => reasoner::llm::fuzz::reply(input),
        "think" => reasoner::llm::fuzz::think(input),
        "stream" => reasoner::llm::fuzz::stream(input),
        "events" => tui::fold::fuzz::events(input),
        format => kb::fuzz::document(format, input),
    }
});
