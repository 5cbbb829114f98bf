//! `stead explain SUBJECT`: explains a kind, an attribute, a keyword, a function or a code. In: the tables of the
//! kinds and of the language. Out: formatted text or a document. Reads no stack.

use clap::Args;
use serde::Serialize;

use crate::cli::command_context::CommandContext;
use crate::cli::commands::docs;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::rows::SETTINGS;
use crate::editor::explain::{self, ExplainIndex, UnknownTopic};
use crate::guide::explained::{explain_address, explain_document};
use crate::guide::{site, terminal};
use crate::kinds::REGISTRY;
use crate::report::json;
use crate::report::text::escape;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{TextRole, TextStyle};

/// Command-line arguments of `stead explain`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead explain database\n  stead explain database.plan\n  stead explain app.autoscaling.min_replicas\n  \
    stead explain R0301\n  stead explain lifecycle.protect\n  stead explain cidr_subnet\n  stead explain data_loss\n  stead explain R0301 --web\n\nWithout a subject, it lists all subjects."
)]
pub struct ExplainArgs {
    /// A kind, KIND.ATTRIBUTE, a keyword, a function, or a code of a diagnostic or a plan
    #[arg(value_name = "SUBJECT")]
    pub subject: Option<String>,
    /// Print the address of the subject's page in the documentation, instead of the page
    #[arg(long, requires = "subject")]
    pub web: bool,
}

/// JSON output of `explain`.
#[derive(Serialize)]
struct ExplainDocument<T> {
    schema_version: json::SchemaVersion,
    #[serde(flatten)]
    page: T,
}

/// Prints the explanation of a subject; without a subject, the index.
///
/// # Errors
/// When the subject does not exist; the failure suggests a similar one.
pub(in crate::cli) fn run(session: &CommandContext, args: &ExplainArgs) -> Result<Exit, CliFailure> {
    let ui = &session.ui;
    let Some(subject) = &args.subject else {
        let index = explain::build_index(&REGISTRY);
        ui.write_result(&if ui.json { page_document(&index) } else { render_index(&index, ui.style) });
        return Ok(Exit::Done);
    };
    let page =
        explain::explain_subject(&REGISTRY, subject).map_err(|unknown| unknown_topic(subject, unknown))?;
    if args.web {
        print_address(session, &explain_address(&page));
        return Ok(Exit::Done);
    }
    let text = || terminal::render_reference(&explain_document(&page), ui.style);
    ui.write_result(&if ui.json { page_document(&page) } else { text() });
    if let Some(other) = explain::explain_plan_code(subject).filter(|other| *other != page) {
        ui.hint(&format!("`{subject}` is also a code of plans: stead docs {}", explain_address(&other)));
    }
    Ok(Exit::Done)
}

/// Returns the failure for a subject without a page. What `explain` does not cover, the documentation does.
fn unknown_topic(subject: &str, unknown: UnknownTopic) -> CliFailure {
    let failure = CliFailure::new(Exit::Usage, unknown.message);
    if subject.parse::<u8>().is_ok() {
        return failure.help("Exit codes: `stead docs exit-codes`");
    }
    if SETTINGS.iter().any(|row| row.variable == Some(subject)) {
        return failure.help("Environment variables: `stead docs settings`");
    }
    failure.help(unknown.help).help("To search the documentation: stead docs WORDS")
}

/// JSON output of `explain --web`.
#[derive(Serialize)]
struct AddressDocument {
    url: String,
}

/// Prints the web address of a page: below the published copy that the settings name, else on this machine.
fn print_address(session: &CommandContext, address: &str) {
    let ui = &session.ui;
    let published = session.settings.docs_url.as_deref();
    let own = format!("http://127.0.0.1:{}", docs::DEFAULT_PORT);
    let url = site::web_address(published.unwrap_or(&own), address);
    if ui.json {
        ui.write_result(&page_document(&AddressDocument { url }));
        return;
    }
    ui.write_result(&format!("{}\n", escape::escape_line(&url)));
    if published.is_none() {
        ui.hint("It answers while `stead docs --serve` runs. STEAD_DOCS_URL names a published copy.");
    }
}

fn page_document<T: Serialize>(page: &T) -> String {
    json::to_pretty(&ExplainDocument { schema_version: json::SCHEMA_VERSION, page })
}

/// Longest name that stays on the same line as its description.
const MAX_INLINE_WIDTH: usize = 26;

fn render_index(index: &ExplainIndex, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let groups = [
        ("Kinds", &index.kinds),
        ("Keywords", &index.words),
        ("Functions", &index.functions),
        ("Codes of diagnostics", &index.codes),
    ];
    for (heading, rows) in groups {
        push_heading(&mut page, heading);
        push_pairs(&mut page, rows);
    }
    let codes: Vec<_> =
        index.plan_codes.iter().map(|(code, text)| (code.as_str(), text.as_str())).collect();
    push_heading(&mut page, "Codes of plans");
    push_pairs(&mut page, &codes);
    page.finish()
}

