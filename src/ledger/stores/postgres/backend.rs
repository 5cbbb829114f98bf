//! `PostgresBackend`: a ledger in a PostgreSQL database: one row for its lease, one for each line.
//!
//! Every operation is one statement that contains its whole condition. It relies on no session: no prepared statement,
//! no lock and no setting outlives a statement, so a connection pooler may be used. The lease and the lines have one
//! connection each, so that the transfer of a large checkpoint does not delay the renewal of the lease.

use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use super::address::PostgresAddress;
use super::connection::{PgConnection, SqlParam};
use super::error::StatementError;
use super::tables::SqlStatements;
use crate::ledger::stores::postgres::password;
use crate::ledger::stores::shared::backend::{BackendError, LeaseVersion, SharedBackend, StoredLease};
use crate::ledger::stores::shared::lease::Lease;

/// Maximum number of attempts for a statement that the server refused because of a conflict with another one.
const MAX_STATEMENT_ATTEMPTS: usize = 10;

/// A ledger's rows in a database.
pub struct PostgresBackend {
    place: String,
    /// The key of its rows, `stack/environment`.
    ledger: String,
    statements: SqlStatements,
    /// The connection for the lease.
    of_lease: PgConnection,
    /// The connection for lines and checkpoints.
    of_lines: PgConnection,
}

impl PostgresBackend {
    /// Returns the backend of a ledger, without connecting or creating tables yet.
    ///
    /// # Errors
    /// When the address is none or unsafe, or its password or authorities cannot be read.
    pub fn new(address: &str, stack: &str, environment: &str) -> Result<Self, BackendError> {
        let unusable = |reason| BackendError::Failed { action: "use the address".to_owned(), reason };
        let address = PostgresAddress::parse(address).map_err(unusable)?;
        let password = password::find_password(&address).map_err(unusable)?;
        let link = || PgConnection::new(&address, password.as_ref()).map_err(unusable);
        let ledger = format!("{stack}/{environment}");
        Ok(Self {
            place: format!("{}, ledger {ledger}", address.display_text()),
            ledger,
            statements: SqlStatements::new(address.schema.as_deref()),
            of_lease: link()?,
            of_lines: link()?,
        })
    }

