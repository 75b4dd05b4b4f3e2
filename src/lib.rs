//! Chat with a knowledge base in the terminal, and see how each answer came about.
//!
//! One idea carries the program: a query is a stream of typed events, and everything a person
//! sees is a fold over that stream. Layers import only downwards:
//!
//! ```text
//! main ─► cli ─┬─► tui ─────────────► protocol, domain, text
//!              └─► engine ─┬─► config
//!                          ├─► reasoner ──┐
//!                          ├─► tools ─► kb ┼─► agent::ports, domain, text
//!                          ├─► embed ─────┤
//!                          ├─► audit ─────┘
//!                          └─► agent ──► protocol ─► domain ─► text
//!
//! reasoner, embed ─► http ─► text    what the chat and the embedding endpoint share
//! config, reasoner, kb, audit, engine, cli ─► files ─► std     reading and writing files safely
//! config, kb ─► globs                patterns of files
//! embed, kb ─► threads               which of them gets the cores
//! ```
//!
//! The layers and the rooms inside them are data in `tests/it/architecture.rs`, which fails at the
//! first import that points up or closes a circle.
//!
//! # The way of a question
//!
//! ```text
//! key ─► tui::update ─► Command ─► agent::worker ─► agent::run ─► nodes: analyze_and_route ─► plan
//!                                                    │              ─► tool_exec ─► grade_evidence
//!                                                    │              ─► synthesize
//!                                                    ├─► ports::Reasoner   reasoner::{offline, llm}
//!                                                    └─► ports::Toolbox    tools ─► kb::search, kb::grep
//! EventBody ◄────────────────────────────────────────┘
//!     ├─► audit          appends it, masked, before it is shown
//!     ├─► tui::fold      what the panes draw
//!     └─► cli            `ask`, `ask --json`
//! ```
//!
//! Which node comes next is decided by the pure functions of `domain` (`route_after_…`,
//! `approving_rule`); the nodes only act on it. `replay`, what-if and the statistics read the same
//! events again from the log.
//!
//! # The way of a saved file
//!
//! ```text
//! kb::watch ─► kb::update ─► kb::extract ─► kb::chunk ─► kb::index ─► embed, in bulk
//! (changed)    (what differs) (bytes, text)  (passages)   (commit)     (vectors)
//! ```
//!
//! `extract` runs in a process of its own, because documents come from anywhere. A commit makes the
//! words of a file searchable at once; its vectors follow.
//!
//! # Where to add
//!
//! What users see is also told in README.md, CHANGELOG.md and `assets/demo-kb`. When a page there has changed, its
//! vectors are written anew (golden tests read a frozen copy below `tests/it/fixtures`):
//! `cargo test --test it write_the_vectors_of_the_demo -- --ignored`.
//!
//! | what | copy | then name it in |
//! |---|---|---|
//! | a tool | `tools/grep_search.rs` | [the steps below](#adding-a-tool) |
//! | a file format | `kb/extract/text/notebook.rs` | [the steps below](#adding-a-file-format) |
//! | a chat server | an entry of `assets/llm/servers.toml` | nothing: users can do the same in their own `servers.toml` |
//! | a theme | `assets/themes/light.toml` or `dark.toml` for one background (`ground-elsewhere`), `high-contrast.toml` where it brings its own (`ground`); each ink of text has a contrast of 4.5 : 1, also on the selected row | `tui/theme/name.rs`, `made_for` in `tui/theme_choice.rs`, `terminals` in `tui/theme/contrast.rs` and there, with `ground-elsewhere`, the grounds it is not for, `/theme` in `tui/slash.rs` and README.md; `THEMES` in `config/settings.rs`, the setting's words in `config/variables.rs`, `.env.example`; `tests/it/screen/looks.rs` and `states.rs`, with new snapshots and those of the menu, which `states_200x60` and `states_40x10` draw too; `assets/demo-kb/settings.md`; users can put their own into `themes/` |
//! | a language | `assets/language/de.toml` | `domain/question.rs` (`Language`), `reasoner/offline/language.rs`, `reasoner/offline/language/table.rs` |
//! | a place that keeps an index | `kb/index/remote/remote_store.rs` | the traits of `kb/index/port.rs`; `kb/index.rs` opens it, `kb/base/opening.rs` names it; the suite in `kb/conformance.rs` runs over it |
//! | what a node says of its work | a field of `EventBody` in `protocol.rs` (optional, `serde(default)`: old logs stay readable) | the node in `agent/nodes/`; `tui/fold/run.rs` keeps it, `tui/panes/node.rs` draws it |
//! | a setting | an entry of `config/variables.rs`, by `variable` (taste) or `reaching` (what kb-agent may reach: not from a foreign `.env`) | `config/settings.rs`, its value for `--help` and `doctor` in `config/listing.rs`; a secret in `config/shown.rs`; one of the chat endpoint in `config/llm_variables.rs` instead; `.env.example` with its default, a row in README.md; who uses it: `tui/setup.rs` or `engine/opening.rs` |
//! | a subcommand | `cli/search.rs`, over recorded runs `cli/stats.rs` | `cli.rs` (`mod`, `CliCommand`, `run`); tests in `tests/it/cli.rs` or `recorded_runs.rs` |
//! | a key | an entry of `assets/keymap.toml` | an action of that name in `tui/keymap/action.rs` and in `tui/act.rs` |
//!
//! `cargo check --all-targets` names the matches over `ToolName`, `Format`, `PlaceUnit`, `ThemeName` and
//! `Language` that miss a new one, those of the tests once the library compiles. It does not name lists of
//! words, prompts, comparisons with one of them and numbers of them: the rows above do, and `git grep -i` for
//! one of its kind in both spellings (`graph_related`, `GraphRelated`; `ipynb`, `notebook`; `high-contrast`,
//! `HighContrast`) finds what they forgot.
//!
//! # Adding a file format
//!
//! A row in `FILE_FORMATS` (`domain/file_format.rs`), the reader that its kind names in `kb/extract/format.rs`, and
//! the reader's own file. Raise `FORMAT` in `kb/index/embedded/store.rs` and `kb/index/remote/schema.rs` where files
//! were read differently before. The README's table, the fuzz targets and every list of endings are made from the
//! rows; `tests/it/formats.rs` asks for a sample.
//!
//! # Adding a tool
//!
//! Decide first whether its questions are a kind of their own: most of steps 3 and 8 follows from it, and is told
//! below.
//!
//! 1. `tools.rs` (`mod`), `domain/tool.rs` (`ToolName`, `ToolCall`; a call whose `subject` is empty is dropped by the
//!    built-in engine), `tools/catalog.rs`, `tools/toolbox.rs`. A tool asks the methods of `kb::KnowledgeBase`, and
//!    may need another one there (`kb/contents.rs` has documents by name and the words of their headings, without
//!    lines: these stand in the blocks of `kb/chunk.rs`; `kb/whole.rs` has the text of a file). `tools/hits.rs` makes evidence of
//!    hits, `tools/read_file.rs` finds and reads a file by its name, `tools/local_file_qa.rs` has arguments that may
//!    be left out and a folder to stay within. What other rooms use is exported in `domain.rs`, `kb.rs`. What finds
//!    nothing returns no evidence; the graph goes on from there.
//! 2. Its arguments in `assets/llm/schemas/plan.json`, the one that it cannot do without first, and its name in
//!    `analysis.json` beside it; other names that models give an argument in `SYNONYMS` of
//!    `reasoner/llm/read/plan.rs` (none of `NAMES` there, which name the tool). The tests of
//!    `reasoner/llm/reply_schema.rs` tell what is missing.
//! 3. When the built-in engine takes it in `reasoner/offline/plan.rs` (before `read_file`, which takes each question
//!    that names a file, where it should win over that); which questions it is suggested for in
//!    `reasoner/offline/route/tools.rs` (by the type of the question: a kind that has a tool of its own is handed in
//!    by `reasoner/offline/route.rs`, or two tools are called) and `assets/prompts/analyze.md`.
//! 4. Whether a question alone makes a call in `agent/nodes/plan.rs`; what is tried when all that was suggested has
//!    failed in `agent/nodes/analyze_and_route.rs`.
//! 5. Whether what it brings is graded: on the complex route the grader grades it, unless a rule in `domain/rules.rs`
//!    approves it (where an answer needs no grading because a file was named; an existing rule can take it in; a new
//!    one is told in `assets/demo-kb/rules.md` and `zh/评分规则.md`, and in order in `law.rs`); on the simple route
//!    nothing is graded.
//! 6. On the screen: its short name, of six letters at most, in `tui/panes/wording.rs`, its verb in
//!    `tui/panes/waiting.rs`, whether it measures what it finds in `tui/panes/score.rs`, an argument beside its
//!    subject in `tui/panes/why.rs`.
//! 7. Tests in `tests/it/tools.rs`, and its calls there in `law.rs`, in `scope.rs` (one list for what searches, one
//!    for what is refused outside), and in `what_if.rs` (one more number of `case`, and an arm of `called`), in
//!    `ends_runs.rs` where a call may take long.
//! 8. The demo base: the number of tools in `README.md`, `tools.md` and `zh/工具.md` of `assets/demo-kb`, the tool in
//!    the last two, a section in `tools-files.md` or `tools-search.md`; its number in CHANGELOG.md.
//!
//! Where its questions are a new kind: `QuestionKind` in `domain/question.rs`, `reasoner/offline/question/kind.rs`,
//! `reasoner/offline/route.rs`, `tests/it/offline/routing.rs`, and a question to its answer in
//! `tests/it/demo.rs`. Its words stand in each `assets/language/*.toml` and in `reasoner/offline/language/table.rs`: a
//! key of `[asks]` where the words decide by themselves (the test of `table.rs` has the number of keys), a list of its
//! own where two of them must meet. A number or name that the call takes from the question is read in
//! `reasoner/offline/question.rs`.
//!
//! Where the answer is not a quotation that the judge chooses: `reasoner/offline/answer/listing.rs`, with
//! `[frames]` of each language for what it says of its own. Evidence is exactly the lines that it names: a tool that
//! counts returns the lines it counted. A fact that stands in no line, such as a date, is a field of `Measured` in
//! `domain/evidence.rs` (optional, `serde(default)`), which `kb/search.rs` fills; models see it by
//! `reasoner/llm/prompt/synthesize.rs`, readers of exports by `report/wording.rs`.
//!
//! `search --tool` takes ways of searching (`kb::SearchMode`), not tools.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod agent;
pub mod audit;
pub mod cli;
pub mod config;
pub mod domain;
pub mod embed;
pub mod engine;
pub mod files;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod globs;
pub mod http;
pub mod kb;
pub mod protocol;
pub mod reasoner;
pub mod report;
pub mod text;
mod threads;
pub mod tools;
pub mod tui;
