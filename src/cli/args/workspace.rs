//! Flags of commands that can work on all stacks of a repository.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;

use super::global_flags::quote_shell_word;
use super::values::parse_address;
use crate::model::address::Address;
use crate::workspace::selection::UnitPattern;
use crate::workspace::unit::UnitName;

/// Selects the units of a repository: its stacks, each in one environment.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Many stacks")]
pub struct UnitArgs {
    /// Cover all stacks of the repository, each in all its environments or in that of -e
    #[arg(long)]
    pub all: bool,
    /// With --all, only stacks like this: shop/prod, */prod, shop or ./teams/**; repeatable
    #[arg(long = "stacks", value_name = "GLOB", requires = "all", value_parser = parse_pattern)]
    pub patterns: Vec<UnitPattern>,
    /// With --all, only stacks whose files differ from BASE, the target of the request in CI, else the default branch
    #[arg(long, value_name = "BASE", num_args = 0..=1, require_equals = true, requires = "all")]
    #[expect(clippy::option_option, reason = "the flag may be absent, without a value, or have one")]
    pub changed: Option<Option<String>>,
    /// With --all, also the stacks that read outputs of the selected ones; plan and apply leave out those for which no
    /// output changes, and count them
    #[arg(long, requires = "all")]
    pub with_dependents: bool,
}

impl UnitArgs {
    /// Returns the flags as the user would type them, quoted for a shell; empty without `--all`.
    pub(in crate::cli) fn format_flags(&self) -> String {
        if !self.all {
            return String::new();
        }
        let stacks = self.patterns.iter();
        let stacks = stacks.map(|pattern| format!(" --stacks {}", quote_shell_word(pattern.text())));
        let changed = match &self.changed {
            None => String::new(),
            Some(None) => " --changed".to_owned(),
            Some(Some(base)) => format!(" --changed={}", quote_shell_word(base)),
        };
        let dependents = if self.with_dependents { " --with-dependents" } else { "" };
        format!(" --all{}{changed}{dependents}", stacks.collect::<String>())
    }
}

/// The removed units whose objects a plan may delete.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Many stacks")]
pub struct RemovalArgs {
    /// With --all, delete the objects of this unit, whose stack or environment the repository has no longer; repeatable
    #[arg(long = "remove", value_name = "UNIT", requires = "all", value_parser = parse_unit)]
    pub units: Vec<UnitName>,
}

/// Units that may lose what they use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Many stacks")]
pub struct ReaderArgs {
    /// With --all, delete what this unit still uses, although it is not selected; repeatable
    #[arg(long, value_name = "UNIT", requires = "all", value_parser = parse_unit)]
    pub force_readers: Vec<UnitName>,
}

/// Returns the flags that select units and approve what else blocks them, as the user would type them. `approvals` are flags
/// of the plans of these units.
pub(in crate::cli) fn format_unit_flags(
    units: &UnitArgs,
    removals: &[UnitName],
    approvals: &[String],
    readers: &[UnitName],
) -> String {
    let removals = removals.iter().map(|unit| format!(" --remove {unit}"));
    let approvals = approvals.iter().map(|flag| format!(" {flag}"));
    let readers = readers.iter().map(|unit| format!(" --force-readers {unit}"));
    units.format_flags() + &removals.chain(approvals).chain(readers).collect::<String>()
}

/// What `--allow-deletes` approves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeletionApproval {
    /// The deletions of the stack, or of all units.
    All,
    /// The deletions of one unit.
    Unit(UnitName),
}

impl DeletionApproval {
    /// Returns the flag as the user would type it.
    pub(in crate::cli) fn format_flag(&self) -> String {
        match self {
            Self::All => "--allow-deletes".to_owned(),
            Self::Unit(unit) => format!("--allow-deletes={unit}"),
        }
    }
}

/// An object with data whose replacement or deletion is approved: of the stack that is planned, or of one of many units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossApproval {
    /// The unit; `None` for the stack that is planned alone.
    pub unit: Option<UnitName>,
    /// The object, or the block of several ones.
    pub address: Address,
}

impl LossApproval {
    /// Returns the addresses of the approvals that name a unit, by unit.
    pub(in crate::cli) fn by_unit(approvals: &[Self]) -> BTreeMap<UnitName, BTreeSet<Address>> {
        let mut all: BTreeMap<UnitName, BTreeSet<Address>> = BTreeMap::new();
        for Self { unit, address } in approvals {
            if let Some(unit) = unit {
                all.entry(unit.clone()).or_default().insert(address.clone());
            }
        }
        all
    }

    /// Returns the value of the flag as the user would type it.
    pub(in crate::cli) fn format_value(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{unit}:{}", self.address),
            None => self.address.to_string(),
        }
    }
}

/// Parses an address, or an address of a unit: `STACK/ENVIRONMENT:ADDRESS`.
pub(in crate::cli) fn parse_loss_approval(text: &str) -> Result<LossApproval, String> {
    let of_unit = text.split_once(':').and_then(|(unit, address)| Some((UnitName::parse(unit)?, address)));
    let (unit, address) = of_unit.map_or((None, text), |(unit, address)| (Some(unit), address));
    Ok(LossApproval { unit, address: parse_address(address)? })
}

/// Parses `all`, or the name of a unit.
pub(in crate::cli) fn parse_deletion_approval(text: &str) -> Result<DeletionApproval, String> {
    if text == "all" { Ok(DeletionApproval::All) } else { parse_unit(text).map(DeletionApproval::Unit) }
}

/// Parses the name of a unit.
pub(in crate::cli) fn parse_unit(text: &str) -> Result<UnitName, String> {
    UnitName::parse(text).ok_or_else(|| "expected the form STACK/ENVIRONMENT".to_owned())
}

/// Parses a pattern for units.
pub(in crate::cli) fn parse_pattern(text: &str) -> Result<UnitPattern, String> {
    UnitPattern::parse(text).map_err(|error| error.to_string())
}
