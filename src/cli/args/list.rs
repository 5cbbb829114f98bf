//! `ls` and `get`.

use clap::{Args, ValueEnum};

use crate::model::address::Name;

/// `ls`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead ls -o wide\n  stead ls --unmanaged --output json")]
pub struct Ls {
    /// Which columns
    #[arg(short = 'o', value_name = "COLUMNS", default_value = "short")]
    pub columns: Columns,
    /// Live objects of every kind that no address owns, in the stack's projects and in no project
    #[arg(long)]
    pub unmanaged: bool,
    /// Those of every other project of the account, too
    #[arg(long, requires = "unmanaged")]
    pub all_projects: bool,
    /// Only this kind; repeatable
    #[arg(long = "kind", value_name = "KIND")]
    pub kinds: Vec<Name>,
}

/// Columns of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Columns {
    /// The most important.
    Short,
    /// All of them.
    Wide,
}

/// `get`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead get vm.web\n  stead get snapshot:0b7c…")]
pub struct Get {
    /// The resource, or KIND:ID for an object that no stack here manages
    pub address: String,
}
