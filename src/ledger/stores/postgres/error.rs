//! `StatementError`: the reason why a statement did not succeed, and the remedy for the user. Pure.

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::model::redact::SentSecrets;

/// The reason why a statement did not succeed.
#[derive(Debug)]
pub(super) enum StatementError {
    /// There was no connection: nothing was sent.
    NotConnected(String),
    /// The server refused the statement, which had no effect.
    Refused(SqlState, String),
    /// The connection broke or timed out: it is unknown whether the statement had its effect.
    ConnectionLost(String),
}

/// Maximum length of a server's text in a message.
const MAX_MESSAGE_CHARS: usize = 300;

impl StatementError {
    /// Returns the fault for a statement's error.
    pub(super) fn from_statement_error(error: &Error) -> Self {
        match error.as_db_error() {
            // A separate error class means that the server, or a pooler, closed the connection. The statement may have
            // had its effect before.
            Some(said) if is_about_the_connection(said) => Self::ConnectionLost(in_words(said)),
            Some(said) => Self::Refused(said.code().clone(), in_words(said)),
            None => Self::from_lost_connection(error),
        }
    }

    /// Returns the fault of a connection that ended.
    pub(super) fn from_lost_connection(error: &Error) -> Self {
        Self::ConnectionLost(last_cause(error))
    }

    /// Returns the fault of a connection that could not be opened.
    pub(super) fn from_connect_error(error: &Error) -> Self {
        Self::NotConnected(error.as_db_error().map_or_else(|| last_cause(error), in_words))
    }

    /// Returns the fault without the server's text, where that repeats a part of the password.
    pub(super) fn redact_password(self, password: &SentSecrets) -> Self {
        match self {
            Self::NotConnected(reason) => Self::NotConnected(password.screen_text(reason)),
            Self::Refused(code, reason) => Self::Refused(code, password.screen_text(reason)),
            Self::ConnectionLost(reason) => Self::ConnectionLost(password.screen_text(reason)),
        }
    }

    /// Returns whether the statement is known to have had no effect and may be repeated: it conflicted with another one
    /// in a database with a strict isolation level.
    pub(super) fn met_another(&self) -> bool {
        let codes = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
        matches!(self, Self::Refused(code, _) if codes.contains(code))
    }

    /// Returns whether a table does not exist.
    pub(super) fn has_no_table(&self) -> bool {
        matches!(self, Self::Refused(code, _) if *code == SqlState::UNDEFINED_TABLE)
    }

    /// Returns whether another session was creating the same table. The name that conflicts first depends on the
    /// timing: the catalog's index, the table, or the row type with the table's name.
    pub(super) fn is_twice(&self) -> bool {
        let codes = [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT];
        matches!(self, Self::Refused(code, _) if codes.contains(code))
    }

    /// Returns the text of the reason.
    pub(super) fn reason(self) -> String {
        match self {
            Self::NotConnected(reason) => format!("no connection: {reason}"),
            Self::Refused(_, reason) => reason,
            Self::ConnectionLost(reason) => {
                format!("the connection was lost before the server answered: {reason}")
            }
        }
    }
}

/// Returns whether the server, or a pooler before it, closed the connection rather than refused the statement.
fn is_about_the_connection(said: &DbError) -> bool {
    let code = said.code().code();
    code.starts_with("08")
        || code.starts_with("57P")
        || code.starts_with("58")
        || code.starts_with("XX")
        || ["FATAL", "PANIC"].contains(&said.severity())
}

/// Returns the server's message and a remedy. Not its details: they may quote a row.
fn in_words(said: &DbError) -> String {
    let text = sanitize_message(said.message());
    let remedy = match said.code() {
        &SqlState::INSUFFICIENT_PRIVILEGE => {
            "; an administrator must create the tables and grant the permissions to this role once, as `stead docs share-a-ledger` describes under PostgreSQL"
        }
        &SqlState::UNDEFINED_TABLE
        | &SqlState::UNDEFINED_COLUMN
        | &SqlState::DATATYPE_MISMATCH
        | &SqlState::INVALID_COLUMN_REFERENCE
        | &SqlState::WRONG_OBJECT_TYPE
        | &SqlState::UNDEFINED_FUNCTION => {
            "; the tables are not the ones that stead creates: give stead a schema of its own with ?schema=NAME"
        }
        &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "; check the user, and the password in PGPASSWORD or ~/.pgpass"
        }
        &SqlState::READ_ONLY_SQL_TRANSACTION => "; name the primary server, not a standby",
        &SqlState::INVALID_SCHEMA_NAME => "; let an administrator create the schema, or omit ?schema=",
        _ => "",
    };
    format!("{text} ({}){remedy}", sanitize_message(said.code().code()))
}

/// Returns the innermost cause of an error.
fn last_cause(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = sanitize_message(&cause.to_string());
    if text.contains("tls is not supported by server") || text.contains("server does not support TLS") {
        return format!("{text}: the server must be configured for TLS (ssl = on)");
    }
    text
}

/// Returns a server's text as one short line without control characters.
fn sanitize_message(text: &str) -> String {
    let harmless = |c: char| if c.is_control() || !c.is_ascii() && !c.is_alphanumeric() { ' ' } else { c };
    text.chars().map(harmless).take(MAX_MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_text_is_sanitized_to_one_short_line() {
        assert_eq!(sanitize_message("a\nb\u{1b}[31m\u{202e}ü"), "a b [31m ü");
        assert_eq!(sanitize_message(&"x".repeat(9_999)).len(), MAX_MESSAGE_CHARS);
    }

    #[test]
    fn only_a_statement_known_to_have_no_effect_is_retried() {
        let refused = |code| StatementError::Refused(code, String::new());
        assert!(refused(SqlState::T_R_SERIALIZATION_FAILURE).met_another());
        assert!(!refused(SqlState::QUERY_CANCELED).met_another());
        assert!(!StatementError::ConnectionLost(String::new()).met_another());
        // 42710 is "type ... already exists".
        for code in ["23505", "42P07", "42710"] {
            assert!(refused(SqlState::from_code(code)).is_twice(), "{code}");
        }
        assert!(!refused(SqlState::UNDEFINED_TABLE).is_twice());
    }
}
