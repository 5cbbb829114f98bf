//! Markdown for a comment of a pull request: what a reviewer must know first, and at most what GitHub
//! takes. Text that others wrote stands in fences, or in `<code>` with everything written out that
//! Markdown, HTML or a forge would read.

use std::fmt::Write as _;

use super::mermaid;
use super::view::{self, Reviewed};
use crate::model::source::Place;
use crate::plan::model::change::{Action, AttributeChange, Change, Drift, RulingVerdict};
use crate::report::move_groups::{self, Told};
use crate::report::run_report::Ran;
use crate::report::text::style::Style;
use crate::report::text::{escape, phrases};
use crate::report::views::drift::{key, key_of_object, meaning, name, object_name, since};
use crate::report::views::list::Listed;

/// Bytes of a comment. GitHub takes 65,536 characters.
const MOST: usize = 65_000;

/// Bytes up to which the table of changes grows: the rest is for their attributes.
const MOST_OF_TABLE: usize = 24_000;

/// Warnings above the table, and their bytes.
const MOST_ALERTS: usize = 20;
const MOST_OF_ALERTS: usize = 16_000;

/// Attributes in a row of the table.
const MOST_IN_ROW: usize = 3;

/// Characters of a value in the table, and of one in a sentence.
const MOST_OF_VALUE: usize = 60;

/// Characters of a text that others wrote.
const MOST_OF_TEXT: usize = 600;

/// Characters of a value in a difference.
const MOST_IN_DIFF: usize = 2_000;

/// Steps of a flow chart that can still be read.
const MOST_STEPS: usize = 60;

/// Returns the comment.
pub(super) fn plan(of: &Reviewed<'_>) -> String {
    let foot = foot(of);
    let mut page = Page { text: head(of), room: MOST - foot.len() };
    told(&mut page, &alerts(of));
    table(&mut page, of);
    fields(&mut page, of);
    drift(&mut page, of);
    unmanaged(&mut page, of);
    order(&mut page, of);
    page.text + &foot
}

/// A text that grows while there is room.
struct Page {
    text: String,
    room: usize,
}

impl Page {
    /// Adds a piece as a whole or, where it has no room, not at all.
    fn add(&mut self, piece: &str) -> bool {
        let fits = self.text.len() + piece.len() <= self.room;
        if fits {
            self.text.push_str(piece);
        }
        fits
    }
}

/// Returns the name of a stack's environment as a comment's hidden first line holds it: `<!-- stead:shop/prod -->`.
#[must_use]
pub fn marked(title: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-./_".contains(c);
    let marked: String = title.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    // Two dashes could end a comment, or keep it from being one.
    marked.replace("--", "-_")
}

/// Returns the hidden first line of a report, by which its comment is found again.
#[must_use]
pub fn marker_of(report: &str) -> Option<&str> {
    let line = report.lines().next()?.trim_end();
    (line.starts_with("<!-- stead:") && line.ends_with(" -->")).then_some(line)
}

/// Returns the fingerprint of the plan that a report is of, from its last line: all of its 64 digits.
#[must_use]
pub fn fingerprint_of(report: &str) -> Option<&str> {
    let last = report.trim_end().lines().next_back()?.strip_prefix("<sub>`")?;
    let (fingerprint, _) = last.split_once('`')?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (fingerprint.len() == 64 && fingerprint.bytes().all(is_digit)).then_some(fingerprint)
}

fn head(of: &Reviewed<'_>) -> String {
    let title = of.title();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-./".contains(c);
    let marker = marked(&title);
    let shown = if title.chars().all(plain) { title } else { code(&title) };
    let mut facts = of.facts();
    if of.plan.base.destroy {
        facts.insert(0, "destroys everything unprotected".to_owned());
    }
    let sign = of.verdict().sign();
    format!("<!-- stead:{marker} -->\n### {sign} stead · {shown} · {}\n\n", facts.join(" · "))
}

/// What an apply did not do, and what it asks.
fn ran(of: &Reviewed<'_>, ran: &Ran<'_>) -> Vec<String> {
    let mut alerts: Vec<String> = Vec::new();
    for (address, why) in ran.failures(of.plan.base.destroy) {
        let said = [&why.what, why.means, &why.next].map(prose).join(" ");
        alerts.push(format!("> ⛔ **{} failed**: {said}\n", code(address.as_str())));
    }
    alerts
        .extend(ran.outcome.questions.iter().map(|asked| format!("> ❗ **question** {}\n", prose(asked))));
    alerts.extend(ran.outcome.notes.iter().map(|note| format!("> 🔷 {}\n", prose(note))));
    alerts
}

