//! The environment variables of the process, and the user's directory that they name. Functions get them as a
//! parameter: only `terminal` reads the environment, so that tests can give other variables.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Environment variables by name; values can be secret.
pub type EnvVariables = BTreeMap<String, String>;

/// Returns the user's directory for settings and keys: `STEAD_CONFIG_DIR`, else the platform's. `None` if no
/// variable names an absolute path.
pub(in crate::cli) fn user_config_dir(variables: &EnvVariables) -> Option<PathBuf> {
    let path = |name: &str| {
        let path = variables.get(name).map(PathBuf::from)?;
        // A relative path would name a directory of the stack in which the command runs.
        path.is_absolute().then_some(path)
    };
    path("STEAD_CONFIG_DIR")
        .or_else(|| path("XDG_CONFIG_HOME").map(|path| path.join("stead")))
        .or_else(|| path("HOME").map(|path| path.join(".config/stead")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_config_directory_follows_xdg_and_home() {
        let at = |given: &[(&str, &str)]| {
            let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            user_config_dir(&given.collect()).map(|path| path.display().to_string())
        };
        assert_eq!(at(&[("HOME", "/home/ada")]).unwrap(), "/home/ada/.config/stead");
        assert_eq!(at(&[("HOME", "/home/ada"), ("XDG_CONFIG_HOME", "/x")]).unwrap(), "/x/stead");
        assert_eq!(at(&[("STEAD_CONFIG_DIR", "/c"), ("XDG_CONFIG_HOME", "/x")]).unwrap(), "/c");
        assert_eq!(at(&[("STEAD_CONFIG_DIR", "here")]), None, "relative to a stack it is a stack's");
        assert_eq!(at(&[]), None);
    }
}
