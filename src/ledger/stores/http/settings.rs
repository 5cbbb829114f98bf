//! Settings of a state server: the address from the trusted settings, the rest from environment variables.
#![allow(clippy::disallowed_methods, reason = "the edge where a store's own variables are read")]

use secrecy::SecretString;

/// The connection settings of a state server.
#[derive(Debug, Clone)]
pub struct StateServerSettings {
    /// The address of the document.
    pub address: String,
    /// The address for taking the lock.
    pub lock_address: String,
    /// The address for releasing the lock.
    pub unlock_address: String,
    /// The HTTP method that takes the lock.
    pub lock_method: String,
    /// The HTTP method that releases the lock.
    pub unlock_method: String,
    /// The user name for basic authentication; `None` sends none.
    pub username: Option<String>,
    /// The password for basic authentication; used only with a user name.
    pub password: Option<SecretString>,
}

impl StateServerSettings {
    /// Returns the settings of the server at an address. In it and in the addresses of the lock, `{stack}` and
    /// `{environment}` are replaced by their names.
    ///
    /// The variables are `STEAD_HTTP_LOCK_ADDRESS`, `…_UNLOCK_ADDRESS`, `…_LOCK_METHOD`, `…_UNLOCK_METHOD`,
    /// `…_USERNAME` and `…_PASSWORD`; an empty variable counts as not set.
    #[must_use]
    pub fn new(
        address: &str,
        (stack, environment): (&str, &str),
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let filled = |text: &str| text.replace("{stack}", stack).replace("{environment}", environment);
        let address = filled(address);
        let mut settings = Self {
            lock_address: address.clone(),
            unlock_address: String::new(),
            address,
            lock_method: "LOCK".to_owned(),
            unlock_method: "UNLOCK".to_owned(),
            username: None,
            password: None,
        };
        for (name, value) in variables.into_iter().filter(|(_, value)| !value.is_empty()) {
            match name.strip_prefix("STEAD_HTTP_") {
                Some("LOCK_ADDRESS") => settings.lock_address = filled(&value),
                Some("UNLOCK_ADDRESS") => settings.unlock_address = filled(&value),
                Some("LOCK_METHOD") => settings.lock_method = value,
                Some("UNLOCK_METHOD") => settings.unlock_method = value,
                Some("USERNAME") => settings.username = Some(value),
                Some("PASSWORD") => settings.password = Some(value.into()),
                _ => {}
            }
        }
        if settings.unlock_address.is_empty() {
            settings.unlock_address.clone_from(&settings.lock_address);
        }
        settings
    }
}

/// Returns the environment variables for a state server's settings.
pub fn http_variables() -> Vec<(String, String)> {
    let all = std::env::vars_os();
    let texts = all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, _)| name.starts_with("STEAD_HTTP_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> StateServerSettings {
        let variables = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        StateServerSettings::new("https://host/{stack}-{environment}", ("shop", "prod"), variables)
    }

    #[test]
    fn http_settings_default_to_the_address() {
        let plain = settings(&[("PATH", "/bin"), ("STEAD_HTTP_LOCK_METHOD", "")]);
        assert_eq!(plain.address, "https://host/shop-prod");
        assert_eq!((plain.lock_address.as_str(), plain.lock_method.as_str()), (&*plain.address, "LOCK"));
        assert_eq!(
            (plain.unlock_address.as_str(), plain.unlock_method.as_str()),
            (&*plain.address, "UNLOCK")
        );
        let gitlab = settings(&[
            ("STEAD_HTTP_LOCK_ADDRESS", "https://host/{stack}-{environment}/lock"),
            ("STEAD_HTTP_LOCK_METHOD", "POST"),
            ("STEAD_HTTP_UNLOCK_METHOD", "DELETE"),
            ("STEAD_HTTP_USERNAME", "ci"),
            ("STEAD_HTTP_PASSWORD", "hunter2"),
        ]);
        assert_eq!(gitlab.unlock_address, "https://host/shop-prod/lock");
        assert_eq!((gitlab.lock_method.as_str(), gitlab.unlock_method.as_str()), ("POST", "DELETE"));
        assert!(!format!("{gitlab:?}").contains("hunter2"));
    }
}
