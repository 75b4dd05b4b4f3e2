//! The list of models, and which model does which job.

use crossterm::event::KeyCode;
use kb_agent::protocol::{
    Command, JobModels, JobName, Mode, ModelCommand, ModelListing, ModelOffer, ModelUpdate,
    ModelWish, Update,
};
use kb_agent::tui::{Effect, Msg, Screen, Setup};

use super::{ask, pictures, strike, tap, write};

fn online() -> Screen {
    let mut screen = Screen::new(Setup {
        mode: Mode::Llm,
        models: JobModels::same_for_all("qwen3-8b"),
        ..Setup::default()
    })
    .unwrap();
    super::tell_knowledge(&mut screen);
    screen
}

fn tell(screen: &mut Screen, update: ModelUpdate) -> Vec<Effect> {
    screen.handle(Msg::Update(Update::Model(update)))
}

fn listing() -> ModelListing {
    let offer = |name: &str, context| ModelOffer {
        name: name.to_owned(),
        context,
        server: None,
    };
    ModelListing {
        host: "127.0.0.1:8080".to_owned(),
        models: vec![
            offer("qwen3-8b", Some(32_768)),
            offer("qwen3-1b", Some(8_192)),
            offer("evil\u{1b}[2Jname", None),
            offer(&"long-".repeat(40), None),
        ],
        left_out: 1,
        in_use: JobModels::same_for_all("qwen3-8b"),
    }
}

fn choose(job: Option<JobName>, model: Option<&str>) -> Vec<Effect> {
    let model = model.map(str::to_owned);
    let wish = ModelWish {
        job,
        model,
        ..ModelWish::default()
    };
    vec![Effect::Send(Command::Model(ModelCommand::Choose(wish)))]
}

fn opened() -> Screen {
    let mut screen = online();
    write(&mut screen, "/model");
    let list = Effect::Send(Command::Model(ModelCommand::List));
    assert_eq!(tap(&mut screen, KeyCode::Enter), [list]);
    screen
}

#[test]
fn ui_models_are_listed_with_the_jobs_that_they_do() {
    let mut screen = online();
    let mut models = JobModels::same_for_all("qwen3-8b");
    models.set(JobName::Grade, Some("qwen3-1b"));
    strike(&mut screen, "/model<Enter>");
    let in_use = models;
    let listing = ModelListing {
        in_use,
        ..listing()
    };
    tell(&mut screen, ModelUpdate::Listed(Ok(listing)));
    pictures("models", &mut screen);
    let text = screen.text(100, 30);
    assert!(text.contains("evilname") && text.contains('…'), "{text}");
    // The job is chosen by a key, and the model that does it is selected.
    for _ in 0..3 {
        tap(&mut screen, KeyCode::Tab);
    }
    assert!(screen.text(100, 30).contains("[grade]"));
    tap(&mut screen, KeyCode::Down);
    let name = "evil\u{1b}[2Jname";
    let sent = tap(&mut screen, KeyCode::Enter);
    assert_eq!(sent, choose(Some(JobName::Grade), Some(name)));
}

#[test]
fn ui_escape_clears_what_is_typed_and_then_closes_the_list() {
    let mut screen = opened();
    tell(&mut screen, ModelUpdate::Listed(Ok(listing())));
    write(&mut screen, "zzz");
    assert!(screen.text(100, 30).contains("nothing like that"));
    assert_eq!(tap(&mut screen, KeyCode::Enter), []);
    tap(&mut screen, KeyCode::Esc);
    assert!(screen.text(100, 30).contains("qwen3-1b"));
    strike(&mut screen, "<Home><Up><Esc>");
    assert!(!screen.text(100, 30).contains("qwen3-1b"));
    // What comes after that opens nothing.
    tell(&mut screen, ModelUpdate::Listed(Ok(listing())));
    assert!(!screen.text(100, 30).contains("qwen3-1b"));
}

