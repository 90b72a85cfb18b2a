//! A connection to the server, with its statements prepared.

use super::error::of_postgres;
use super::tls::{Tls, take_roots};
use crate::StoreError;
use crate::limits::{ADDRESS_WAIT, CONNECT_WAIT, SILENCE_WAIT, STATEMENT_WAIT};
use std::future::Future;
use std::time::Duration;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, Statement};

/// The node that has it writes. Any number that others hardly use.
const TURN_LOCK: i64 = 0x6f72_6461_696f;

/// Where the server is and who we are to it.
pub(super) struct Server {
    config: Config,
    tls: Tls,
    /// As messages name it, without a password.
    pub(super) place: String,
    /// Nobody writes.
    read_only: bool,
}

impl Server {
    pub(super) fn parse(url: &str, place: String) -> Result<Self, StoreError> {
        let (url, roots) = take_roots(url);
        let mut config: Config = url.parse().map_err(|error: Error| {
            StoreError::Unavailable(format!("{place} is not the URL of a PostgreSQL database: {error}"))
        })?;
        config.connect_timeout(ADDRESS_WAIT).keepalives_idle(SILENCE_WAIT).tcp_user_timeout(SILENCE_WAIT);
        if config.get_application_name().is_none() {
            config.application_name("ordain");
        }
        let tls = Tls::settle(&mut config, roots, &place)?;
        Ok(Self { config, tls, place, read_only: false })
    }

    /// The same, to look at it only.
    pub(super) fn only_to_read(self) -> Self {
        Self { read_only: true, ..self }
    }

    pub(super) fn check_writable(&self) -> Result<(), StoreError> {
        if self.read_only { Err(StoreError::ReadOnly(self.place.clone())) } else { Ok(()) }
    }

    pub(super) async fn connect(&self) -> Result<Client, StoreError> {
        let connecting = self.config.connect(self.tls.clone());
        let (client, connection) = self.in_time(CONNECT_WAIT, connecting).await?;
        // Ends when the client is dropped or the server goes. Each statement then gets the error.
        tokio::spawn(async move { connection.await.ok() });
        // Every statement goes by an index. Planned once and by that rule, it costs the same when the tables
        // have grown.
        let (statement, silence) = (STATEMENT_WAIT.as_millis(), SILENCE_WAIT.as_millis());
        let seconds = SILENCE_WAIT.as_secs();
        let read_only = if self.read_only { "SET default_transaction_read_only = on;" } else { "" };
        let settings = format!(
            "SET statement_timeout = {statement};
             SET idle_in_transaction_session_timeout = {silence};
             SET tcp_keepalives_idle = {seconds}; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
             SET tcp_user_timeout = {silence}; SET lock_timeout = 0;
             SET default_transaction_isolation = 'read committed';
             SET jit = off; SET plan_cache_mode = force_generic_plan;
             SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
             {read_only}
             SELECT set_config('synchronous_commit', 'on', false)
             WHERE current_setting('synchronous_commit') IN ('off', 'local');"
        );
        self.in_time(STATEMENT_WAIT, client.batch_execute(&settings)).await?;
        Ok(client)
    }

    pub(super) async fn in_time<T>(
        &self,
        time: Duration,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        match timeout(time, work).await {
            Ok(result) => result.map_err(|error| of_postgres(&self.place, &error)),
            Err(_) => Err(StoreError::Unavailable(format!(
                "{} has not answered for {} s",
                self.place,
                time.as_secs()
            ))),
        }
    }
}

pub(super) struct Session {
    pub(super) client: Client,
    pub(super) sql: Statements,
    pub(super) place: String,
}

/// By which a head is told from every other: the transaction that wrote it, which is another after each
/// batch, also one without entries, and what it says, because a server that took another's place counts
/// transactions anew.
macro_rules! mark {
    () => {
        "xmin::text || ' ' || size || ' ' || encode(root, 'hex')"
    };
}

macro_rules! statements {
    ($($name:ident: $sql:expr,)*) => {
        /// One field for each statement.
        pub(super) struct Statements {
            $(pub(super) $name: Statement,)*
        }

        impl Statements {
            /// All in one round trip.
            async fn prepare(client: &Client) -> Result<Self, Error> {
                let ($($name,)*) = tokio::try_join!($(client.prepare($sql),)*)?;
                Ok(Self { $($name,)* })
            }
        }
    };
}

