//! `stead explain SUBJECT`: what stead knows of a kind, an attribute, a word or a code.

use serde::Serialize;

use crate::cli::args::Explain;
use crate::cli::command_context::Session;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::Failure;
use crate::editor::explain::{
    self, AttributePage, AttributeRow, CodePage, FunctionPage, Index, KindPage, Operation,
    Page as Explanation, PlanCodePage, WordPage,
};
use crate::kinds::REGISTRY;
use crate::report::json;
use crate::report::text::page::{Line, Page};
use crate::report::text::style::{Role, Style};

/// The document for programs.
#[derive(Serialize)]
struct Document<T> {
    schema_version: u32,
    #[serde(flatten)]
    page: T,
}

/// Explains.
///
/// # Errors
/// When nothing has this name.
pub(in crate::cli) fn run(session: &Session, args: &Explain) -> Result<Exit, Failure> {
    let ui = &session.ui;
    let Some(subject) = &args.subject else {
        let index = explain::index(&REGISTRY);
        ui.out(&if ui.json { document(&index) } else { contents(&index, ui.style) });
        return Ok(Exit::Done);
    };
    let page = explain::explain(&REGISTRY, subject)
        .map_err(|unknown| Failure::new(Exit::Usage, unknown.message).help(unknown.help))?;
    ui.out(&if ui.json { document(&page) } else { text(&page, ui.style) });
    Ok(Exit::Done)
}

fn document<T: Serialize>(page: &T) -> String {
    json::pretty(&Document { schema_version: json::SCHEMA_VERSION, page })
}

/// Lays out a page for people.
fn text(explanation: &Explanation, style: Style) -> String {
    let mut page = Page::new(style);
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

/// Where what is said of a name begins.
const COLUMN: usize = 18;
/// The widest name that is not followed by a line break.
const WIDEST: usize = 26;

fn contents(index: &Index, style: Style) -> String {
    let mut page = Page::new(style);
    let all = [
        ("kinds", &index.kinds),
        ("words", &index.words),
        ("functions", &index.functions),
        ("codes", &index.codes),
    ];
    for (heading, rows) in all {
        self::heading(&mut page, heading);
        pairs(&mut page, rows);
    }
    page.finish()
}

fn title(page: &mut Page, name: &str, summary: &str) {
    page.line(Line::indent(0).put(Role::Strong, name));
    page.line(Line::indent(2).say(summary));
}

fn heading(page: &mut Page, text: &str) {
    page.line(Line::indent(0).put(Role::Strong, text));
}

/// Adds `label  value`, unless there is nothing to say.
fn fact(page: &mut Page, label: &str, value: &str) {
    if !value.is_empty() {
        let line = Line::indent(2).put(Role::Faint, label).to_column(COLUMN).hanging(COLUMN);
        page.line(line.say(value));
    }
}

/// Adds `label  value` for each value, the label once.
fn facts(page: &mut Page, label: &str, values: impl IntoIterator<Item = impl AsRef<str>>) {
    for (at, value) in values.into_iter().enumerate() {
        fact(page, if at == 0 { label } else { "" }, value.as_ref());
    }
}

fn pairs(page: &mut Page, rows: &[(&str, &str)]) {
    let column = 4 + rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).min(WIDEST);
    for (name, text) in rows {
        page.line(Line::indent(2).put(Role::Change, name).to_column(column).hanging(column).say(text));
    }
}

fn kind_page(page: &mut Page, kind: &KindPage) {
    title(page, kind.kind, kind.summary);
    fact(page, "written", &kind.written);
    fact(page, "belongs to", &kind.belongs_to);
    facts(page, "costs a month", &kind.price);
    fact(page, "replacement", &kind.replacement);
    facts(page, "deletion", &kind.deletion);
    let [create, update, delete] = kind.seconds;
    fact(page, "takes", &format!("about {create} s to create, {update} s to change, {delete} s to delete"));
    attributes(page, "attributes", &kind.attributes);
    if !kind.children.is_empty() {
        heading(page, "children");
        let rows: Vec<_> = kind.children.iter().map(|child| (child.collection, child.summary)).collect();
        pairs(page, &rows);
    }
    attributes(page, "set by the service", &kind.computed);
    if !kind.rules.is_empty() {
        heading(page, "rules");
        pairs(page, &kind.rules);
    }
    operations(page, "actions (stead do)", &kind.actions);
    operations(page, "requests", &kind.requests);
}

