//! The environment variables of the process, and the directory of the user that they name. They are handed in: no
//! function here reads the environment itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Environment variables by name.
pub type EnvVariables = BTreeMap<String, String>;

/// Returns the user's directory: `STEAD_CONFIG_DIR`, else the platform's directory for settings.
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
