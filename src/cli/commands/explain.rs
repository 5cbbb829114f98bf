//! `stead explain SUBJECT`: explains a kind, an attribute, a keyword, a function or a code. In: the tables of the
//! kinds and of the language. Out: formatted text or a document. Reads no stack.

use clap::Args;
use serde::Serialize;

use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::editor::explain::{
    self, AttributePage, AttributeRow, CodePage, ExplainIndex, ExplainPage as Explanation, FunctionPage,
    KeywordPage, KindPage, OperationRow, PlanCodePage,
};
use crate::kinds::REGISTRY;
use crate::report::json;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{TextRole, TextStyle};

/// Command-line arguments of `stead explain`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead explain database\n  stead explain database.plan\n  stead explain app.autoscaling.min_replicas\n  \
    stead explain R0301\n  stead explain lifecycle.protect\n  stead explain cidr_subnet\n  stead explain data_loss\n\nWithout a subject, it lists all subjects."
)]
pub struct ExplainArgs {
    /// A kind, KIND.ATTRIBUTE, a keyword, a function, or a code of a diagnostic or a plan
    #[arg(value_name = "SUBJECT")]
    pub subject: Option<String>,
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
    let page = explain::explain_subject(&REGISTRY, subject)
        .map_err(|unknown| CliFailure::new(Exit::Usage, unknown.message).help(unknown.help))?;
    ui.write_result(&if ui.json { page_document(&page) } else { render_explanation(&page, ui.style) });
    Ok(Exit::Done)
}

fn page_document<T: Serialize>(page: &T) -> String {
    json::to_pretty(&ExplainDocument { schema_version: json::SCHEMA_VERSION, page })
}

/// Returns the explanation as formatted text.
fn render_explanation(explanation: &Explanation, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    match explanation {
        Explanation::Kind(kind) => kind_page(&mut page, kind),
        Explanation::Attribute(attribute) => attribute_page(&mut page, attribute),
        Explanation::Code(code) => code_page(&mut page, code),
        Explanation::Word(word) => word_page(&mut page, word),
        Explanation::Function(function) => function_page(&mut page, function),
        Explanation::PlanCode(code) => plan_code_page(&mut page, code),
    }
    page.finish()
}

/// Column at which descriptions begin.
const DESCRIPTION_COLUMN: usize = 18;
/// Longest name that stays on the same line as its description.
const MAX_INLINE_WIDTH: usize = 26;

fn render_index(index: &ExplainIndex, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let all = [
        ("kinds", &index.kinds),
        ("words", &index.words),
        ("functions", &index.functions),
        ("codes", &index.codes),
    ];
    for (heading, rows) in all {
        push_heading(&mut page, heading);
        push_pairs(&mut page, rows);
    }
    page.finish()
}

fn push_title(page: &mut TextPage, name: &str, summary: &str) {
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, name));
    page.add_line(TextLine::indent(2).push_text(summary));
}

fn push_heading(page: &mut TextPage, text: &str) {
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, text));
}

/// Adds a line `label  value`, unless the value is empty.
fn push_fact(page: &mut TextPage, label: &str, value: &str) {
    if !value.is_empty() {
        let line = TextLine::indent(2)
            .push_styled(TextRole::Faint, label)
            .to_column(DESCRIPTION_COLUMN)
            .continue_at(DESCRIPTION_COLUMN);
        page.add_line(line.push_text(value));
    }
}

