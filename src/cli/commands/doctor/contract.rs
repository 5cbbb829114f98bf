//! `stead doctor --api`: compares a live service with the contract, and stores the capabilities that it detected. It
//! sends only reads, so it is safe on an account in use.

use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::CloudEndpoint;
use crate::cli::service::connection::ServiceConnection;
use crate::cli::service::{api_key, capabilities};
use crate::cloud::http::https_transport::parse_origin;
use crate::cloud::probe::{ContractCheckResult, Observations, ProbeFinding, ServiceCapabilities, findings};
use crate::kinds::REGISTRY;
use crate::model::clock::Clock;
use crate::model::schema::Provenance;
use crate::report::json;
use crate::report::views::conformance::{self, AssumptionResult, ConformanceReport, ConformanceStatus};

/// Compares the service with the contract, prints the result, and stores the capabilities that later requests use.
/// Returns `Exit::Failed` if an assumption is wrong.
///
/// # Errors
/// When the service refuses the key or does not respond, or the result cannot be stored.
pub(super) async fn run(session: &CommandContext) -> Result<Exit, CliFailure> {
    let settings = &session.settings;
    let key = match &settings.cloud {
        CloudEndpoint::Remote(url) => Some(api_key::find_api_key(settings, url)?),
        CloudEndpoint::Local | CloudEndpoint::Unset => None,
    };
    let link = ServiceConnection::open_read_only(settings, &settings.dir, key)?;
    // Earlier results must not influence this comparison.
    link.client.goes_by(&ServiceCapabilities::default());
    let evidence = link.client.probe().await?;
    let report = contract_report(session, &evidence, link.client.request_count().sent);
    let ui = &session.ui;
    ui.write_result(&if ui.json || ui.ndjson {
        json::contract_document(&report)
    } else {
        conformance::contract_page(&report, ui.verbose, ui.style)
    });
    if let CloudEndpoint::Remote(url) = &settings.cloud {
        let now = link.client.clock().now();
        if let Some(path) = capabilities::write_capabilities(settings, url, &evidence.learned, now)? {
            ui.write_message(&format!(
                "The capabilities of the service are stored in {}.",
                stack_files::display_path(&path)
            ));
        }
    }
    Ok(if report.count(ConformanceStatus::Different) > 0 { Exit::Failed } else { Exit::Done })
}

/// Returns the result for display; `requests` is the number that was sent.
fn contract_report(session: &CommandContext, evidence: &Observations, requests: u32) -> ConformanceReport {
    let service = match &session.settings.cloud {
        CloudEndpoint::Remote(url) => parse_origin(url).unwrap_or_else(|_| url.clone()),
        CloudEndpoint::Local | CloudEndpoint::Unset => "the built-in cloud".to_owned(),
    };
    ConformanceReport {
        service,
        requests,
        learned: capabilities::in_words(&evidence.learned),
        page_limit: evidence.learned.page_limit,
        rate: evidence.learned.rate,
        rows: findings(evidence, REGISTRY).into_iter().map(finding_row).collect(),
    }
}

/// Returns one result for display; `how` is `None` if the assumption was confirmed.
fn finding_row(finding: ProbeFinding) -> AssumptionResult {
    let (verdict, how) = match finding.verdict {
        ContractCheckResult::Confirmed => (ConformanceStatus::Confirmed, None),
        ContractCheckResult::Different(how) => (ConformanceStatus::Different, Some(how)),
        ContractCheckResult::NotSeen(why) => (ConformanceStatus::NotSeen, Some(why)),
    };
    AssumptionResult {
        subject: finding.subject,
        says: finding.says,
        place: finding.place,
        documented: finding.provenance == Provenance::Documented,
        verdict,
        how,
    }
}