/// What keeps the plan from being applied, and what is dangerous in it; of an apply, what it did not do.
fn alerts(of: &Reviewed<'_>) -> Vec<String> {
    let mut alerts: Vec<String> = of.ran().map(|done| ran(of, done)).unwrap_or_default();
    for block in of.blocks().filter(|_| of.ran().is_none()) {
        let subject = block.address.as_ref().map(|address| format!(" {}", code(address.as_str())));
        let place = at(of, block.source.as_ref());
        alerts.push(format!(
            "> ⛔ **{}**{}: {}{} {}\n",
            prose(&block.code),
            subject.unwrap_or_default(),
            prose(&block.text),
            place,
            prose(&block.help)
        ));
    }
    for ruling in of.denials() {
        let sign = if ruling.verdict == RulingVerdict::Deny { "⛔" } else { "❗" };
        let subject = ruling.address.as_ref().map(|address| format!(" {}", code(address.as_str())));
        let place = at(of, ruling.source.as_ref());
        alerts.push(format!(
            "> {sign} **policy {}** {}{}: {}{}\n",
            prose(&ruling.name),
            view::verdict_word(ruling.verdict),
            subject.unwrap_or_default(),
            prose(&ruling.message),
            place
        ));
    }
    for note in view::notes(of.plan) {
        let place = at(of, note.source.as_ref());
        alerts.push(format!("> 🔷 {}{place} {}\n", prose(&note.text), prose(&note.help)));
    }
    let dangerous =
        of.plan.changes.iter().filter(|change| of.ran().is_none() && view::is_dangerous(change));
    alerts.extend(dangerous.map(|change| danger(of, change)));
    alerts
}

/// Adds the alerts for which there is room.
fn told(page: &mut Page, alerts: &[String]) {
    let count = alerts.len();
    let has_room = |page: &Page| page.text.len() < MOST_OF_ALERTS;
    let shown = alerts
        .iter()
        .take(MOST_ALERTS)
        .take_while(|alert| has_room(page) && page.add(&format!("{alert}>\n")))
        .count();
    if count > shown {
        page.add(&format!("> and {} more, in the table\n", count - shown));
    }
    if count > 0 {
        page.add("\n");
    }
}

fn danger(of: &Reviewed<'_>, change: &Change) -> String {
    let verb = match change.action {
        Action::Replace => "is replaced",
        Action::Delete => "is deleted",
        _ => "is touched",
    };
    let mut said: Vec<String> = change.reason.iter().map(|reason| prose(reason)).collect();
    said.extend(view::effects(change).map(|effect| prose(&effect.text)));
    if !change.hits.is_empty() {
        said.push(format!("felt by {}", code(&view::hits(change, 8))));
    }
    let place = at(of, view::decided_at(change));
    format!("> ❗ **{} {verb}**{place} {}\n", code(change.address.as_str()), said.join("; "))
}

/// Returns a place behind a blank; nothing where there is none.
fn at(of: &Reviewed<'_>, place: Option<&Place>) -> String {
    place.map(|place| format!(" {}", code(&of.place(place)))).unwrap_or_default()
}

fn table(page: &mut Page, of: &Reviewed<'_>) {
    let (changes, start) = (&of.plan.changes, page.text.len());
    let (title, rule) = if of.ran().is_some() { (" outcome |", "---|") } else { ("", "") };
    let head = format!("| | resource | change | $/mo |{title}\n|---|---|---|---:|{rule}\n");
    if changes.is_empty() || !page.add(&head) {
        return;
    }
    let lines = if of.ran().is_some() {
        changes.iter().map(Told::One).collect()
    } else {
        move_groups::told(changes)
    };
    let mut shown = 0;
    for line in &lines {
        let row = match line {
            Told::One(change) => row(of, change),
            Told::Module(_, module, count) => {
                let sign = phrases::sign(Action::Move, Style::plain(80));
                let count = phrases::counted(*count, "resource");
                format!("| {sign} | {} | {count}, was {} | |\n", code(&module.to), code(&module.from))
            }
        };
        if page.text.len() + row.len() > start + MOST_OF_TABLE || !page.add(&row) {
            break;
        }
        shown += 1;
    }
    if shown < lines.len() {
        let rest = lines.iter().skip(shown).map(Told::count).sum();
        let rest = phrases::counted(rest, "resource");
        page.add(&format!("| … | **{rest} more** | left out here, the dangerous ones come first | |\n"));
    }
    page.add("\n");
}

fn row(of: &Reviewed<'_>, change: &Change) -> String {
    let fate = of.ran().map(|ran| format!(" {} |", prose(&ran.fate(change).told()))).unwrap_or_default();
    format!(
        "| {} | {} | {} | {} |{fate}\n",
        phrases::sign(change.action, Style::plain(80)),
        code(change.address.as_str()),
        brief(change),
        view::price(change)
    )
}

