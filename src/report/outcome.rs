//! How an apply ended, in plain words: what was done, what was not and why, and what to do now.

use super::page::{Line, Page};
use super::style::{Role, Sign, Style};
use super::words;
use crate::apply::event::{Outcome, StepError};
use crate::model::address::Address;

/// Addresses that a list names before it counts.
const MOST_NAMED: usize = 20;

/// A failure in plain words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InWords {
    /// What happened, in the service's own words where there are some.
    pub what: String,
    /// What that means.
    pub means: &'static str,
    /// What to do.
    pub next: &'static str,
}

/// Returns a failure in plain words.
#[must_use]
pub fn in_words(error: &StepError) -> InWords {
    let (means, next) = match error {
        StepError::Refused(refusal) => {
            return refused(refusal.status, &refusal.error, &refusal.message, refusal.reason.as_deref());
        }
        StepError::Moved(_) => (
            "The object is not as the plan saw it, so it was left alone.",
            "Plan again and look at the difference.",
        ),
        StepError::Unsettled(_) => (
            "The service took the request, but the object did not reach a usable state.",
            "Look at it with `stead get`; apply again goes on from there. lifecycle.timeouts gives it more time.",
        ),
        StepError::Question(_) => (
            "Nobody can tell what became of the request, and guessing could make a second object.",
            "Look at the candidates that are named, and say it: stead resolve.",
        ),
        StepError::Displaced(_) => (
            "Someone else has the ledger, or may have it before a request is answered.",
            "Wait for them to end, then plan again.",
        ),
        StepError::Ledger(_) => (
            "The ledger could not be written, so nothing more was sent.",
            "Make room or give access, then apply again: it first settles what was under way.",
        ),
        StepError::Failed(_) => {
            ("stead could not go on with this resource.", "Mend the cause, then apply again.")
        }
        StepError::Unreachable(_) => {
            ("The service could not be reached.", "Check the network and --api-url, then apply again.")
        }
    };
    InWords { what: error.to_string(), means, next }
}

/// Returns a refusal of the service in plain words.
#[must_use]
pub fn refused(status: u16, error: &str, message: &str, reason: Option<&str>) -> InWords {
    let reason_text = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let own = match (error.is_empty(), message.is_empty()) {
        (_, false) => message,
        (false, true) => error,
        (true, true) => "no message",
    };
    let (means, next) = advice(status, reason);
    InWords { what: format!("{status} {own}{reason_text}"), means, next }
}

/// What a status means here, and what to do.
const fn advice(status: u16, reason: Option<&str>) -> (&'static str, &'static str) {
    match (status, reason) {
        (400 | 422, _) => (
            "The service finds the request wrong, and stead did not foresee it.",
            "Correct the value that the message names; if `stead validate` should have said so, please report it.",
        ),
        (401, _) => (
            "The service does not know this API key, or the key has expired or been revoked.",
            "Set STEAD_API_KEY to a valid key.",
        ),
        (402, _) => (
            "The account cannot pay for this: its balance is too low, or no card can be charged.",
            "Add funds or a card, then apply again: it goes on where it stopped.",
        ),
        (403, Some(_)) => {
            ("The account's billing details were refused.", "Update the payment method, then apply again.")
        }
        (403, None) => (
            "This key's role does not allow the request, or the project is not one of the key's.",
            "Use a key with a role that may do it, or the right --project.",
        ),
        (404, _) => (
            "The object is not there any more, or belongs to another project.",
            "Plan again: it shows what is gone.",
        ),
        (409, _) => (
            "It clashes with something that exists: a name is taken, or the object is busy.",
            "Choose another name or wait for the other change, then plan again.",
        ),
        (412, _) => (
            "The service asks for something else first, such as room under the spend cap.",
            "Do what the message says (raise or lift the cap), then apply again.",
        ),
        (429, _) => (
            "Requests came faster than the key's tier allows, for longer than stead waits.",
            "Someone else uses the same account: wait, then apply again with a lower --parallel.",
        ),
        (501, _) => ("The service does not offer this.", "Take it out of the configuration."),
        (503, _) => (
            "The service has no room for this at the moment; it was asked more than once where that is safe.",
            "Wait a few minutes, then apply again: it goes on where it stopped.",
        ),
        (500..=599, _) => (
            "Something broke inside the service.",
            "Apply again: stead first finds out whether the request had an effect.",
        ),
        _ => ("The service refused the request.", "See its message."),
    }
}

