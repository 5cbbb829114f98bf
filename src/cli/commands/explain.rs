//! `stead explain SUBJECT`: what stead knows of a kind, an attribute, a word or a code.

use serde::Serialize;

use crate::cli::args::Explain;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::editor::explain::{
    self, AttributePage, AttributeRow, CodePage, Index, KindPage, Operation, Page as Explanation, WordPage,
};
use crate::kinds::REGISTRY;
use crate::report::json;
use crate::report::page::{Line, Page};
use crate::report::style::{Role, Style};

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
    }
    page.finish()
}

/// Where what is said of a name begins.
const COLUMN: usize = 18;
/// The widest name that is not followed by a line break.
const WIDEST: usize = 26;

fn contents(index: &Index, style: Style) -> String {
    let mut page = Page::new(style);
    for (heading, rows) in [("kinds", &index.kinds), ("words", &index.words), ("codes", &index.codes)] {
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
        line = line.say(row.summary).put(Role::Faint, format!(" {}", row.ty));
        if row.required {
            line = line.put(Role::Warn, ", required");
        }
        if let Some(default) = &row.default {
            line = line.put(Role::Faint, format!(", default {default}"));
        }
        if row.replaces {
            line = line.put(Role::Warn, ", a change replaces");
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
    title(page, word.word, word.summary);
    heading(page, "example");
    snippet(page, word.example, Role::Good);
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
        assert!(shown("database.storage_gb").starts_with("database.storage_gb"));
        assert!(shown("R0301").starts_with("R0301"));
        assert!(shown("lifecycle").starts_with("lifecycle"));
        assert!(shown("volume").starts_with("volume"));
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
