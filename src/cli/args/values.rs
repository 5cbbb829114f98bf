//! Values that the arguments of several commands have, and how each is parsed. An error states the form that is
//! expected; clap adds the name of the argument.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::ValueEnum;

use crate::model::address::{Address, Name};

/// Syntax of a stack's files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum FileSyntax {
    /// YAML, the syntax of `stead.yaml`.
    #[default]
    Yaml,
    /// KDL, version 2 of the language.
    Kdl,
}

/// Kinds of change that `--yes` approves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutoApproval {
    /// All kinds of change.
    All,
    /// Only these kinds of change; a plan with others is not applied.
    Only(BTreeSet<ChangeKind>),
}

/// A kind of change that `--yes` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum ChangeKind {
    /// New objects; also adopted ones, as they are.
    Create,
    /// Updates in place, also of adopted objects; and moves.
    Update,
    /// Objects deleted and created again under the same address.
    Replace,
    /// Objects deleted without a successor.
    Delete,
    /// Objects that stay live, and billed, without a stack that manages them.
    Forget,
}

impl ChangeKind {
    /// Returns the word that names it in `--yes`.
    #[must_use]
    pub fn keyword(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Parses the address of a resource or an instance.
pub(in crate::cli) fn parse_address(text: &str) -> Result<Address, String> {
    Address::parse(text).map_err(|error| error.to_string())
}

/// Parses the address of a resource, or the path of a module.
pub(in crate::cli) fn parse_module_or_resource(text: &str) -> Result<Address, String> {
    Address::parse_path(text).map_err(|error| error.to_string())
}

/// Parses `ADDRESS[=ID]`. Without an id (`None`), the address can be that of a module.
pub(in crate::cli) fn parse_adoption(text: &str) -> Result<(Address, Option<Name>), String> {
    match text.split_once('=') {
        None => Ok((parse_module_or_resource(text)?, None)),
        Some((_, "")) => Err("the id is missing after the =".to_owned()),
        Some((path, id)) => Ok((parse_address(path)?, Some(Name::new(id)))),
    }
}

/// Parses `all`, or kinds of change separated by commas.
pub(in crate::cli) fn parse_approval(text: &str) -> Result<AutoApproval, String> {
    if text == "all" {
        return Ok(AutoApproval::All);
    }
    let kind = |word: &str| {
        ChangeKind::from_str(word, false)
            .map_err(|_| format!("`{word}` is not one of create, update, replace, delete, forget"))
    };
    text.split(',').map(kind).collect::<Result<_, _>>().map(AutoApproval::Only)
}

/// Parses a duration with units, such as `90s` or `1h30m`; zero is accepted, a negative one is not.
pub(in crate::cli) fn parse_duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| "expected the form 90s, 5m or 1h".to_owned())?;
    Duration::try_from(span).map_err(|_| "it cannot be negative".to_owned())
}

/// Parses the address of a secret: that of a variable (`vars.NAME`) has the same syntax as that of a resource.
pub(in crate::cli) fn parse_secret_address(text: &str) -> Result<Name, String> {
    Address::parse(text).map(|address| address.as_str().into()).map_err(|error| error.to_string())
}
