//! Escaping: for any text, what reaches a terminal, a log or a program is harmless.

use std::time::Duration;

use jiff::Timestamp;
use stead::apply::event::{ApplyEvent, Outcome, StepError};
use stead::cloud::error::ApiError;
use stead::model::address::Address;
use stead::model::diagnostic::Diagnostic;
use stead::model::source::{Source, SourceId, Sources, Span};
use stead::plan::model::due::DueTotal;
use stead::report::json::plan::apply_events;
use stead::report::text::escape;
use stead::report::text::page::{TextLine, TextPage};
use stead::report::text::style::{TextRole, TextStyle};
use stead::report::{diagnostics, json};

use super::output::{assert_harmless, assert_json, is_hostile};

pub fn escape(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let safe = escape::escape_line(&text);
    assert!(!safe.contains('\n'));
    assert!(!safe.chars().any(is_hostile), "{safe:?}");
    assert_eq!(escape::escape_line(&safe), safe, "what is safe stays as it is");
    let source = escape::sanitize_source(&text);
    assert_eq!(source.len(), text.len(), "every span still fits");
    assert!(!source.chars().any(|c| !matches!(c, '\n' | '\t') && is_hostile(c)), "{source:?}");
    assert_eq!(assert_json(&json::to_compact(&text), true), *text, "nothing is lost");
    assert_eq!(assert_json(&json::to_pretty(&[&text]), false)[0], *text, "nothing is lost");
    pages(&text);
    events(&text);
    problem(&text);
}

fn pages(text: &str) {
    for width in [0, 40, 80] {
        let style = TextStyle::plain(width);
        let line = || {
            let line =
                TextLine::indent(2).push_text(text).push_styled(TextRole::Danger, text).to_column(30);
            line.ending_at(20, TextRole::Plain, text).at_end(TextRole::Faint, text)
        };
        let mut page = TextPage::new(style);
        page.add_line(TextLine::indent(0).push_text(text));
        page.add_line(line());
        assert_harmless(&page.finish());
        assert_harmless(&line().to_unwrapped(style));
        assert_harmless(&line().cut_to_width(style));
    }
}

fn events(text: &str) {
    let web = Address::new("vm", "web");
    let refusal = ApiError {
        status: 409,
        error: text.to_owned(),
        message: text.to_owned(),
        reason: Some(text.to_owned()),
    };
    let error = StepError::Refused(refusal);
    let told = [
        ApplyEvent::Recovering { address: web.clone(), text: text.to_owned() },
        ApplyEvent::Retrying { step: Some(1), text: text.to_owned() },
        ApplyEvent::Succeeded {
            step: 1,
            address: web.clone(),
            done: "created",
            id: Some(text.into()),
            took: Duration::MAX,
        },
        ApplyEvent::Failed { step: 1, address: web.clone(), error: error.clone() },
    ];
    for event in &told {
        assert_json(&apply_events::event_line(Timestamp::UNIX_EPOCH, None, event), true);
    }
    let ended = Outcome {
        failed: vec![(web, error)],
        questions: vec![text.to_owned()],
        outputs: [(text.into(), text.into())].into(),
        ..Outcome::default()
    };
    assert_json(&apply_events::outcome_line(Timestamp::UNIX_EPOCH, &ended, &DueTotal::default(), 6), true);
}

/// Renders a diagnostic about a hostile file with a hostile name and hostile messages.
fn problem(text: &str) {
    let mut sources = Sources::default();
    let id: SourceId = sources.add(Source::new(text, text));
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let start = (0..=end / 2).rev().find(|at| text.is_char_boundary(*at as usize)).unwrap_or_default();
    let problem = Diagnostic::error("S0001", text)
        .with_label(Span { source: id, start, end }, text)
        .detail(text)
        .help(text);
    let problems = [problem];
    assert_harmless(&diagnostics::diagnostics_page(&problems, &sources, TextStyle::plain(80)));
    assert_harmless(&diagnostics::diagnostic_lines(&problems, &sources, TextStyle::plain(80)));
    assert_json(&json::diagnostics_document(&problems, &sources), false);
}