/// How the page ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ending<'a> {
    /// How long the apply took, in words.
    pub took: Option<&'a str>,
    /// Leave the hint about the next step out.
    pub quiet: bool,
}

/// Returns the page at the end of an apply: totals, failures in plain words, outputs, the next step.
#[must_use]
pub fn page(outcome: &Outcome, ending: Ending<'_>, style: Style) -> String {
    let mut page = Page::new(style);
    page.line(head(outcome, ending, style));
    for (address, error) in &outcome.failed {
        failure(&mut page, address, error);
    }
    for question in &outcome.questions {
        page.line(
            Line::indent(2).put(Role::Warn, page.sign(Sign::Question)).say("  ").say(question).hanging(5),
        );
    }
    for note in &outcome.notes {
        page.line(Line::indent(2).put(Role::Warn, page.sign(Sign::Bang)).say("  ").say(note).hanging(5));
    }
    if !outcome.failed.is_empty() || !outcome.skipped.is_empty() {
        names(&mut page, "done", &outcome.done);
        names(&mut page, "skipped", &outcome.skipped);
    }
    outputs(&mut page, outcome);
    if let (Some(next), false) = (next(outcome), ending.quiet) {
        page.line(Line::indent(0).put(Role::Faint, "next: ").say(next));
    }
    page.finish()
}

fn head(outcome: &Outcome, ending: Ending<'_>, style: Style) -> Line {
    let open = !outcome.questions.is_empty() || !outcome.notes.is_empty();
    let whole = outcome.failed.is_empty() && outcome.skipped.is_empty() && !open;
    let (role, word) = match (whole, outcome.interrupted, outcome.done.is_empty()) {
        (_, true, _) => (Role::Warn, "Interrupted"),
        (true, false, _) => (Role::Good, "Applied"),
        (false, false, false) => (Role::Danger, "Partly applied"),
        (false, false, true) => (Role::Danger, "Failed"),
    };
    let counts = [
        (outcome.done.len(), "done"),
        (outcome.failed.len(), "failed"),
        (outcome.skipped.len(), "skipped"),
    ];
    let mut line = Line::indent(0).put(role, word);
    let shown = counts.iter().enumerate().filter(|(at, (count, _))| *at == 0 || *count > 0);
    for (at, (count, word)) in shown {
        let sign = if at == 0 { ":" } else { "," };
        line = line.say(format!("{sign} {count} {word}"));
    }
    match ending.took {
        Some(took) => line.put(Role::Faint, format!(" {} {took}", style.sign(Sign::Dot))),
        None => line,
    }
}

fn failure(page: &mut Page, address: &Address, error: &StepError) {
    let words = in_words(error);
    let column = if page.style().unicode { 4 } else { 5 };
    page.line(
        Line::indent(2)
            .put(Role::Danger, page.sign(Sign::Cross))
            .to_column(column)
            .put(Role::Strong, address.as_str())
            .say("  ")
            .say(words.what)
            .hanging(6),
    );
    page.line(Line::indent(6).say(words.means).hanging(6));
    page.line(Line::indent(6).put(Role::Faint, words.next).hanging(6));
}

fn names(page: &mut Page, word: &str, addresses: &[Address]) {
    if addresses.is_empty() {
        return;
    }
    let text = words::list(addresses.iter().map(Address::as_str), MOST_NAMED);
    page.line(Line::indent(2).put(Role::Faint, word).to_column(11).say(text).hanging(11));
}

