//! Commits of other processes, known as soon as the server tells of them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio_postgres::AsyncMessage;
use tokio_postgres::types::Type;

use super::schema;
use super::space::{Commit, Space};

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
                    pause = FIRST_PAUSE;
                    listen(&known, &client, connection).await;
                }
                Err(error) => tracing::debug!(%error, "commits are not listened for"),
            }
            tokio::time::sleep(pause).await;
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    });
}

async fn listen<S, T>(
    known: &Weak<Space>,
    client: &tokio_postgres::Client,
    mut connection: tokio_postgres::Connection<S, T>,
) where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let channel = schema::channel();
    let listening = format!("LISTEN {channel}");
    let asked = client.batch_execute(&listening);
    let messages = stream::poll_fn(move |context| connection.poll_message(context));
    let mut messages = std::pin::pin!(messages);
    let mut asked = std::pin::pin!(asked);
    let mut is_listening = false;
    loop {
        let message = tokio::select! {
            done = &mut asked, if !is_listening => {
                if done.is_err() { return; }
                is_listening = true;
                continue;
            }
            message = messages.next() => message,
        };
        let Some(Ok(message)) = message else { return };
        let Some(space) = known.upgrade() else { return };
        if let AsyncMessage::Notification(news) = message
            && news.payload() == space.name
        {
            // The connection has to be driven while it is asked.
            let asking = last_commit(client, &space);
            let mut asking = std::pin::pin!(asking);
            let commit = loop {
                tokio::select! {
                    commit = &mut asking => break commit,
                    other = messages.next() => if !matches!(other, Some(Ok(_))) { return },
                }
            };
            if let Some(commit) = commit {
                space.move_on_to(commit);
            }
        }
    }
}

async fn last_commit(client: &tokio_postgres::Client, space: &Space) -> Option<Commit> {
    let asked = format!(
        "SELECT space, generation FROM {}.spaces WHERE name = $1",
        schema::name()
    );
    let rows = client
        .query_typed(&asked, &[(&space.name, Type::TEXT)])
        .await;
    let rows = rows.ok()?;
    let row = rows.first()?;
    Some(Commit {
        space: row.get(0),
        generation: row.get::<_, i64>(1).cast_unsigned(),
        model: space.known().model,
    })
}