fn attributes(page: &mut Page, title: &str, rows: &[AttributeRow]) {
    if rows.is_empty() {
        return;
    }
    heading(page, title);
    let column = 4 + rows.iter().map(|row| row.name.len()).max().unwrap_or(0).min(WIDEST);
    for row in rows {
        let mut line = Line::indent(2).put(Role::Change, row.name).to_column(column).hanging(column);
        line = line.say(row.summary);
        let mut parts = vec![(Role::Faint, row.ty.clone())];
        parts.extend(row.required.then(|| (Role::Warn, "required".to_owned())));
        parts.extend(row.default.as_ref().map(|default| (Role::Faint, format!("default {default}"))));
        parts.extend(row.replaces.then(|| (Role::Warn, "a change replaces".to_owned())));
        let last = parts.len() - 1;
        for (at, (role, part)) in parts.into_iter().enumerate() {
            line = line.put(role, format!(" {part}{}", if at < last { "," } else { "" }));
        }
        page.line(line);
    }
}

fn operations(page: &mut Page, title: &str, rows: &[Operation]) {
    if rows.is_empty() {
        return;
    }
    heading(page, title);
    let column = 4 + rows.iter().map(|row| row.name.len()).max().unwrap_or(0).min(WIDEST);
    for row in rows {
        let line = Line::indent(2).put(Role::Change, row.name).to_column(column).hanging(column);
        let line = if row.summary.is_empty() { line } else { line.say(row.summary).say(" ") };
        let assumed = if row.assumed { " (assumed)" } else { "" };
        page.line(line.put(Role::Faint, format!("{}{assumed}", row.request)));
    }
}

fn attribute_page(page: &mut Page, attribute: &AttributePage) {
    title(page, &attribute.path, attribute.summary);
    fact(page, "type", &attribute.ty);
    fact(page, "takes", attribute.limits.as_deref().unwrap_or_default());
    fact(page, "presence", attribute.presence);
    fact(page, "default", attribute.default.as_deref().unwrap_or_default());
    fact(page, "change", attribute.change.as_deref().unwrap_or_default());
    facts(page, "calls", &attribute.calls);
    fact(page, "API's name", attribute.wire);
    fact(
        page,
        "secret",
        if attribute.secret { "yes: shown nowhere, remembered by fingerprint" } else { "" },
    );
    facts(page, "price", &attribute.price);
    fact(page, "names", attribute.listed_by.as_deref().unwrap_or_default());
    let said =
        if attribute.assumed { "assumed: the service's document does not say it" } else { "documented" };
    fact(page, "known", said);
    if !attribute.rules.is_empty() {
        heading(page, "rules");
        pairs(page, &attribute.rules);
    }
}

fn code_page(page: &mut Page, code: &CodePage) {
    title(page, code.code, code.meaning);
    fact(page, "found", code.found);
    fact(page, "kind", code.kind.unwrap_or_default());
    fact(page, "stands in", code.place.unwrap_or_default());
    for example in &code.examples {
        if let Some(before) = example.before {
            heading(page, "before");
            snippet(page, before, Role::Faint);
        }
        heading(page, "wrong");
        snippet(page, example.wrong, Role::Danger);
        heading(page, "right");
        snippet(page, example.right, Role::Good);
    }
}

fn word_page(page: &mut Page, word: &WordPage) {
    title(page, &word.word, &word.summary);
    if !word.words.is_empty() {
        heading(page, "words in it");
        pairs(page, &word.words);
    }
    if !word.places.is_empty() {
        let rows: Vec<_> = word.places.iter().map(|(way, text)| (way.as_str(), *text)).collect();
        return pairs(page, &rows);
    }
    heading(page, "example");
    snippet(page, &word.example, Role::Good);
}

