//! The program over a real PostgreSQL with pgvector: one base, many machines.
//!
//! Needs the server that `tests/store-server/serve_store.sh` starts; each test has a database of its
//! own there. How often an indexer or the server is killed says `KB_AGENT_TEST_KILLS`.

mod faults;
mod moving;
mod rights;
mod sharing;

use std::process::{Command, Output};

use parking_lot::{RwLock, RwLockReadGuard};
use serde_json::Value;
use tokio_postgres::{Config, NoTls};

use crate::workplace::{Workplace, text};

/// What this version keeps lies in it.
const SCHEMA: &str = "kb_v7_3";

/// One test stops the server; the others need it.
static SERVER: RwLock<()> = RwLock::new(());

fn set(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name}: see tests/store-server/serve_store.sh"))
}

/// A database on the server.
struct Store {
    database: String,
    _server: Option<RwLockReadGuard<'static, ()>>,
}

impl Store {
    fn new() -> Self {
        Self {
            _server: Some(SERVER.read()),
            ..Self::unguarded()
        }
    }

    fn unguarded() -> Self {
        Self::made_with("")
    }

    fn made_with(options: &str) -> Self {
        let database = format!("it_{}", uuid::Uuid::now_v7().simple());
        sql("postgres", &format!("CREATE DATABASE {database} {options}"));
        Self {
            database,
            _server: None,
        }
    }

    fn prepared(place: &Workplace) -> Self {
        let store = Self::new();
        succeeds(&store.run(place, &["store", "init"]));
        store
    }

    /// With the notes of that place, for a test that holds the server for itself.
    fn indexed_unguarded(place: &Workplace) -> (Self, String) {
        let (store, notes) = (Self::unguarded(), kb(place, "notes"));
        succeeds(&store.run(place, &["store", "init"]));
        succeeds(&store.run(place, &["index", "--kb", &notes]));
        (store, notes)
    }

    fn url(&self, user: &str, query: &str) -> String {
        let url = set("KB_AGENT_TEST_STORE_URL");
        let (base, _) = url.rsplit_once('/').unwrap();
        let base = base.replace("kb@", &format!("{user}@"));
        format!("{base}/{}?{query}", self.database)
    }

    fn command(&self, place: &Workplace, args: &[&str]) -> Command {
        let mut command = place.command(args);
        command
            .env("KB_AGENT_STORE_URL", self.url("kb", "space=team"))
            .env(
                "KB_AGENT_STORE_PASSWORD",
                set("KB_AGENT_TEST_STORE_PASSWORD"),
            )
            .env("KB_AGENT_STORE_CA", set("KB_AGENT_TEST_STORE_CA"))
            .env("KB_AGENT_DATA_DIR", place.path().join("data"));
        command
    }

    fn run(&self, place: &Workplace, args: &[&str]) -> Output {
        self.command(place, args).output().unwrap()
    }

    fn sql(&self, statements: &str) {
        sql(&self.database, statements);
    }

    /// Runs what `store init --print-sql` prints with these arguments, as that role.
    fn let_in(&self, as_role: Option<(&str, &str)>, place: &Workplace, roles: &[&str]) {
        self.try_to_let_in(as_role, place, roles).unwrap();
    }

    fn try_to_let_in(
        &self,
        as_role: Option<(&str, &str)>,
        place: &Workplace,
        roles: &[&str],
    ) -> Result<(), tokio_postgres::Error> {
        let args = [&["store", "init", "--print-sql"], roles].concat();
        let output = place.command(&args).output().unwrap();
        succeeds(&output);
        sql_as(as_role, &self.database, &text(&output.stdout))
    }

    fn status(&self, place: &Workplace) -> Value {
        let output = self.run(place, &["store", "status", "--json"]);
        succeeds(&output);
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn sql(database: &str, statements: &str) {
    sql_as(None, database, statements).unwrap();
}

/// Runs statements as the superuser, or as a role with its password.
fn sql_as(
    role: Option<(&str, &str)>,
    database: &str,
    statements: &str,
) -> Result<(), tokio_postgres::Error> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut config: Config = set("KB_AGENT_TEST_STORE_URL").parse().unwrap();
        config.dbname(database);
        config.password(set("KB_AGENT_TEST_STORE_PASSWORD"));
        if let Some((role, password)) = role {
            config.user(role).password(password);
        }
        let (client, connection) = config.connect(NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        let done = client.batch_execute(statements).await;
        drop(client);
        driver.await.unwrap().unwrap();
        done
    })
}

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn script(verb: &str) {
    let done = Command::new(set("KB_AGENT_TEST_STORE_SCRIPT"))
        .arg(verb)
        .status();
    assert!(done.unwrap().success(), "{verb}");
}

/// Its one line of failure; how far a long work is may stand before it.
fn fails(output: &Output) -> String {
    fails_with(1, output)
}

fn fails_with(code: i32, output: &Output) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stdout));
    let said = text(&output.stderr);
    assert!(!said.contains(&set("KB_AGENT_TEST_STORE_PASSWORD")));
    let is_progress = |line: &&str| line.ends_with(" left");
    let mut lines = said.trim().lines().filter(|line| !is_progress(line));
    let line = lines.next().unwrap_or_default().to_owned();
    assert_eq!(lines.next(), None, "{said}");
    line
}

fn notes() -> Workplace {
    Workplace::holding(table![
        "notes/kiln.md", "# Kiln\n\nThe kiln fires at night. See [glaze](glaze.md).\n";
        "notes/glaze.md", "# Glaze\n\nThe glaze is blue, says PROJ-7.\n";
    ])
}

fn kb(place: &Workplace, folder: &str) -> String {
    place.path().join(folder).display().to_string()
}

/// The sources that a search finds, in order.
fn found(output: &Output) -> Vec<String> {
    succeeds(output);
    let lines = text(&output.stdout);
    let hits = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    hits.map(|hit| hit["source"].as_str().unwrap().to_owned())
        .collect()
}