#[test]
fn ui_the_first_row_goes_back_to_the_settings() {
    let mut screen = opened();
    tell(&mut screen, ModelUpdate::Listed(Ok(listing())));
    assert_eq!(strike(&mut screen, "<Up><Enter>"), choose(None, None));
}

#[test]
fn ui_a_question_waits_until_the_choice_is_checked() {
    let mut screen = online();
    let sent = strike(&mut screen, "/model qwen3-1b<Enter>");
    assert_eq!(sent, choose(None, Some("qwen3-1b")));
    for question in ["one?", "two?"] {
        write(&mut screen, question);
        assert_eq!(tap(&mut screen, KeyCode::Enter), []);
    }
    // Esc takes the last one back.
    tap(&mut screen, KeyCode::Esc);
    let chosen = ModelUpdate::Chosen(JobModels::same_for_all("qwen3-1b"));
    assert_eq!(tell(&mut screen, chosen), ask("one?", None));
    let text = screen.text(100, 30);
    assert!(text.lines().next().unwrap().contains("qwen3-1b"), "{text}");
}

#[test]
fn local_servers_are_kept_by_s_only_where_it_is_no_letter() {
    let mut screen = Screen::new(Setup::default()).unwrap();
    super::tell_knowledge(&mut screen);
    let list = Effect::Send(Command::Model(ModelCommand::List));
    assert_eq!(strike(&mut screen, "/model<Enter>"), [list]);
    let mut found = listing();
    for offer in &mut found.models {
        offer.server = Some("Ollama".to_owned());
    }
    found.in_use = JobModels::same_for_all("extractive");
    tell(&mut screen, ModelUpdate::Listed(Ok(found)));
    pictures("models_found", &mut screen);
    // Behind other letters, and where a job is chosen, it narrows the list.
    assert_eq!(strike(&mut screen, "1bs<Esc><Tab>s<Esc><BackTab>"), []);
    let wish = ModelWish {
        model: Some("qwen3-8b".to_owned()),
        server: Some("Ollama".to_owned()),
        is_kept: true,
        ..ModelWish::default()
    };
    let kept = Effect::Send(Command::Model(ModelCommand::Choose(wish)));
    assert_eq!(tap(&mut screen, KeyCode::Char('s')), [kept]);
    let (mode, endpoint) = (Mode::Llm, Some("http://127.0.0.1:11434/v1".to_owned()));
    tell(&mut screen, ModelUpdate::Engine { mode, endpoint });
    let chosen = JobModels::same_for_all("qwen3-8b");
    tell(&mut screen, ModelUpdate::Chosen(chosen));
    let text = screen.text(100, 30);
    assert!(text.lines().next().unwrap().contains("qwen3-8b"), "{text}");
    // Nothing is found any more: while a model thinks, the window says why.
    strike(&mut screen, "/model<Enter>");
    tell(
        &mut screen,
        ModelUpdate::Listed(Err("nobody listens".to_owned())),
    );
    assert!(screen.text(100, 30).contains("nobody listens"));
}

#[test]
fn ui_a_list_that_is_not_known_is_one_line_in_its_place() {
    let mut screen = opened();
    assert!(screen.text(100, 30).contains("asking the server"));
    let why = "cannot reach 127.0.0.1:8080: connection refused; check that the server runs and \
               KB_AGENT_LLM_BASE_URL";
    tell(&mut screen, ModelUpdate::Listed(Err(why.to_owned())));
    pictures("models_unknown", &mut screen);
    assert_eq!(tap(&mut screen, KeyCode::Enter), []);
    let refused = Command::Model(ModelCommand::List);
    screen.handle(Msg::Refused(refused));
    assert!(screen.text(100, 30).contains("The engine is busy"));
    let mut screen = opened();
    screen.handle(Msg::EngineGone);
    assert!(screen.text(100, 30).contains("the engine stopped"));
}
