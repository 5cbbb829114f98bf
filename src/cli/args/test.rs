//! Command-line arguments of `test`.

use std::path::PathBuf;

use clap::Args;

/// Command-line arguments of `stead test`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Each test plans, and perhaps applies, the stack of its file's directory on the built-in cloud: in memory, \
in virtual time, with the variables that it gives and no others.

  test:
    two machines in prod:
      given: { env: prod, vars: { size: small }, world: empty, applied: true }
      plan: { create: [vm.web.b], count: { update: 1 }, monthly: { max: 60 }, policy: { budget: pass } }
      apply: { outputs: { url: https://shop.example.com }, objects: { vm: 2 } }

given.world is empty, shop, objects=N or the file of an export; given.applied applies the stack first. \
A plan may be expected to fail: problems: [S0201], blocks: [grow_only]. After an apply, the next plan is \
empty.

Examples:
  stead test
  stead test shop.test.yaml --report junit=report.xml
  stead test --watch
  stead test --output json")]
pub struct TestArgs {
    /// Test files; every *.test.yaml and *.test.kdl of the stack's directory when omitted
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write a JUnit report, as junit=PATH
    #[arg(long, value_name = "FORMAT=PATH", value_parser = parse_junit_path)]
    pub report: Option<PathBuf>,
    /// Run again when a file of the stack or of its tests changes, until Ctrl-C
    #[arg(long)]
    pub watch: bool,
}

fn parse_junit_path(text: &str) -> Result<PathBuf, String> {
    match text.split_once('=') {
        Some(("junit", path)) if !path.is_empty() => Ok(PathBuf::from(path)),
        _ => Err("write junit=PATH".to_owned()),
    }
}