/// Says in a cell what changes.
fn brief(change: &Change) -> String {
    if !matches!(change.action, Action::Create | Action::Update | Action::Replace | Action::Adopt) {
        return prose(&view::headline(change));
    }
    let mut said: Vec<String> = change.attributes.iter().take(MOST_IN_ROW).map(cell).collect();
    let rest = change.attributes.len().saturating_sub(MOST_IN_ROW);
    if rest > 0 {
        said.push(format!("{rest} more"));
    }
    if said.is_empty() { phrases::action(change.action).to_owned() } else { said.join(", ") }
}

fn cell(attribute: &AttributeChange) -> String {
    let short = |text: String| code(&phrases::shortened(text, MOST_OF_VALUE, Style::plain(80)));
    let path = prose(&attribute.path);
    match view::sides(attribute) {
        (None, Some(new)) => format!("{path} {}", short(new)),
        (Some(old), Some(new)) => format!("{path} {} → {}", short(old), short(new)),
        (Some(old), None) => format!("{path} {} → not set", short(old)),
        (None, None) => path,
    }
}

/// Everything, attribute by attribute, in fences.
fn fields(page: &mut Page, of: &Reviewed<'_>) {
    let changes = &of.plan.changes;
    if changes.is_empty() {
        return;
    }
    let all = phrases::counted(changes.len(), "resource");
    let opening = format!("<details><summary>{all}, attribute by attribute</summary>\n\n");
    let closing = "\n</details>\n\n";
    let room = page.room.saturating_sub(page.text.len() + opening.len() + closing.len() + 200);
    let mut text = String::new();
    let fits = |piece: &String| text.len() + piece.len() < room && push(&mut text, piece);
    let shown = changes.iter().map(|change| difference(of, change)).take_while(fits).count();
    if shown == 0 {
        return;
    }
    let mut piece = opening + &fenced(&text);
    if shown < changes.len() {
        let rest = phrases::counted(changes.len() - shown, "resource");
        let _ = writeln!(piece, "{rest} more did not fit; the reports `html` and `json` have them all.");
    }
    if !page.add(&(piece + closing)) {
        page.add(&format!("{all}, attribute by attribute, did not fit; the report `html` has them.\n\n"));
    }
}

fn difference(of: &Reviewed<'_>, change: &Change) -> String {
    let place = change.source.as_ref().map(|place| of.place(place)).unwrap_or_default();
    let mut text = format!(
        "{} {}  {}   {}",
        phrases::sign(change.action, Style::plain(80)),
        change.address,
        escape::line(&view::headline(change)),
        escape::line(&place)
    );
    text.truncate(text.trim_end().len());
    text.push('\n');
    for attribute in &change.attributes {
        let (old, new) = view::sides(attribute);
        for (sign, side) in [('-', old), ('+', new)] {
            let Some(side) = side else { continue };
            let side = phrases::shortened(side, MOST_IN_DIFF, Style::plain(80));
            for (at, line) in side.split('\n').enumerate() {
                let lead = if at == 0 { format!("{}: ", attribute.path) } else { "    ".to_owned() };
                let _ = writeln!(text, "{sign}   {}{}", escape::line(&lead), escape::line(line));
            }
        }
    }
    text
}

fn drift(page: &mut Page, of: &Reviewed<'_>) {
    let (open, settled) = of.drift();
    if open.is_empty() && settled.is_empty() {
        return;
    }
    let line = |drift: &&Drift| {
        let values = view::drift_values(drift)
            .map_or(" is gone".to_owned(), |(old, new)| format!(": {old} → {new}"));
        let values = phrases::shortened(values, MOST_IN_DIFF, Style::plain(80));
        let place = drift.source.as_ref().map(|place| of.place(place)).unwrap_or_default();
        let meaning = meaning(drift, Style::plain(80));
        let since = of.look().and_then(|found| since(found.memory, &key(drift)));
        let since = since.map(|since| format!(" · {since}")).unwrap_or_default();
        let said = format!("{}{values}   {meaning}{since}   {place}", name(drift));
        format!("{}\n", escape::line(said.trim_end()))
    };
    let said = format!("{} to decide, {} left alone", open.len(), settled.len());
    let mut piece = format!("<details><summary>Drift: {said}</summary>\n\n");
    let lines: Vec<String> = open.iter().chain(&settled).map(line).collect();
    let room = page.room.saturating_sub(page.text.len() + 200);
    let mut shown = String::new();
    let count =
        lines.iter().take_while(|line| shown.len() + line.len() < room && push(&mut shown, line)).count();
    piece.push_str(&fenced(&shown));
    if count < lines.len() {
        let _ = writeln!(piece, "{} more did not fit.", lines.len() - count);
    }
    if !page.add(&(piece + "\n</details>\n\n")) {
        page.add(&format!("Drift: {said}; it did not fit, the report `html` has it.\n\n"));
    }
}

