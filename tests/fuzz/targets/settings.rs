//! Settings: flags, one per line, and environment variables, one `NAME=VALUE` per line; after a line `%%`, the user's
//! settings file.

use clap::Parser;
use stead::cli::args::GlobalArgs;
use stead::cli::dispatch::command_line::Cli;
use stead::cli::process::env::EnvVariables;
use stead::cli::process::profile::Profiles;
use stead::cli::process::settings::{CloudEndpoint, merge};

/// An API key that must not appear in any message.
const KEY: &str = "canary-key-7f3a";

pub fn settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (text, file) = text.split_once("\n%%\n").unwrap_or((text, ""));
    let profiles =
        Profiles::parse("settings.toml", file).unwrap_or_else(|_| Profiles::none("settings.toml"));
    let (variables, flags): (Vec<&str>, Vec<&str>) = text
        .lines()
        .filter(|line| !line.is_empty())
        .partition(|line| line.contains('=') && !line.starts_with('-'));
    let mut variables: EnvVariables = variables
        .into_iter()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    variables.insert("STEAD_API_KEY".to_owned(), KEY.to_owned());
    check(GlobalArgs::default(), &variables, &profiles);
    let line = std::iter::once("stead").chain(flags.into_iter().take(32));
    match Cli::try_parse_from(line) {
        Ok(cli) => check(cli.global, &variables, &profiles),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn check(flags: GlobalArgs, variables: &EnvVariables, profiles: &Profiles) {
    match merge(flags, variables, profiles) {
        Ok(settings) => {
            assert!(!format!("{settings:?}").contains(KEY));
            if let CloudEndpoint::Remote(url) = &settings.cloud {
                let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
                let host = host.expect("a key goes by http").split('/').next().unwrap_or_default();
                assert!(!host.is_empty() && !host.contains('@') && !url.ends_with('/'), "{url}");
                assert!(!url.contains(|c: char| c.is_whitespace() || c.is_control()), "{url:?}");
            }
        }
        Err(error) => assert!(!error.to_string().contains(KEY)),
    }
}