fn outputs(page: &mut Page, outcome: &Outcome) {
    if outcome.outputs.is_empty() {
        return;
    }
    page.line(Line::indent(0).put(Role::Strong, "Outputs"));
    let column = 4 + outcome.outputs.keys().map(|name| super::page::width(name)).max().unwrap_or(0).min(32);
    for (name, value) in &outcome.outputs {
        page.line(Line::indent(2).say(name).to_column(column).say(words::value(value)).hanging(column));
    }
}

fn next(outcome: &Outcome) -> Option<&'static str> {
    match (outcome.interrupted, outcome.failed.is_empty(), outcome.skipped.is_empty()) {
        (true, ..) => Some("stead apply goes on where it stopped"),
        (false, false, _) | (false, _, false) => {
            Some("mend what failed, then stead apply: it does the rest only")
        }
        (false, true, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::client::Refusal;
    use crate::model::secret::Secret;
    use crate::model::value::Value;

    fn refusal(status: u16, reason: Option<&str>) -> StepError {
        StepError::Refused(Refusal {
            status,
            error: "payment required".into(),
            message: "Insufficient\u{1b}[2J balance".into(),
            reason: reason.map(Into::into),
        })
    }

    #[test]
    fn a_whole_apply_is_short() {
        let outcome = Outcome {
            done: vec![Address::new("vm", "web"), Address::new("vpc", "main")],
            outputs: [
                ("url".into(), Value::text("https://shop.example.com")),
                ("password".into(), Value::Secret(Secret::new("canary"))),
            ]
            .into(),
            ..Outcome::default()
        };
        insta::assert_snapshot!(page(&outcome, Ending { took: Some("1m52s"), quiet: false }, Style::plain(80)), @r"
        Applied: 2 done · 1m52s
        Outputs
          password  (secret)
          url       https://shop.example.com
        ");
    }

    #[test]
    fn a_partial_apply_says_what_why_and_what_now() {
        let outcome = Outcome {
            done: vec![Address::new("vpc", "main")],
            failed: vec![
                (Address::new("vm", "web"), refusal(402, None)),
                (Address::new("database", "main"), StepError::Unsettled("status failed: no room".into())),
            ],
            skipped: vec![Address::new("volume", "media")],
            questions: vec!["Which of vm-1 and vm-2 is vm.api?".into()],
            ..Outcome::default()
        };
        insta::assert_snapshot!(page(&outcome, Ending::default(), Style::plain(80)), @r"
        Partly applied: 1 done, 2 failed, 1 skipped
          ✗ vm.web  402 Insufficient\u{1b}[2J balance
              The account cannot pay for this: its balance is too low, or no card can be
              charged.
              Add funds or a card, then apply again: it goes on where it stopped.
          ✗ database.main  status failed: no room
              The service took the request, but the object did not reach a usable state.
              Look at it with `stead get`; apply again goes on from there.
              lifecycle.timeouts gives it more time.
          ?  Which of vm-1 and vm-2 is vm.api?
          done     vpc.main
          skipped  volume.media
        next: mend what failed, then stead apply: it does the rest only
        ");
        let quiet = page(&outcome, Ending { quiet: true, ..Ending::default() }, Style::plain(80));
        assert!(!quiet.contains("next:"));
    }

    #[test]
    fn every_refusal_says_what_it_means_and_what_to_do() {
        let mut seen = std::collections::BTreeSet::new();
        for status in [400, 401, 402, 403, 404, 409, 412, 429, 500, 501, 503] {
            let words = in_words(&refusal(status, None));
            assert!(words.what.starts_with(&status.to_string()) && words.what.contains("Insufficient"));
            assert!(words.means.ends_with('.') && words.next.ends_with('.'));
            assert!(seen.insert(words.means), "{status}");
        }
        assert_ne!(in_words(&refusal(403, Some("banned"))).next, in_words(&refusal(403, None)).next);
        assert_eq!(
            in_words(&refusal(403, Some("banned"))).what,
            "403 Insufficient\u{1b}[2J balance (banned)"
        );
        assert_eq!(refused(418, "", "", None).what, "418 no message");
    }
}
