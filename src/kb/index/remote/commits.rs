//! Commits of other processes, known as soon as the server tells of them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client};

use super::schema;
use super::space::{COMMIT, Commit, Space};

/// Notifications that wait.
const QUEUE: usize = 16;
/// A connection that broke is made anew after this long, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Moves the space on with each commit, for as long as it is used.
pub(super) fn follow(space: &Arc<Space>) {
    let known = Arc::downgrade(space);
    space.server.listen(|config, tls| async move {
        let mut pause = FIRST_PAUSE;
        while known.strong_count() > 0 {
            match config.connect(tls.clone()).await {
                Ok((client, connection)) => {
                    if listen(&known, &client, connection).await {
                        pause = FIRST_PAUSE;
                    }
                }
                Err(error) => tracing::debug!(%error, "commits are not listened for"),
            }
            tokio::time::sleep(pause).await;
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    });
}

/// Follows commits until the connection ends; whether it could listen at all, which a replica cannot.
async fn listen<S, T>(
    known: &Weak<Space>,
    client: &Client,
    mut connection: tokio_postgres::Connection<S, T>,
) -> bool
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, mut notified) = mpsc::channel(QUEUE);
    // A query is answered only while the connection is driven.
    let driver = tokio::spawn(async move {
        let messages = stream::poll_fn(move |context| connection.poll_message(context));
        let mut messages = std::pin::pin!(messages);
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(notification) = message {
                // A full queue tells of commits already.
                let _ = sender.try_send(notification.payload().to_owned());
            }
        }
    });
    let listening = format!("LISTEN {}", schema::channel());
    if client.batch_execute(&listening).await.is_err() {
        driver.abort();
        return false;
    }
    // What came while none listened.
    let mut is_due = true;
    loop {
        let Some(space) = known.upgrade() else { break };
        if is_due {
            let Some(commit) = last_commit(client, &space).await else {
                break;
            };
            space.move_on_to(commit);
        }
        let name = space.name.clone();
        drop(space);
        match notified.recv().await {
            Some(payload) => is_due = payload == name,
            None => break,
        }
    }
    driver.abort();
    true
}

async fn last_commit(client: &Client, space: &Space) -> Option<Commit> {
    let path = "SELECT set_config('search_path', quote_ident($1), false)";
    let schema = schema::name();
    client
        .query_typed(path, &[(&schema, Type::TEXT)])
        .await
        .ok()?;
    let model_id = space.model_id();
    let values = [(&space.name as _, Type::TEXT), (&model_id as _, Type::TEXT)];
    let rows = client.query_typed(COMMIT, &values).await.ok()?;
    rows.first().map(Commit::from_row)
}