fn push_heading(page: &mut TextPage, text: &str) {
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, text));
}

/// Adds a table of names and descriptions; a long name has its description on the next line.
fn push_pairs(page: &mut TextPage, rows: &[(&str, &str)]) {
    let column = 4 + rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).min(MAX_INLINE_WIDTH);
    for (name, text) in rows {
        page.add_line(
            TextLine::indent(2)
                .push_styled(TextRole::Change, name)
                .to_column(column)
                .continue_at(column)
                .push_text(text),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::document::Block;

    fn shown(subject: &str) -> String {
        let page = explain::explain_subject(&REGISTRY, subject).unwrap();
        terminal::render_reference(&explain_document(&page), TextStyle::plain(90))
    }

    #[test]
    fn explain_pages_render_as_text() {
        insta::assert_snapshot!(shown("database.storage_gb"), @r#"
    database.storage_gb
      Storage in GB; the plan's by default. It can only grow.
      type            whole number (GB)
      takes           1 to 65536 GB
      presence        may be written; otherwise the live value is left alone
      change          A change is made in place, and it can only grow; the difference is
                      charged or credited at once.
      calls           POST /api/v1/databases/{id}/scale (assumed)
      API's name      storage_gb
      price           storage_price_per_gb_month of its plan (database) × storage_gb over the
                      included_storage_gb of the plan
      known           documented
    "#);
        insta::assert_snapshot!(shown("R0301"), @"
        R0301
          A database's plan must be one of its engine's.
          found           A rule of the service: found while the configuration is checked, or by
                          the plan, which knows the live objects. Nothing was sent.
          kind            database
          specified in    specification, Errors, case 2
        Wrong
          database:
            main: { engine: mysql, plan: pg-1c-2g }
        Right
          database:
            main: { engine: mysql, plan: mysql-1c-2g }
        ");
    }

    #[test]
    fn explain_has_pages_for_keywords_and_kinds() {
        insta::assert_snapshot!(shown("lifecycle"), @"
        lifecycle
          How the object may be changed, replaced and deleted. It has final_snapshot,
            ignore_drift, on_remove, protect, replace, timeouts.
        Keywords inside
          final_snapshot  A final snapshot is created before a VM or a volume is deleted, and is
                          kept; if it fails, nothing is deleted.
          ignore_drift    Attributes whose live changes are ignored; an edit of the file still
                          applies.
          on_remove       What happens to the object when its block is removed.
          protect         No deletion, no replacement.
          replace         The order of deletion and creation in a replacement.
          timeouts        How long each operation may take.
        Example
          lifecycle: { protect: true, timeouts: { create: 30m } }
        ");
        insta::assert_snapshot!(shown("volume"), @"
        volume
          Block storage that is kept when the VM that it is attached to is deleted.
          written         volume: { NAME: { … } }
          belongs to      a project
          costs a month   price_per_gb_month (volume) × size
          replacement     The new object is created first, then the old one is deleted; its data
                          is lost for good.
          deletion        its data is lost for good
          takes           about 3 s to create, 2 s to change, 1 s to delete
        Attributes
          name          Display name. text, a change replaces
          size          Size in GB; it can only grow. whole number (GB), required
          region        The region; us-east is the only one. one of us-east, default us-east, a
                        change replaces
          billing_type  payg is billed by the hour, subscription by the month, from the account
                        balance first. one of payg, subscription, default payg, a change replaces
          vm            The VM that it is attached to. reference to a vm
        Set by the service
          status          available, or in_use while attached. text
          price_per_hour  The price per hour, in USD. number
          project_id      The id of the project that owns it. text
          created_at      When it was created. RFC 3339 time
          updated_at      When it last changed. RFC 3339 time
        Actions (stead do)
          snapshot  Creates a snapshot now. makes a snapshot
          restore   Resets it to the state of one of its snapshots. restore of the object that
                    refers to it
        Requests
          create  POST /api/v1/volumes
          read    GET /api/v1/volumes/{id}
          list    GET /api/v1/volumes
          delete  DELETE /api/v1/volumes/{id}
          resize  PATCH /api/v1/volumes/{id}
          attach  POST /api/v1/volumes/{id}/attach
          detach  POST /api/v1/volumes/{id}/detach
        ");
    }

    #[test]
    fn every_page_keeps_to_the_width() {
        let index = explain::build_index(&REGISTRY);
        let subjects = index.kinds.iter().chain(&index.words).chain(&index.codes).map(|(name, _)| *name);
        for subject in subjects {
            let document = explain_document(&explain::explain_subject(&REGISTRY, subject).unwrap());
            let page = shown(subject);
            // Code is not wrapped: it would be other code.
            let code = |line: &str| {
                document
                    .blocks
                    .iter()
                    .any(|block| matches!(block, Block::Code(code) if code.text.contains(line.trim())))
            };
            assert!(page.lines().all(|line| line.chars().count() <= 90 || code(line)), "{page}");
        }
    }
}
