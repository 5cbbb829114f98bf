//! The address of a database: `postgres://user@host/database?sslmode=…`. Pure.
//!
//! An address is refused if another machine could read the connection or impersonate the server: without TLS only
//! sockets of this machine are allowed, and with TLS the server's certificate and name are always verified.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use crate::model::diagnostic::nearest_name;

/// The parameters that an address may have.
const ADDRESS_PARAMETERS: &[&str] =
    &["connect_timeout", "dbname", "host", "password", "port", "schema", "sslmode", "sslrootcert", "user"];

/// The address of a database, and its connection parameters.
#[derive(Debug, Clone)]
pub struct PostgresAddress {
    /// The host or socket directory of the server.
    pub host: ServerHost,
    /// The port, which is also part of a socket's file name.
    pub port: u16,
    /// The role; `None`: the name of the operating-system user.
    pub user: Option<String>,
    /// The role's password, if the address has one.
    pub password: Option<SecretString>,
    /// The name of the database.
    pub database: String,
    /// Whether the connection is protected by TLS. The server is always verified then.
    pub tls: bool,
    /// A file with certificate authorities to trust instead of the platform's.
    pub authorities: Option<PathBuf>,
    /// The schema of the tables; `None`: the first one in the role's search path.
    pub schema: Option<String>,
    /// Timeout for the connection.
    pub connect_timeout: Duration,
}

/// The endpoint at which a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerHost {
    /// A host name or an IP address.
    Tcp(String),
    /// The directory of a socket on this machine.
    Socket(PathBuf),
}

impl PostgresAddress {
    /// Parses an address such as `postgres://user@host/database`.
    ///
    /// # Errors
    /// When it is none, or unsafe. The text holds nothing of the address but the names of its parameters.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"))
            .ok_or("write postgres://user@host/database")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let mut parts =
            AddressParts { database: percent_decode(database, "the database")?, ..AddressParts::default() };
        parts.parse_authority(authority)?;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or("a parameter has no `=`")?;
            parts.set_parameter(name, percent_decode(value, "a parameter")?)?;
        }
        parts.into_address()
    }

    /// Returns the address without its password, for messages.
    #[must_use]
    pub fn display_text(&self) -> String {
        let user = self.user.as_ref().map_or_else(String::new, |user| format!("{user}@"));
        let schema = self.schema.as_ref().map_or_else(String::new, |schema| format!(", schema {schema}"));
        let host = match &self.host {
            ServerHost::Tcp(host) if host.contains(':') => format!("[{host}]"),
            ServerHost::Tcp(host) => host.clone(),
            ServerHost::Socket(directory) => directory.display().to_string(),
        };
        format!("postgres://{user}{host}:{}/{}{schema}", self.port, self.database)
    }

    /// Returns what identifies the tables of the ledgers: two addresses of the same tables have the same text.
    #[must_use]
    pub fn normalized_text(&self) -> String {
        let host = match &self.host {
            ServerHost::Tcp(name) => name.to_lowercase(),
            ServerHost::Socket(directory) => directory.display().to_string(),
        };
        let schema = self.schema.as_deref().unwrap_or_default();
        format!("postgres://{host}:{}/{}#{schema}", self.port, self.database)
    }
}

/// The parts of an address that were parsed so far.
#[derive(Default)]
struct AddressParts {
    host: String,
    port: Option<u16>,
    user: Option<String>,
    password: Option<String>,
    database: String,
    mode: Option<String>,
    authorities: Option<PathBuf>,
    schema: Option<String>,
    connect_timeout: Option<u64>,
}