/// What a look found that nobody manages, and what is not there any more.
fn unmanaged(page: &mut Page, of: &Reviewed<'_>) {
    let Some(found) = of.look() else { return };
    let row = |object: &Listed| {
        let price = object.monthly.filter(|price| !price.is_zero());
        let price = price.map(|price| format!("   {} a month", phrases::money(price))).unwrap_or_default();
        let since = since(found.memory, &key_of_object(object));
        let since = since.map(|since| format!("   {since}")).unwrap_or_default();
        format!("{}{price}{since}", object_name(object))
    };
    let rows: Vec<String> = found.unmanaged.iter().map(row).collect();
    folded(page, &format!("Unmanaged: {}", phrases::counted(rows.len(), "object")), &rows);
    let gone: Vec<String> = found.memory.resolved.iter().map(|gone| gone.name.clone()).collect();
    folded(page, &format!("Resolved since the last look: {}", gone.len()), &gone);
    if let Some(told) = found.elsewhere.told() {
        page.add(&format!("{told}\n\n"));
    }
}

/// Adds lines that others wrote, folded away, as far as there is room.
fn folded(page: &mut Page, title: &str, lines: &[String]) {
    let room = page.room.saturating_sub(page.text.len() + title.len() + 200);
    let mut shown = String::new();
    let fits = |line: &&String| {
        let line = format!("{}\n", escape::line(line));
        shown.len() + line.len() < room && push(&mut shown, &line)
    };
    let count = lines.iter().take_while(fits).count();
    if count == 0 {
        return;
    }
    let rest = lines.len() - count;
    let rest = if rest > 0 { format!("{rest} more did not fit.\n") } else { String::new() };
    page.add(&format!("<details><summary>{title}</summary>\n\n{}{rest}\n</details>\n\n", fenced(&shown)));
}

fn push(text: &mut String, line: &str) -> bool {
    text.push_str(line);
    true
}

fn order(page: &mut Page, of: &Reviewed<'_>) {
    if of.plan.steps.is_empty() || of.plan.steps.len() > MOST_STEPS {
        return;
    }
    let chart = mermaid::plan(of.plan);
    page.add(&format!("<details><summary>Order</summary>\n\n```mermaid\n{chart}```\n\n</details>\n\n"));
}

fn foot(of: &Reviewed<'_>) -> String {
    let commit = of.commit.map(|commit| format!(" · commit {}", code(&commit[..commit.len().min(7)])));
    let cost = &of.plan.cost;
    let bill = if cost.monthly_before.is_zero() && cost.monthly_after.is_zero() {
        String::new()
    } else {
        format!(
            " · {} → {} a month",
            phrases::money(cost.monthly_before),
            phrases::money(cost.monthly_after)
        )
    };
    let fingerprint = code(&of.plan.fingerprint);
    let next = of.command.filter(|_| {
        of.ran().is_none() && !of.plan.steps.is_empty() && of.verdict() != view::Verdict::Blocked
    });
    let next = next.map(|command| format!(" · after the merge: {}", code(command))).unwrap_or_default();
    format!("<sub>{fingerprint}{}{bill}{next}</sub>\n", commit.unwrap_or_default())
}

/// Returns text in a fence that nothing in it can end.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}diff\n{text}{fence}\n")
}

/// Returns a short text as code: nothing in it is read as anything else.
fn code(text: &str) -> String {
    let safe = escape::line(text);
    if safe.contains(['`', '|']) || safe.trim() != safe || safe.is_empty() {
        return format!("<code>{}</code>", literal(&safe));
    }
    format!("`{safe}`")
}

/// Returns a sentence that others wrote. One that could name a person or an issue stands as code.
fn prose(text: &str) -> String {
    let text = phrases::shortened(text.to_owned(), MOST_OF_TEXT, Style::plain(80));
    let calls =
        text.contains(['@', '#', '!']) || text.to_ascii_lowercase().contains("gh-") || text.contains("://");
    if calls { code(&text) } else { literal(&text) }
}

/// Returns text in one line with every sign that Markdown or HTML could read written by its number.
fn literal(text: &str) -> String {
    let safe = escape::line(text);
    let mut out = String::with_capacity(safe.len());
    for (at, c) in safe.char_indices() {
        let before = safe[..at].chars().next_back();
        let after = safe[at + c.len_utf8()..].chars().next();
        let plain = match c {
            // A link begins at `www.`, whatever stands around it.
            '.' => {
                !safe[..at].get(at.saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("www"))
            }
            '_' => before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric),
            ':' => after == Some(' '),
            c => c.is_alphanumeric() || !c.is_ascii() || " ,-%+;()/=?'\"".contains(c),
        };
        if plain {
            out.push(c);
        } else {
            let _ = write!(out, "&#{};", u32::from(c));
        }
    }
    out
}