    fn ledger_param(&self) -> SqlParam<'_> {
        (&self.ledger, Type::TEXT)
    }

    /// Runs a query; `None` when the tables do not exist.
    async fn read(
        &self,
        link: &PgConnection,
        sql: &str,
        params: &[SqlParam<'_>],
        size: usize,
    ) -> Result<Option<Vec<Row>>, StatementError> {
        match link.read(sql, params, size).await {
            Err(fault) if fault.has_no_table() => {}
            done => return done.map(Some),
        }
        // The tables are created together: if only one is missing, it was removed, or their creation is in progress.
        let leases: SqlParam<'_> = (&self.statements.leases, Type::TEXT);
        let rows = link.read(self.statements.is_there, &[leases], 0).await?;
        let is_there = rows.first().is_some_and(|row| row.try_get("is_there").unwrap_or(true));
        if is_there { link.read(sql, params, size).await.map(Some) } else { Ok(None) }
    }

    /// Writes under a condition: exactly one row must change, otherwise another process wrote first.
    async fn write(
        &self,
        link: &PgConnection,
        sql: &str,
        params: &[SqlParam<'_>],
        size: usize,
    ) -> Result<Row, WriteError> {
        let mut rows = link.run(sql, params, size).await;
        for _ in 0..MAX_STATEMENT_ATTEMPTS {
            match rows {
                Err(fault) if fault.met_another() => rows = link.run(sql, params, size).await,
                _ => break,
            }
        }
        rows?.into_iter().next().ok_or(WriteError::Conflict)
    }

    /// Creates the tables. Two processes may do it at the same time.
    async fn make_tables(&self) -> Result<(), StatementError> {
        match self.of_lease.script(&self.statements.make).await {
            Err(fault) if fault.is_twice() => Ok(()),
            done => done,
        }
    }

    async fn new_lease(&self, params: &[SqlParam<'_>]) -> Result<Row, WriteError> {
        let sql = &self.statements.new_lease;
        for _ in 0..MAX_STATEMENT_ATTEMPTS {
            match self.write(&self.of_lease, sql, params, 0).await {
                Err(WriteError::Statement(fault)) if fault.has_no_table() => self.make_tables().await?,
                done => return done,
            }
        }
        self.write(&self.of_lease, sql, params, 0).await
    }
}

/// The reason why a write did not take effect.
enum WriteError {
    Conflict,
    Statement(StatementError),
}

impl From<StatementError> for WriteError {
    fn from(fault: StatementError) -> Self {
        Self::Statement(fault)
    }
}

impl WriteError {
    fn into_shelf_error(self, action: &str) -> BackendError {
        match self {
            Self::Conflict => BackendError::Conflict,
            Self::Statement(fault) => fault_error(action, fault),
        }
    }
}

impl SharedBackend for PostgresBackend {
    fn display_location(&self) -> String {
        self.place.clone()
    }

    async fn list_ledgers(&self) -> Result<Vec<String>, BackendError> {
        let action = "list the ledgers";
        let rows = self.read(&self.of_lines, &self.statements.ledgers, &[], MAX_ROW_BYTES).await;
        let rows = rows.map_err(|fault| fault_error(action, fault))?.unwrap_or_default();
        rows.iter().map(|row| read_column(row, "ledger", action)).collect()
    }

    async fn lease(&self) -> Result<Option<StoredLease>, BackendError> {
        let action = "read the lease";
        let rows = self.read(&self.of_lease, &self.statements.lease, &[self.ledger_param()], 0).await;
        let rows = rows.map_err(|fault| fault_error(action, fault))?.unwrap_or_default();
        rows.first().map(|row| stored_lease(row, action)).transpose()
    }

    async fn put_lease(
        &self,
        lease: &Lease,
        mark: Option<&LeaseVersion>,
    ) -> Result<LeaseVersion, BackendError> {
        let action = "write the lease";
        let text = serde_json::to_string(lease).map_err(|error| damage_error(action, &error))?;
        let epoch = to_signed(lease.epoch, action)?;
        let params = [self.ledger_param(), (&epoch, Type::INT8), (&text, Type::TEXT)];
        let row = match mark {
            None => self.new_lease(&params).await,
            Some(mark) => {
                let Some((of, version)) = read_mark(mark) else { return Err(BackendError::Conflict) };
                let [ledger, epoch, text] = params;
                let params = [ledger, epoch, text, (&of, Type::INT8), (&version, Type::INT8)];
                self.write(&self.of_lease, &self.statements.next_lease, &params, 0).await
            }
        };
        let row = row.map_err(|error| error.into_shelf_error(action))?;
        Ok(mark_of(read_column(&row, "epoch", action)?, read_column(&row, "version", action)?))
    }

    async fn lines(&self, after: u64) -> Result<Vec<(u64, Vec<u8>)>, BackendError> {
        let action = "read lines";
        let after = to_signed(after, action)?;
        let params = [self.ledger_param(), (&after, Type::INT8)];
        let rows = self.read(&self.of_lines, &self.statements.lines, &params, MAX_ROW_BYTES).await;
        let rows = rows.map_err(|fault| fault_error(action, fault))?.unwrap_or_default();
        let line = |row: Row| Ok((column_number(&row, action)?, read_column(&row, "line", action)?));
        rows.into_iter().map(line).collect()
    }

    async fn put_line(&self, number: u64, epoch: u64, line: &[u8]) -> Result<(), BackendError> {
        let action = format!("write line {number}");
        let (number, epoch) = (to_signed(number, &action)?, to_signed(epoch, &action)?);
        let params =
            [self.ledger_param(), (&number, Type::INT8), (&epoch, Type::INT8), (&line, Type::BYTEA)];
        let written = self.write(&self.of_lines, &self.statements.new_line, &params, line.len()).await;
        written.map(|_| ()).map_err(|error| error.into_shelf_error(&action))
    }

    async fn summaries(&self) -> Result<Vec<u64>, BackendError> {
        let action = "list summaries";
        let rows = self.read(&self.of_lines, &self.statements.summaries, &[self.ledger_param()], 0).await;
        let rows = rows.map_err(|fault| fault_error(action, fault))?.unwrap_or_default();
        rows.iter().map(|row| column_number(row, action)).collect()
    }

    async fn summary(&self, number: u64) -> Result<Option<Vec<u8>>, BackendError> {
        let action = format!("read summary {number}");
        let number = to_signed(number, &action)?;
        let params = [self.ledger_param(), (&number, Type::INT8)];
        let rows = self.read(&self.of_lines, &self.statements.summary, &params, MAX_ROW_BYTES).await;
        let rows = rows.map_err(|fault| fault_error(&action, fault))?.unwrap_or_default();
        rows.first().map(|row| read_column(row, "summary", &action)).transpose()
    }

    async fn put_summary(&self, number: u64, summary: &[u8]) -> Result<(), BackendError> {
        let action = format!("write summary {number}");
        let number = to_signed(number, &action)?;
        let params = [self.ledger_param(), (&number, Type::INT8), (&summary, Type::BYTEA)];
        let written =
            self.write(&self.of_lines, &self.statements.new_summary, &params, summary.len()).await;
        written.map(|_| ()).map_err(|error| error.into_shelf_error(&action))
    }

    async fn prune(&self, before: u64) -> Result<(), BackendError> {
        let action = "remove old lines";
        let before = to_signed(before, action)?;
        let params = [self.ledger_param(), (&before, Type::INT8)];
        let done = self.of_lines.run(&self.statements.prune, &params, 0).await;
        done.map(|_| ()).map_err(|fault| fault_error(action, fault))
    }
}

/// Assumed maximum size of one row when its size is unknown: the read timeout derives from it.
const MAX_ROW_BYTES: usize = 64 << 20;

fn stored_lease(row: &Row, action: &str) -> Result<StoredLease, BackendError> {
    let (epoch, version): (i64, i64) =
        (read_column(row, "epoch", action)?, read_column(row, "version", action)?);
    let text: String = read_column(row, "lease", action)?;
    let age: f64 = read_column(row, "age", action)?;
    let lease: Lease =
        serde_json::from_str(&text).map_err(|_| damage_error(action, &"its row is damaged"))?;
    if u64::try_from(epoch) != Ok(lease.epoch) {
        return Err(damage_error(action, &"its row is damaged: two epochs"));
    }
    // A server clock that was set back must not make a lease appear longer than it is.
    let age = Duration::try_from_secs_f64(age.max(0.0))
        .map_err(|_| damage_error(action, &"its age is not valid"))?;
    Ok(StoredLease { lease, mark: mark_of(epoch, version), age })
}

fn mark_of(epoch: i64, version: i64) -> LeaseVersion {
    LeaseVersion(format!("{epoch}/{version}"))
}

fn read_mark(mark: &LeaseVersion) -> Option<(i64, i64)> {
    let (epoch, version) = mark.0.split_once('/')?;
    Some((epoch.parse().ok()?, version.parse().ok()?))
}

fn column_number(row: &Row, action: &str) -> Result<u64, BackendError> {
    let number: i64 = read_column(row, "number", action)?;
    u64::try_from(number).map_err(|_| damage_error(action, &"a number is negative"))
}

fn read_column<'a, T: FromSql<'a>>(row: &'a Row, name: &str, action: &str) -> Result<T, BackendError> {
    row.try_get(name).map_err(|_| {
        let reason = format!(
            "the column `{name}` does not have the type that stead uses: give stead a schema of its own with ?schema=NAME"
        );
        damage_error(action, &reason)
    })
}

fn to_signed(number: u64, action: &str) -> Result<i64, BackendError> {
    i64::try_from(number).map_err(|_| damage_error(action, &"the number is too large"))
}

fn damage_error(action: &str, reason: &dyn std::fmt::Display) -> BackendError {
    BackendError::Failed { action: action.to_owned(), reason: reason.to_string() }
}

fn fault_error(action: &str, fault: StatementError) -> BackendError {
    BackendError::Failed { action: action.to_owned(), reason: fault.reason() }
}