impl AddressParts {
    fn parse_authority(&mut self, text: &str) -> Result<(), String> {
        let (user, place) = text.rsplit_once('@').unwrap_or(("", text));
        let (user, password) = user.split_once(':').map_or((user, None), |(user, rest)| (user, Some(rest)));
        if !user.is_empty() {
            self.user = Some(percent_decode(user, "the user")?);
        }
        self.password = password.map(|text| percent_decode(text, "the password")).transpose()?;
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':')),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        self.host = percent_decode(host, "the host")?;
        self.port = port.map(parse_number).transpose()?;
        Ok(())
    }

    fn set_parameter(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "connect_timeout" => self.connect_timeout = Some(parse_number(&value)?),
            "dbname" => self.database = value,
            "host" => self.host = value,
            "password" => self.password = Some(value),
            "port" => self.port = Some(parse_number(&value)?),
            "schema" => self.schema = Some(value),
            "sslmode" => self.mode = Some(value),
            "sslrootcert" => self.authorities = Some(value.into()),
            "user" => self.user = Some(value),
            _ => {
                let name: String = name.chars().filter(char::is_ascii_graphic).take(40).collect();
                let hint = nearest_name(&name, ADDRESS_PARAMETERS.iter().copied()).map_or_else(
                    || ADDRESS_PARAMETERS.join(", "),
                    |known| format!("did you mean `{known}`?"),
                );
                return Err(format!("there is no parameter `{name}`: {hint}"));
            }
        }
        Ok(())
    }

    fn into_address(self) -> Result<PostgresAddress, String> {
        if self.host.is_empty() {
            return Err("it names no host; for a socket write ?host=/run/postgresql".to_owned());
        }
        if self.host.contains(',') {
            return Err("it names several hosts; name the one that accepts writes".to_owned());
        }
        if self.database.is_empty() || self.database.contains('/') {
            return Err("it names no database: postgres://user@host/database".to_owned());
        }
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if self.schema.as_ref().is_some_and(|name| name.is_empty() || !name.chars().all(legal)) {
            return Err("the name of a schema holds a-z, 0-9 and _ only".to_owned());
        }
        let host = if self.host.starts_with('/') {
            ServerHost::Socket(self.host.into())
        } else {
            ServerHost::Tcp(self.host)
        };
        Ok(PostgresAddress {
            tls: uses_tls(&host, self.mode.as_deref(), self.authorities.is_some())?,
            host,
            port: self.port.unwrap_or(5432),
            user: self.user,
            password: self.password.map(Into::into),
            database: self.database,
            authorities: self.authorities,
            schema: self.schema,
            connect_timeout: Duration::from_secs(self.connect_timeout.unwrap_or(10).clamp(1, 60)),
        })
    }
}

/// Returns whether the connection uses TLS.
fn uses_tls(host: &ServerHost, mode: Option<&str>, pinned: bool) -> Result<bool, String> {
    let is_here = match host {
        ServerHost::Socket(_) => true,
        ServerHost::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
    };
    match (mode, host) {
        (Some("require" | "verify-ca" | "verify-full"), ServerHost::Socket(_)) => {
            Err("a socket of this machine has no TLS; leave sslmode out".to_owned())
        }
        (Some("require" | "verify-ca" | "verify-full"), ServerHost::Tcp(_)) => Ok(true),
        (None, _) => Ok(!is_here || pinned),
        (Some("disable"), _) if is_here => Ok(false),
        (Some("disable" | "allow" | "prefer"), _) => Err("its sslmode lets others read and change the traffic; write sslmode=verify-full, or reach the server through a socket or tunnel of this machine"
            .to_owned()),
        _ => Err("sslmode is `verify-full` (also written `require`), or `disable` on this machine".to_owned()),
    }
}

fn parse_number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "a port or a time is not a number".to_owned())
}

