//! The name of a base, with who named it, for messages and their remedies.

use std::fmt;

/// A base, as it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct BaseName {
    /// Name of a branch or a tag, or a hash, with what follows it.
    pub(in crate::cli) name: String,
    /// Variable of CI that names it; `None` if the user or the default does.
    pub(in crate::cli) variable: Option<&'static str>,
    /// Whether it is the default, which must be another branch than the one that is checked out.
    pub(in crate::cli) is_default: bool,
}

impl BaseName {
    /// Returns the base that the user named.
    pub(in crate::cli) fn given(name: &str) -> Self {
        Self { name: name.to_owned(), variable: None, is_default: false }
    }

    /// Returns how to fetch a base that is not in the clone.
    pub(super) fn fetch_help(&self) -> Vec<String> {
        let branch = self.name.strip_prefix("origin/").unwrap_or(&self.name);
        let is_hash = branch.len() >= 7 && branch.bytes().all(|b| b.is_ascii_hexdigit());
        let is_plain = branch.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b));
        let mut help = Vec::new();
        if is_hash {
            help.push(format!("If the server has it: git fetch origin {branch}"));
        } else if is_plain && !branch.starts_with('-') {
            help.push(format!(
                "If the server has the branch: git fetch origin +refs/heads/{branch}:refs/remotes/origin/{branch}"
            ));
        }
        if self.variable.is_some_and(|name| name.starts_with("GITHUB")) {
            help.push("Or give actions/checkout `fetch-depth: 0`.".to_owned());
        }
        help
    }
}

impl fmt::Display for BaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.variable {
            Some(variable) => write!(f, "`{}` ({variable})", self.name),
            None => write!(f, "`{}`", self.name),
        }
    }
}