statements! {
    head: concat!("SELECT size, root, ", mark!(), ",
        pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean FROM ordain.head"),
    begin_turn: "SELECT pg_advisory_lock($1), set_config('idle_session_timeout', $2, false)",
    end_turn: "SELECT pg_advisory_unlock($1), set_config('idle_session_timeout', '0', false)",
    versions: "SELECT kind, id, version FROM ordain.records
        JOIN unnest($1::text[], $2::text[]) AS wanted (kind, id) USING (kind, id)",
    record: "SELECT kind, id, version, state, body, changed_at FROM ordain.records WHERE kind = $1 AND id = $2",
    records_of: "SELECT kind, id, version, state, body, changed_at FROM ordain.records
        JOIN unnest($1::text[], $2::text[]) AS wanted (kind, id) USING (kind, id)",
    records: "SELECT kind, id, version, state, body, changed_at FROM ordain.records
        WHERE kind = $1 AND (changed_at, id) > ($2, $3) ORDER BY changed_at, id LIMIT $4",
    records_in_state: "SELECT kind, id, version, state, body, changed_at FROM ordain.records
        WHERE kind = $1 AND (changed_at, id) > ($2, $3) AND state = $5 ORDER BY changed_at, id LIMIT $4",
    ids: "SELECT id FROM ordain.records WHERE kind = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4",
    newest: "SELECT kind, id, version, state, body, changed_at FROM ordain.records
        WHERE kind = $1 AND (changed_at, id) < ($2, $3) ORDER BY changed_at DESC, id DESC LIMIT $4",
    newest_in_state: "SELECT kind, id, version, state, body, changed_at FROM ordain.records
        WHERE kind = $1 AND (changed_at, id) < ($2, $3) AND state = $5 ORDER BY changed_at DESC, id DESC LIMIT $4",
    documents: "SELECT hash, bytes FROM ordain.documents WHERE hash = ANY($1)",
    entries: "SELECT position, bytes, leaf_hash, attached, mark FROM (
            SELECT position, bytes, leaf_hash, attached, mark, sum(length) OVER (ORDER BY position) AS total, length
            FROM (
                SELECT position, bytes, leaf_hash, attached, mark,
                    octet_length(bytes) + coalesce(octet_length(attached), 0) AS length
                FROM ordain.entries WHERE position >= $1 ORDER BY position LIMIT $2
            ) AS page
        ) AS summed WHERE total <= $3 OR total = length ORDER BY position",
    marked_view: "SELECT 'record', NULL::bigint, NULL::bytea, NULL::bytea, NULL::bigint,
            kind, id, version, state, body, changed_at FROM ordain.records WHERE kind = $1 AND id = $2
        UNION ALL SELECT 'last', position, bytes, leaf_hash, mark, NULL, NULL, NULL, NULL, NULL, NULL
            FROM ordain.entries WHERE position = (SELECT size - 1 FROM ordain.head)
        UNION ALL SELECT * FROM (
            SELECT 'marked', position, bytes, leaf_hash, mark,
                NULL::text, NULL::text, NULL::bigint, NULL::text, NULL::text, NULL::bigint
            FROM ordain.entries WHERE mark > $3 ORDER BY mark LIMIT $4
        ) AS page",
    attached: "SELECT position, attached FROM ordain.entries WHERE position <= $1 AND attached IS NOT NULL
        ORDER BY position DESC LIMIT 1",
    leaf_hashes: "SELECT position, leaf_hash FROM ordain.entries
        WHERE position >= $1 AND position < $2 ORDER BY position",
    newer: "SELECT string_agg(leaf_hash, '' ORDER BY position),
            (SELECT bytes FROM ordain.entries WHERE position = (SELECT size - 1 FROM ordain.head))
        FROM ordain.entries WHERE position >= $1 AND position < $2",
    tiles: "SELECT level, position, hashes FROM ordain.tiles
        JOIN unnest($1::smallint[], $2::bigint[]) AS wanted (level, position) USING (level, position)",
    write: concat!("WITH
        new_entries AS (
            INSERT INTO ordain.entries (position, bytes, leaf_hash, attached, mark)
            SELECT * FROM unnest($3::bigint[], $4::bytea[], $5::bytea[], $18::bytea[], $19::bigint[])
        ),
        new_tiles AS (
            INSERT INTO ordain.tiles (level, position, hashes)
            SELECT * FROM unnest($6::smallint[], $7::bigint[], $8::bytea[])
            ON CONFLICT (level, position) DO UPDATE SET hashes = excluded.hashes
        ),
        new_documents AS (
            INSERT INTO ordain.documents (hash, bytes)
            SELECT * FROM unnest($9::bytea[], $10::bytea[]) ON CONFLICT (hash) DO NOTHING
        ),
        new_records AS (
            INSERT INTO ordain.records (kind, id, version, state, body, changed_at)
            SELECT * FROM unnest($11::text[], $12::text[], $13::bigint[], $14::text[], $15::text[], $16::bigint[])
            ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, state = excluded.state,
            body = excluded.body, changed_at = excluded.changed_at
        ),
        new_head AS (
            UPDATE ordain.head SET size = $1, root = $2 WHERE ", mark!(), " = $17 RETURNING ", mark!(), " AS mark
        )
        SELECT max(mark), 1 / count(*) FROM new_head"),
}

impl Session {
    pub(super) async fn open(server: &Server) -> Result<Self, StoreError> {
        let client = server.connect().await?;
        let sql = server.in_time(STATEMENT_WAIT, Statements::prepare(&client)).await?;
        Ok(Self { client, sql, place: server.place.clone() })
    }

    /// Waits until no other node writes. Should we fall silent then, the server ends the session and with it
    /// our turn.
    pub(super) async fn begin_turn(&self) -> Result<(), StoreError> {
        let silence = SILENCE_WAIT.as_millis().to_string();
        match self.client.query(&self.sql.begin_turn, &[&TURN_LOCK, &silence]).await {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => {
                Err(StoreError::Unavailable(format!(
                    "{}: another session has held the advisory lock {TURN_LOCK} for {} s (see `pg_locks`); a \
                     pooler must not give one session to several clients",
                    self.place,
                    STATEMENT_WAIT.as_secs()
                )))
            }
            Err(error) => Err(of_postgres(&self.place, &error)),
        }
    }

    /// Whether it was ours and is not any more.
    pub(super) async fn end_turn(&self) -> bool {
        let ended = self.query(&self.sql.end_turn, &[&TURN_LOCK]).await;
        ended.is_ok_and(|rows| rows.iter().any(|row| matches!(row.try_get(0), Ok(true))))
    }
}