/// Returns a string with its percent escapes decoded.
fn percent_decode(text: &str, what: &str) -> Result<String, String> {
    let bad = || format!("{what} has a `%` that is not followed by two hexadecimal digits");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2).ok_or_else(bad)?;
        let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_hex).ok_or_else(bad)?);
        rest = tail;
    }
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    if text.contains('\0') { Err(format!("{what} has a NUL character")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn tcp(name: &str) -> ServerHost {
        ServerHost::Tcp(name.to_owned())
    }

    #[test]
    fn addresses_are_read() {
        for (text, host, port, user, password, database, tls) in [
            ("postgres://me@db/stead", tcp("db"), 5432, Some("me"), None, "stead", true),
            (
                "postgresql://db.example.com:6432/stead",
                tcp("db.example.com"),
                6432,
                None,
                None,
                "stead",
                true,
            ),
            ("postgres://m%65:p%40%2F:x@db/a%20b", tcp("db"), 5432, Some("me"), Some("p@/:x"), "a b", true),
            ("postgres://me:@127.0.0.1/d", tcp("127.0.0.1"), 5432, Some("me"), Some(""), "d", false),
            ("postgres://[::1]:1/d", tcp("::1"), 1, None, None, "d", false),
            ("postgres://localhost/d?sslmode=require", tcp("localhost"), 5432, None, None, "d", true),
            ("postgres://localhost/d?sslmode=disable", tcp("localhost"), 5432, None, None, "d", false),
            ("postgres://127.0.0.1/d?sslrootcert=%2Fca.pem", tcp("127.0.0.1"), 5432, None, None, "d", true),
            (
                "postgres://x/d?user=u&password=p&port=7&dbname=e",
                tcp("x"),
                7,
                Some("u"),
                Some("p"),
                "e",
                true,
            ),
            (
                "postgres:///d?host=/run/pg",
                ServerHost::Socket("/run/pg".into()),
                5432,
                None,
                None,
                "d",
                false,
            ),
            (
                "postgres://me@%2Frun%2Fpg:9/d",
                ServerHost::Socket("/run/pg".into()),
                9,
                Some("me"),
                None,
                "d",
                false,
            ),
        ] {
            let read = PostgresAddress::parse(text).unwrap();
            let secret = read.password.as_ref().map(ExposeSecret::expose_secret);
            assert_eq!((&read.host, read.port, read.user.as_deref()), (&host, port, user), "{text}");
            assert_eq!((secret, read.database.as_str(), read.tls), (password, database, tls), "{text}");
        }
    }

    #[test]
    fn an_invalid_or_unsafe_address_is_an_error_without_the_password() {
        for (text, reason) in [
            ("postgres:db/d", "write postgres://"),
            ("postgres:///d", "names no host"),
            ("postgres://me:hunter2@db", "names no database"),
            ("postgres://me:hunter2@db/", "names no database"),
            ("postgres://me:hun/ter2@db/d", "is not a number"),
            ("postgres://me:hunter2@a,b/d", "several hosts"),
            ("postgres://me:hunter2@db:x/d", "is not a number"),
            ("postgres://me:hunter2%@db/d", "the password has a `%`"),
            ("postgres://me:hunter2%+1@db/d", "the password has a `%`"),
            ("postgres://me:hunter2%00@db/d", "the password has a NUL character"),
            ("postgres://me:hunter2@db/d?sslmod=require", "did you mean `sslmode`?"),
            ("postgres://me:hunter2@db/d?options=-csearch_path%3Dx", "no parameter `options`"),
            ("postgres://me:hunter2@db/d?sslmode", "no `=`"),
            ("postgres://me:hunter2@db/d?sslmode=disable", "sslmode=verify-full"),
            ("postgres://me:hunter2@db/d?sslmode=prefer", "sslmode=verify-full"),
            ("postgres://me:hunter2@localhost/d?sslmode=prefer", "sslmode=verify-full"),
            ("postgres://me:hunter2@db/d?sslmode=hunter2", "`disable` on this machine"),
            ("postgres:///d?host=/run/pg&sslmode=require", "has no TLS"),
            ("postgres://db/d?schema=x%22y", "the name of a schema"),
        ] {
            let error = PostgresAddress::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let shown = |text| PostgresAddress::parse(text).unwrap().display_text();
        assert_eq!(shown("postgres://me:secret@[::1]/d?password=secret"), "postgres://me@[::1]:5432/d");
        assert_eq!(shown("postgres:///d?host=/run/pg&schema=s"), "postgres:///run/pg:5432/d, schema s");
    }
}