fn function_page(page: &mut Page, function: &FunctionPage) {
    title(page, function.function, function.summary);
    fact(page, "written", function.usage);
    heading(page, "example");
    snippet(page, &function.example, Role::Good);
    if !function.gives.is_empty() {
        fact(page, "gives", function.gives);
    }
}

fn plan_code_page(page: &mut Page, code: &PlanCodePage) {
    title(page, &code.code, &code.meaning);
    fact(page, "stands in", code.stands);
    fact(page, "what to do", code.remedy);
}

fn snippet(page: &mut Page, text: &str, role: Role) {
    for line in text.lines() {
        let blanks = line.len() - line.trim_start().len();
        page.line(Line::indent(2 + blanks).put(role, line.trim_start()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(subject: &str) -> String {
        text(&explain::explain(&REGISTRY, subject).unwrap(), Style::plain(90))
    }

    #[test]
    fn pages_for_people() {
        insta::assert_snapshot!(shown("database.storage_gb"), @r#"
    database.storage_gb
      Storage in GB; the plan's when it is not said. It can only grow.
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
        insta::assert_snapshot!(shown("R0301"), @r#"
    R0301
      A database's plan must be one of its engine's.
      found           A rule of the service: found while the configuration is checked, or by
                      the plan that knows what is live. Nothing was sent.
      kind            database
      stands in       specification, Errors, case 2
    wrong
      database:
        main: { engine: mysql, plan: pg-1c-2g }
    right
      database:
        main: { engine: mysql, plan: mysql-1c-2g }
    "#);
    }

    #[test]
    fn pages_of_words_and_kinds() {
        insta::assert_snapshot!(shown("lifecycle"), @r#"
    lifecycle
      What may happen to it. It has final_snapshot, ignore_drift, on_remove, protect, replace,
        timeouts.
    words in it
      final_snapshot  A snapshot is made before a VM or a volume goes, and stays; if it fails,
                      nothing is deleted.
      ignore_drift    Attributes whose live side is left alone; an edit of the file still
                      applies.
      on_remove       What becomes of the object when its block goes.
      protect         No deletion, no replacement.
      replace         Which comes first when it is replaced.
      timeouts        How long it may take.
    example
      lifecycle: { protect: true, timeouts: { create: 30m } }
    "#);
        insta::assert_snapshot!(shown("volume"), @r#"
    volume
      Block storage that outlives the machine it is attached to.
      written         volume: { NAME: { … } }
      belongs to      a project
      costs a month   price_per_gb_month (volume) × size
      replacement     The new one comes first, then the old one goes; its data is lost for
                      good.
      deletion        its data is lost for good
      takes           about 3 s to create, 2 s to change, 1 s to delete
    attributes
      name          Display name. text, a change replaces
      size          Size in GB; it can only grow. whole number (GB), required
      region        Where it runs; us-east is the only region. one of us-east, default
                    us-east, a change replaces
      billing_type  payg is billed by the hour, subscription by the month, from the account
                    balance first. one of payg, subscription, default payg, a change replaces
      vm            The VM that it is attached to. reference to a vm
    set by the service
      status          available, or in_use while attached. text
      price_per_hour  What an hour costs, in USD. number
      project_id      The id of the project that owns it. text
      created_at      When it was made. RFC 3339 time
      updated_at      When it last changed. RFC 3339 time
    actions (stead do)
      snapshot  Makes a snapshot now. makes a snapshot
      restore   Puts it back to the state of one of its snapshots. restore of what refers to
                it
    requests
      create  POST /api/v1/volumes
      read    GET /api/v1/volumes/{id}
      list    GET /api/v1/volumes
      delete  DELETE /api/v1/volumes/{id}
      resize  PATCH /api/v1/volumes/{id}
      attach  POST /api/v1/volumes/{id}/attach
      detach  POST /api/v1/volumes/{id}/detach
    "#);
    }

    #[test]
    fn every_page_keeps_its_width() {
        let index = explain::index(&REGISTRY);
        let subjects = index.kinds.iter().chain(&index.words).chain(&index.codes).map(|(name, _)| *name);
        for subject in subjects {
            let page = shown(subject);
            assert!(page.lines().all(|line| line.chars().count() <= 90), "{page}");
        }
    }
}
