//! `stead emulator`: serves the built-in cloud until a stop signal. While it runs, `--cloud local` of the same
//! directory uses it: a note beside the data holds its address and key.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use serde::Serialize;

use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::signals;
use crate::cli::service::embedded_cloud;
use crate::emulator::control::CONTROL_CALLS;
use crate::emulator::faults;
use crate::emulator::seed::Seed;
use crate::emulator::server::{self, EmulatorHandle};
use crate::guide::embedded;

/// Command-line arguments of `stead emulator`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead emulator --seed shop\n  stead emulator --seed objects=200\n  stead emulator --fail 'POST /vms=503:10%' --speed 60"
)]
pub struct EmulatorArgs {
    /// Port; 0 selects a free one
    #[arg(long, default_value_t = 8377)]
    pub port: u16,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: std::net::IpAddr,
    /// Listen on other than loopback addresses; anyone with the key can reach it
    #[arg(long)]
    pub i_know: bool,
    /// Data directory [default: .stead, the cloud that --cloud local uses]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Fill a new cloud: shop (the objects of examples/shop), objects=N, or an exported file
    #[arg(long, value_name = "SPEC")]
    pub seed: Option<String>,
    /// Inject failures: 'POST /vms=503:10%'; repeatable
    #[arg(long, value_name = "SPEC")]
    pub fail: Vec<String>,
    /// Seed of the random failures
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub fault_seed: u64,
    /// Speed of its clock, in seconds per real second [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub speed: Option<u32>,
    /// Disable rate limits; responses then state 1,000 requests per second
    #[arg(long)]
    pub no_limiter: bool,
}

/// Serves the built-in cloud.
///
/// # Errors
/// When a flag is invalid, or the data directory or the address cannot be used.
pub(in crate::cli) async fn run(session: &CommandContext, args: &EmulatorArgs) -> Result<Exit, CliFailure> {
    let wrong = |error: String| CliFailure::new(Exit::Usage, error);
    let rules = args.fail.iter().map(|spec| faults::FaultRule::from_str(spec));
    let rules = rules.collect::<Result<Vec<_>, _>>().map_err(|error| wrong(error.to_string()))?;
    let seed =
        args.seed.as_deref().map(Seed::from_str).transpose().map_err(|error| wrong(error.to_string()))?;
    let options = server::EmulatorOptions {
        bind: SocketAddr::new(args.bind, args.port),
        i_know: args.i_know,
        seed,
        speed: args.speed.map(f64::from).or(Some(embedded_cloud::SPEED)),
        faults: faults::FaultPlan::new(args.fault_seed, rules),
        limited: !args.no_limiter,
        openapi: Some(embedded::SCHEMAS.text("cloud.openapi").to_owned()),
        ..server::EmulatorOptions::default()
    };
    let folder = args.data.clone().unwrap_or_else(|| embedded_cloud::data_directory(&session.settings.dir));
    let state = session.settings.state.as_deref();
    let running = embedded_cloud::start_emulator(&options, &folder, state)?;
    if let Err(why) = embedded_cloud::leave_note(&folder, state, &running, options.speed) {
        session.ui.write_message(&format!("note: `--cloud local` will not find this emulator: {why:#}"));
    }
    print_server_address(session, &running, &folder);
    // Only a signal ends the server, and the first one is enough.
    let stop = Cell::new(true);
    let watched = signals::watch_stop_signals(std::future::pending::<()>(), &stop, || {}, || {}).await;
    // The note first: once the server has stopped, another program can get its address.
    embedded_cloud::take_note(&folder, state);
    running.stop();
    watched.map(|_| Exit::Done).map_err(|error| anyhow::Error::from(error).into())
}

/// JSON document for the program that started the emulator. It contains the API key, which is valid
/// for this emulator only.
#[derive(Serialize)]
struct EmulatorStartDocument<'a> {
    api_key: &'a str,
    data: String,
    page: Option<String>,
    schema_version: u32,
    url: &'a str,
}

/// Returns the URL of the emulator's web page; `None` unless the emulator listens on a loopback address.
fn page_url(running: &EmulatorHandle) -> Option<String> {
    running.address.ip().is_loopback().then(|| format!("{}/", running.base_url()))
}

fn print_server_address(session: &CommandContext, running: &EmulatorHandle, folder: &Path) {
    let (url, key) = (running.base_url(), &running.api_key);
    if session.ui.json || session.ui.ndjson {
        let said = EmulatorStartDocument {
            api_key: key,
            data: stack_files::display_path(folder),
            page: page_url(running),
            schema_version: 1,
            url: &url,
        };
        let said = serde_json::to_string(&said).unwrap_or_default();
        session.ui.write_result(&format!("{said}\n"));
        return;
    }
    let mutation = CONTROL_CALLS.iter().find(|call| call.name == "mutate").and_then(|call| call.body);
    let page =
        page_url(running).map(|page| format!("Look at it in a browser:  {page}\n")).unwrap_or_default();
    session.ui.write_result(&format!(
        "The cloud is at {url}, its data in {}. Ctrl-C stops it; nothing is lost.\n\n\
         export STEAD_API_URL={url}\n\
         export STEAD_API_KEY={key}\n\n\
         {page}\
         Its request log:  curl {url}/_emulator/requests\n\
         Make some drift:  curl {url}/_emulator/mutate -d '{}'\n",
        stack_files::display_path(folder),
        mutation.unwrap_or_default()
    ));
}
