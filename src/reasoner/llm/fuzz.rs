//! Replies that no model wrote and no server sent.

use std::time::Duration;

use super::settings::EndpointSettings;
use super::think::{ReplyMarks, ThinkFilter, Thinking, without_thoughts};
use super::{analysis, grades, plan};
use crate::openai::{Body, CallWaits, ChatReply, Tables};

/// Reads the input as a reply to each judgement.
///
/// # Panics
/// Where a grade is no number.
pub fn reply(input: &[u8]) {
    let reply = String::from_utf8_lossy(input);
    let _ = analysis::read(&reply);
    let _ = plan::read(&reply);
    for expected in [1, 3] {
        if let Ok(grades) = grades::read(&reply, expected) {
            assert!(grades.iter().all(|grade| grade.is_finite()));
        }
    }
}

/// Removes thoughts from the input, whole and cut after each character.
///
/// # Panics
/// Where more is left than there was.
pub fn think(input: &[u8]) {
    let reply = String::from_utf8_lossy(input);
    let whole = without_thoughts(&reply);
    let mut filter = ThinkFilter::new(ReplyMarks::built_in(), Thinking::Unknown);
    let mut pieces = String::new();
    for c in reply.chars() {
        pieces += &filter.push(c.encode_utf8(&mut [0; 4]));
    }
    pieces += &filter.finish();
    assert!(pieces.len() <= reply.len() && whole.len() <= reply.len());
}

/// Reads the input as the body of a response, to its end.
///
/// # Panics
/// Where much more is said than was sent.
pub fn stream(input: &[u8]) {
    let settings = EndpointSettings {
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        timeout: Duration::from_secs(9),
        ..EndpointSettings::default()
    };
    let tables = Tables::read(None).expect("the built-in tables");
    let endpoint = settings.endpoint(&tables).expect("settings that hold");
    let (waits, silence) = (CallWaits::default(), Duration::from_secs(9));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let response = http::Response::new(input.to_vec()).into();
    runtime.block_on(async {
        let body = Body::new(response, &endpoint.site, &waits, silence, 512 * 768);
        let mut reply = ChatReply::new(body, &endpoint.server.thoughts, 512);
        let mut said = 0;
        while let Ok(Some(piece)) = reply.next().await {
            said += piece.text.len();
        }
        // An escape is never shorter than what it stands for by more than this.
        assert!(said <= input.len() * 3 + 16, "{said} of {}", input.len());
    });
}

#[cfg(test)]
mod tests {
    use crate::fuzz::kept_inputs;

    #[test]
    fn kept_replies_thoughts_and_streams_are_read() {
        for (target, check) in [
            ("reply", super::reply as fn(&[u8])),
            ("think", super::think),
            ("stream", super::stream),
        ] {
            for (_, input) in kept_inputs(target) {
                check(&input);
            }
        }
    }
}