/// Adds one line per value, with the label only on the first.
fn push_facts(page: &mut TextPage, label: &str, values: impl IntoIterator<Item = impl AsRef<str>>) {
    for (at, value) in values.into_iter().enumerate() {
        push_fact(page, if at == 0 { label } else { "" }, value.as_ref());
    }
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

fn kind_page(page: &mut TextPage, kind: &KindPage) {
    push_title(page, kind.kind, kind.summary);
    push_fact(page, "written", &kind.written);
    push_fact(page, "belongs to", &kind.belongs_to);
    push_facts(page, "costs a month", &kind.price);
    push_fact(page, "replacement", &kind.replacement);
    push_facts(page, "deletion", &kind.deletion);
    let [create, update, delete] = kind.seconds;
    push_fact(
        page,
        "takes",
        &format!("about {create} s to create, {update} s to change, {delete} s to delete"),
    );
    push_attributes(page, "attributes", &kind.attributes);
    if !kind.children.is_empty() {
        push_heading(page, "children");
        let rows: Vec<_> = kind.children.iter().map(|child| (child.collection, child.summary)).collect();
        push_pairs(page, &rows);
    }
    push_attributes(page, "set by the service", &kind.computed);
    if !kind.rules.is_empty() {
        push_heading(page, "rules");
        push_pairs(page, &kind.rules);
    }
    push_operations(page, "actions (stead do)", &kind.actions);
    push_operations(page, "requests", &kind.requests);
}

fn push_attributes(page: &mut TextPage, title: &str, rows: &[AttributeRow]) {
    if rows.is_empty() {
        return;
    }
    push_heading(page, title);
    let column = 4 + rows.iter().map(|row| row.name.len()).max().unwrap_or(0).min(MAX_INLINE_WIDTH);
    for row in rows {
        let mut line = TextLine::indent(2)
            .push_styled(TextRole::Change, row.name)
            .to_column(column)
            .continue_at(column);
        line = line.push_text(row.summary);
        let mut parts = vec![(TextRole::Faint, row.ty.clone())];
        parts.extend(row.required.then(|| (TextRole::Warning, "required".to_owned())));
        parts.extend(row.default.as_ref().map(|default| (TextRole::Faint, format!("default {default}"))));
        parts.extend(row.replaces.then(|| (TextRole::Warning, "a change replaces".to_owned())));
        let last = parts.len() - 1;
        for (at, (role, part)) in parts.into_iter().enumerate() {
            line = line.push_styled(role, format!(" {part}{}", if at < last { "," } else { "" }));
        }
        page.add_line(line);
    }
}

fn push_operations(page: &mut TextPage, title: &str, rows: &[OperationRow]) {
    if rows.is_empty() {
        return;
    }
    push_heading(page, title);
    let column = 4 + rows.iter().map(|row| row.name.len()).max().unwrap_or(0).min(MAX_INLINE_WIDTH);
    for row in rows {
        let line = TextLine::indent(2)
            .push_styled(TextRole::Change, row.name)
            .to_column(column)
            .continue_at(column);
        let line = if row.summary.is_empty() { line } else { line.push_text(row.summary).push_text(" ") };
        let assumed = if row.assumed { " (assumed)" } else { "" };
        page.add_line(line.push_styled(TextRole::Faint, format!("{}{assumed}", row.request)));
    }
}

fn attribute_page(page: &mut TextPage, attribute: &AttributePage) {
    push_title(page, &attribute.path, attribute.summary);
    push_fact(page, "type", &attribute.ty);
    push_fact(page, "takes", attribute.limits.as_deref().unwrap_or_default());
    push_fact(page, "presence", attribute.presence);
    push_fact(page, "default", attribute.default.as_deref().unwrap_or_default());
    push_fact(page, "change", attribute.change.as_deref().unwrap_or_default());
    push_facts(page, "calls", &attribute.calls);
    push_fact(page, "API's name", attribute.wire);
    push_fact(
        page,
        "secret",
        if attribute.secret { "yes: never shown, recorded by its fingerprint" } else { "" },
    );
    push_facts(page, "price", &attribute.price);
    push_fact(page, "names", attribute.listed_by.as_deref().unwrap_or_default());
    let said = if attribute.assumed {
        "assumed: the service's document does not specify it"
    } else {
        "documented"
    };
    push_fact(page, "known", said);
    if !attribute.rules.is_empty() {
        push_heading(page, "rules");
        push_pairs(page, &attribute.rules);
    }
}

fn code_page(page: &mut TextPage, code: &CodePage) {
    push_title(page, code.code, code.meaning);
    push_fact(page, "found", code.found);
    push_fact(page, "kind", code.kind.unwrap_or_default());
    push_fact(page, "stands in", code.place.unwrap_or_default());
    for example in &code.examples {
        if let Some(before) = example.before {
            push_heading(page, "before");
            push_snippet(page, before, TextRole::Faint);
        }
        push_heading(page, "wrong");
        push_snippet(page, example.wrong, TextRole::Danger);
        push_heading(page, "right");
        push_snippet(page, example.right, TextRole::Success);
    }
}

fn word_page(page: &mut TextPage, word: &KeywordPage) {
    push_title(page, &word.word, &word.summary);
    if !word.words.is_empty() {
        push_heading(page, "words in it");
        push_pairs(page, &word.words);
    }
    if !word.places.is_empty() {
        let rows: Vec<_> = word.places.iter().map(|(way, text)| (way.as_str(), *text)).collect();
        return push_pairs(page, &rows);
    }
    push_heading(page, "example");
    push_snippet(page, &word.example, TextRole::Success);
}

fn function_page(page: &mut TextPage, function: &FunctionPage) {
    push_title(page, function.function, function.summary);
    push_fact(page, "written", function.usage);
    push_heading(page, "example");
    push_snippet(page, &function.example, TextRole::Success);
    if !function.gives.is_empty() {
        push_fact(page, "gives", function.gives);
    }
}

fn plan_code_page(page: &mut TextPage, code: &PlanCodePage) {
    push_title(page, &code.code, &code.meaning);
    push_fact(page, "stands in", code.stands);
    push_fact(page, "what to do", code.remedy);
}

fn push_snippet(page: &mut TextPage, text: &str, role: TextRole) {
    for line in text.lines() {
        let blanks = line.len() - line.trim_start().len();
        page.add_line(TextLine::indent(2 + blanks).push_styled(role, line.trim_start()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(subject: &str) -> String {
        render_explanation(&explain::explain_subject(&REGISTRY, subject).unwrap(), TextStyle::plain(90))
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
          stands in       specification, Errors, case 2
        wrong
          database:
            main: { engine: mysql, plan: pg-1c-2g }
        right
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
        words in it
          final_snapshot  A final snapshot is created before a VM or a volume is deleted, and is
                          kept; if it fails, nothing is deleted.
          ignore_drift    Attributes whose live changes are ignored; an edit of the file still
                          applies.
          on_remove       What happens to the object when its block is removed.
          protect         No deletion, no replacement.
          replace         The order of deletion and creation in a replacement.
          timeouts        How long each operation may take.
        example
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
        attributes
          name          Display name. text, a change replaces
          size          Size in GB; it can only grow. whole number (GB), required
          region        The region; us-east is the only one. one of us-east, default us-east, a
                        change replaces
          billing_type  payg is billed by the hour, subscription by the month, from the account
                        balance first. one of payg, subscription, default payg, a change replaces
          vm            The VM that it is attached to. reference to a vm
        set by the service
          status          available, or in_use while attached. text
          price_per_hour  The price per hour, in USD. number
          project_id      The id of the project that owns it. text
          created_at      When it was created. RFC 3339 time
          updated_at      When it last changed. RFC 3339 time
        actions (stead do)
          snapshot  Creates a snapshot now. makes a snapshot
          restore   Resets it to the state of one of its snapshots. restore of the object that
                    refers to it
        requests
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
            let page = shown(subject);
            assert!(page.lines().all(|line| line.chars().count() <= 90), "{page}");
        }
    }
}
