//! Host names that only containers of one Compose file have: values with them mean nothing on the platform.

/// Host names, each with the service that has it.
#[derive(Debug, Default)]
pub(super) struct ServiceHosts {
    names: Vec<(String, String)>,
}

impl ServiceHosts {
    /// Adds a name of a service.
    pub(super) fn add_host(&mut self, host: &str, service: &str) {
        self.names.push((host.to_owned(), service.to_owned()));
    }

    /// Returns the service whose host an environment variable names: as its whole value where the key suggests
    /// a host, or within a URL or `host:port`. `None` if it names none.
    pub(super) fn service_for(&self, key: &str, value: &str) -> Option<&str> {
        let upper = key.to_uppercase();
        let says_host = ["HOST", "SERVER", "ADDR", "URL", "URI", "ENDPOINT", "BROKER"]
            .iter()
            .any(|word| upper.contains(word));
        let alone = self.names.iter().find(|(host, _)| says_host && host == value);
        alone.map(|(_, service)| service.as_str()).or_else(|| self.named_in(value))
    }

    /// Returns the service whose host a string names: `//db/`, `me@db:5432`, `db:5432`; `None` if it names none.
    pub(super) fn named_in(&self, text: &str) -> Option<&str> {
        let names = |host: &str| {
            text.match_indices(host).any(|(at, _)| {
                let (before, behind) = (&text[..at], &text[at + host.len()..]);
                let port = behind
                    .strip_prefix(':')
                    .map(|rest| rest.bytes().take_while(u8::is_ascii_digit).count());
                let ends = behind.is_empty()
                    || behind.starts_with(['/', ',', '"', '\'', ' ', '?'])
                    || port.is_some();
                let host_follows = before.ends_with("//") || before.ends_with('@');
                let free = before.is_empty() || before.ends_with([' ', ',', '=', '"', '\'']);
                host_follows && ends || free && port.is_some_and(|digits| digits > 2)
            })
        };
        self.names.iter().find(|(host, _)| names(host)).map(|(_, service)| service.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_hosts_are_recognized_by_their_position() {
        let mut hosts = ServiceHosts::default();
        hosts.add_host("db", "main");
        for (key, value, found) in [
            ("X", "postgres://u:p@db:5432/x", true),
            ("X", "redis://db", true),
            ("X", "jdbc:mysql://db/x", true),
            ("X", "a:9092,db:9092", true),
            ("X", "db:5432", true),
            ("DB_HOST", "db", true),
            ("MODE", "db", false),
            ("X", "/var/db/x", false),
            ("X", "db:16", false),
            ("X", "https://example.com/db", false),
            ("X", "https://dbx/", false),
        ] {
            assert_eq!(hosts.service_for(key, value).is_some(), found, "{key}={value}");
        }
        assert_eq!(hosts.named_in("wait-for-it db:5432 -- run"), Some("main"));
    }
}
