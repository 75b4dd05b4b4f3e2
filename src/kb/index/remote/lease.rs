//! Leadership for a time, by the server's clock.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tokio_postgres::types::Type;

use super::store_server::{Purpose, StoreServer, TypedValue};
use crate::kb::error::KbError;
use crate::kb::index::limits::Limits;
use crate::kb::index::port::Lease;

static NEVER: AtomicBool = AtomicBool::new(false);
/// Giving it back is waited for so long; it ends by itself all the same.
const GIVING_BACK: Duration = Duration::from_secs(2);

pub(super) struct RemoteLease {
    server: Arc<StoreServer>,
    name: String,
    holder: String,
    seconds: f64,
}

impl RemoteLease {
    /// `None` while another holds it.
    pub fn take(
        server: &Arc<StoreServer>,
        name: String,
        time: Duration,
        limits: Limits<'_>,
    ) -> Result<Option<Self>, KbError> {
        let lease = Self {
            server: Arc::clone(server),
            name,
            holder: uuid::Uuid::now_v7().to_string(),
            seconds: time.as_secs_f64(),
        };
        let may = "SELECT has_table_privilege('leases', 'INSERT')";
        let mut connection = server.connection(Purpose::Writing, limits)?;
        let rows = connection.rows(limits, may, &[])?;
        drop(connection);
        if !rows.first().is_some_and(|row| row.get(0)) {
            return Err(KbError::ReadOnly);
        }
        let taken = lease.ask(
            "INSERT INTO leases AS l VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
            ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
            WHERE l.until <= clock_timestamp() RETURNING name",
            limits,
        )?;
        Ok(taken.then_some(lease))
    }

    fn ask(&self, statement: &str, limits: Limits<'_>) -> Result<bool, KbError> {
        let mut connection = self.server.connection(Purpose::Writing, limits)?;
        let values: [TypedValue<'_>; 3] = [
            (&self.name, Type::TEXT),
            (&self.holder, Type::TEXT),
            (&self.seconds, Type::FLOAT8),
        ];
        Ok(!connection.rows(limits, statement, &values)?.is_empty())
    }
}

impl Lease for RemoteLease {
    fn renew(&self) -> Result<bool, KbError> {
        self.ask(
            "UPDATE leases SET until = clock_timestamp() + make_interval(secs => $3)
            WHERE name = $1 AND holder = $2 AND until > clock_timestamp() RETURNING name",
            Limits::of_a_call(&NEVER),
        )
    }
}

impl Drop for RemoteLease {
    fn drop(&mut self) {
        let limits = Limits::until(&NEVER, Instant::now().checked_add(GIVING_BACK));
        let given = self.ask(
            "DELETE FROM leases WHERE name = $1 AND holder = $2 AND $3 > 0 RETURNING name",
            limits,
        );
        if let Err(error) = given {
            tracing::debug!(%error, "the leadership ends by itself");
        }
    }
}
