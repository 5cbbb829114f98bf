//! `stead doctor --api`: what a live service shows of the contract, and keeping what was learned.

use crate::cli::command_context::Session;
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::Failure;
use crate::cli::process::settings::Cloud;
use crate::cli::service::connection::Link;
use crate::cli::service::{api_key, capabilities};
use crate::cloud::http::https_transport::parse_origin;
use crate::cloud::probe::{Evidence, Finding, Learned, Verdict, findings};
use crate::kinds::REGISTRY;
use crate::model::clock::Clock;
use crate::model::schema::Provenance;
use crate::report::json;
use crate::report::views::conformance::{self, Report, Row, Shown};

/// Compares what the service shows with what the contract has, and keeps what makes later requests fit it.
///
/// # Errors
/// When the service refuses the key or does not answer, or what was learned cannot be kept.
pub(super) async fn run(session: &Session) -> Result<Exit, Failure> {
    let settings = &session.settings;
    let key = match &settings.cloud {
        Cloud::At(url) => Some(api_key::find_api_key(settings, url)?),
        Cloud::Local | Cloud::Unset => None,
    };
    let link = Link::open_read_only(settings, &settings.dir, key)?;
    // What was learned before is on trial, too.
    link.client.goes_by(&Learned::default());
    let evidence = link.client.probe().await?;
    let report = contract_report(session, &evidence, link.client.request_count().sent);
    let ui = &session.ui;
    ui.write_result(&if ui.json || ui.ndjson {
        json::contract_document(&report)
    } else {
        conformance::contract_page(&report, ui.verbose, ui.style)
    });
    if let Cloud::At(url) = &settings.cloud {
        let now = link.client.clock().now();
        if let Some(path) = capabilities::write_capabilities(settings, url, &evidence.learned, now)? {
            ui.write_message(&format!("What was learned is kept in {}.", stack_files::display_path(&path)));
        }
    }
    Ok(if report.count(Shown::Different) > 0 { Exit::Failed } else { Exit::Done })
}

fn contract_report(session: &Session, evidence: &Evidence, requests: u32) -> Report {
    let service = match &session.settings.cloud {
        Cloud::At(url) => parse_origin(url).unwrap_or_else(|_| url.clone()),
        Cloud::Local | Cloud::Unset => "the built-in cloud".to_owned(),
    };
    Report {
        service,
        requests,
        learned: capabilities::in_words(&evidence.learned),
        page_limit: evidence.learned.page_limit,
        rate: evidence.learned.rate,
        rows: findings(evidence, REGISTRY).into_iter().map(finding_row).collect(),
    }
}

fn finding_row(finding: Finding) -> Row {
    let (verdict, how) = match finding.verdict {
        Verdict::Confirmed => (Shown::Confirmed, None),
        Verdict::Different(how) => (Shown::Different, Some(how)),
        Verdict::NotSeen(why) => (Shown::NotSeen, Some(why)),
    };
    Row {
        subject: finding.subject,
        says: finding.says,
        place: finding.place,
        documented: finding.provenance == Provenance::Documented,
        verdict,
        how,
    }
}
