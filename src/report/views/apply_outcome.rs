//! The end of an apply as text: what was done, what failed and why, and the next step.

use std::collections::BTreeMap;

use crate::apply::event::{ApiError, Outcome, StepError};
use crate::model::address::Address;
use crate::plan::model::due::DueTotal;
use crate::report::text::page::{TextLine, TextPage, display_width};
use crate::report::text::phrases::{self, DueStatement};
use crate::report::text::policy_results::add_policy_outcomes;
use crate::report::text::style::{Symbol, TextRole, TextStyle};

/// How many addresses a list names before it counts the rest.
const MAX_LISTED_ADDRESSES: usize = 20;

/// The operation in which a failure occurred; it determines the advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureContext {
    /// A step of an apply.
    Apply,
    /// A step of `stead destroy`.
    Destroy,
    /// Reading live objects, without intended changes.
    Read,
    /// A one-off action on an object.
    Action,
}

impl FailureContext {
    /// Returns how to continue, as part of a sentence.
    const fn retry_phrase(self) -> &'static str {
        match self {
            Self::Apply => "apply again: it continues where it stopped",
            Self::Destroy => "destroy again: it deletes the remaining objects",
            Self::Read => "run this again",
            Self::Action => "repeat it",
        }
    }
}

/// A failure with an explanation and a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureText {
    /// What happened, with the service's own message if there is one.
    pub what: String,
    /// What the failure means, as a sentence.
    pub means: &'static str,
    /// What the user can do about it.
    pub next: String,
}

/// Returns the explanation of a failed step of an apply.
#[must_use]
pub fn in_words(error: &StepError) -> FailureText {
    describe_failure(error, FailureContext::Apply)
}

/// Returns the explanation of a failed step.
pub(in crate::report) fn describe_failure(error: &StepError, occasion: FailureContext) -> FailureText {
    let (means, next) = match error {
        StepError::NotGranted { refusal, written } => {
            let next = format!(
                "Ask the service's support to grant it, or write another value than `{written}`, then {}.",
                occasion.retry_phrase()
            );
            let means = "Only the service's support grants this value; the key's role is not the reason.";
            return FailureText { what: describe_refusal(refusal, occasion).what, means, next };
        }
        StepError::Refused(refusal) | StepError::ServerError(refusal) => {
            return describe_refusal(refusal, occasion);
        }
        StepError::ObjectChanged(_) => (
            "The object changed after the plan was made, so stead did not change it.",
            "Plan again and look at the difference.",
        ),
        StepError::NotKept(_) => (
            "The service took the request and shows another value. The object is in the ledger.",
            "Write the value that the service keeps, list the attribute under `lifecycle.ignore_drift`, or remove it.",
        ),
        StepError::NotReady(_) => (
            "The service took the request, but the object did not reach a usable state.",
            "Inspect it with `stead get`; the next run continues from there. lifecycle.timeouts sets a longer timeout.",
        ),
        StepError::Ambiguous(_) => (
            "The outcome of the request is not known, and a guess could create a second object.",
            "Inspect the candidates that are listed, then resolve it: stead resolve.",
        ),
        StepError::LeaseLost(_) => (
            "Another process holds the ledger's lock, or may take it before a request is answered.",
            "Wait until it ends, then plan again.",
        ),
        StepError::Ledger(_) => (
            "The ledger could not be written, so nothing more was sent.",
            "Free space or grant access, then run it again: it first resolves the open requests.",
        ),
        StepError::Denied(_) => (
            "A policy denies it, with values that were not known when the plan was made. Nothing was sent for this resource.",
            "Change what the policy denies; one that is not mandatory is overridden by --override NAME --reason TEXT.",
        ),
        StepError::Failed(_) => {
            ("stead could not continue with this resource.", "Fix the cause, then run it again.")
        }
        StepError::Unreachable(_) => (
            "The service sent no usable response.",
            "Check the network and the service's address, then run it again: it first checks the outcome of the request.",
        ),
    };
    FailureText { what: error.to_string(), means, next: next.to_owned() }
}

/// Returns the explanation of an error response from the service.
#[must_use]
pub fn describe_refusal(refusal: &ApiError, occasion: FailureContext) -> FailureText {
    let ApiError { status, error, message, reason } = refusal;
    let own = match (error.is_empty(), message.is_empty()) {
        (_, false) => message,
        (false, true) => error,
        (true, true) => "no message",
    };
    let reason_text = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    FailureText {
        what: format!("{status} {own}{reason_text}"),
        means: status_meaning(*status, reason.is_some()),
        next: status_advice(*status, reason.is_some(), occasion),
    }
}

/// Returns the meaning of an HTTP status.
const fn status_meaning(status: u16, billing: bool) -> &'static str {
    match (status, billing) {
        (400 | 422, _) => "The service rejected the request as invalid, which stead did not detect before.",
        (401, _) => "The service does not know this API key, or the key has expired or been revoked.",
        (402, _) => "The account cannot pay for this: its balance is too low, or no card can be charged.",
        (403, true) => "The account's billing details were refused.",
        (403, false) => {
            "This key's role does not allow the request, or the project is not one of the key's."
        }
        (404, _) => "The object, or one that it refers to, no longer exists, or is in another project.",
        (409, _) => {
            "It conflicts with what the message names: a name is taken, or an object is busy or in use."
        }
        (412, _) => "The service requires something else first, such as room under the spend cap.",
        (429, _) => "Requests came faster than the key's tier allows, for longer than stead waits.",
        (501, _) => "The service does not offer this.",
        (503, _) => "The service has no room for this at the moment; stead retried where that is safe.",
        (500..=599, _) => "An error occurred inside the service: the request is not the cause.",
        _ => "The service refused the request.",
    }
}

/// Returns the remedy for an HTTP status.
fn status_advice(status: u16, billing: bool, occasion: FailureContext) -> String {
    let again = occasion.retry_phrase();
    let missing = match occasion {
        FailureContext::Apply | FailureContext::Destroy | FailureContext::Read => {
            "Plan again: it shows what is gone."
        }
        FailureContext::Action => "Check the id and the project: stead ls lists the objects.",
    };
    let wrong = match occasion {
        FailureContext::Apply => {
            "Correct the value that the message names; if `stead validate` should have detected it, please report it."
        }
        FailureContext::Destroy | FailureContext::Read => {
            "If the message names nothing that you gave, please report it."
        }
        FailureContext::Action => "Correct the option that the message names, then repeat it.",
    };
    match (status, billing) {
        (400 | 422, _) => wrong.to_owned(),
        (401, _) => "Give a valid key: stead login, or STEAD_API_KEY.".to_owned(),
        (402, _) => format!("Add funds or a card, then {again}."),
        (403, true) => format!("Update the payment method, then {again}."),
        (403, false) => "Use a key with a role that may do it, or the right --project.".to_owned(),
        (404, _) => missing.to_owned(),
        (409, _) if occasion == FailureContext::Destroy => {
            format!("Wait until nothing uses the object any more, or remove what uses it, then {again}.")
        }
        (409, _) => format!("Give it another name, or wait until the object is free, then {again}."),
        (412, _) => format!("Do what the message says (raise or lift the cap), then {again}."),
        (429, _) => format!("Something else may use the same key: wait a minute, then {again}."),
        (501, _) => match occasion {
            FailureContext::Apply => "Remove it from the configuration.".to_owned(),
            FailureContext::Destroy | FailureContext::Read | FailureContext::Action => {
                "There is no remedy for this in stead.".to_owned()
            }
        },
        (503, _) => format!("Wait a few minutes, then {again}."),
        (500..=599, _) => {
            format!("Wait a little, then {again}. If it persists, only the service's support can help.")
        }
        _ => "See its message.".to_owned(),
    }
}

/// Settings of the page at the end of an apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeFooter<'a> {
    /// Duration of the apply as text; `None` to omit it.
    pub took: Option<&'a str>,
    /// Whether the command was `stead destroy`.
    pub destroys: bool,
    /// Beginning of suggested commands, such as `stead -e prod`.
    pub stead: &'a str,
    /// The command that goes on, with all flags that it needs; empty for `stead` with `apply` or `destroy`.
    pub again: &'a str,
    /// Whether the command over many units says how it goes on.
    pub is_unit: bool,
    /// Whether to omit the hint about the next step.
    pub quiet: bool,
    /// What was charged or refunded for the steps that were made.
    pub due: DueTotal,
    /// What was made of the failed and skipped resources, by address.
    pub partly: Option<&'a BTreeMap<Address, String>>,
}

/// Returns the page at the end of an apply: totals, explained failures, outputs, next step.
#[must_use]
pub fn outcome_page(outcome: &Outcome, ending: OutcomeFooter<'_>, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    page.add_line(outcome_headline(outcome, ending, style));
    let due = DueStatement::of_apply(ending.due).facts();
    if !due.is_empty() {
        page.add_line(TextLine::indent(2).push_text(due.join(", ")).continue_at(11));
    }
    for (address, error) in &outcome.failed {
        let occasion = if ending.destroys { FailureContext::Destroy } else { FailureContext::Apply };
        add_failure(&mut page, address, error, occasion);
        if let Some(partly) = ending.partly.and_then(|partly| partly.get(address)) {
            page.add_line(TextLine::indent(6).push_text(partly).continue_at(6));
        }
    }
    let partly = ending.partly.into_iter().flatten();
    for (address, made) in partly.filter(|(address, _)| outcome.skipped.contains(address)) {
        let line = TextLine::indent(2).push_styled(TextRole::Warning, page.sign(Symbol::Warning));
        let line = line.to_column(4).push_styled(TextRole::Strong, address.as_str());
        page.add_line(line.push_text(format!("  skipped; {made}")).continue_at(6));
    }
    let questions = outcome.questions.iter().map(|question| (Symbol::Unknown, question));
    let notes = outcome.notes.iter().map(|note| (Symbol::Warning, note));
    for (symbol, text) in questions.chain(notes) {
        page.add_line(
            TextLine::indent(2)
                .push_styled(TextRole::Warning, page.sign(symbol))
                .push_text("  ")
                .push_text(text)
                .continue_at(5),
        );
    }
    if !outcome.failed.is_empty() || !outcome.skipped.is_empty() {
        let failed = outcome.failed.iter().map(|(address, _)| address);
        let stays = failed.filter(|_| ending.destroys).chain(&outcome.skipped).cloned().collect::<Vec<_>>();
        add_addresses(&mut page, "done", &outcome.done);
        add_addresses(&mut page, if ending.destroys { "stays" } else { "skipped" }, &stays);
    }
    add_policy_outcomes(&mut page, &outcome.policies);
    add_outputs(&mut page, outcome);
    let mut text = page.finish();
    if let (Some(next), false) = (next_step(outcome, ending), ending.quiet) {
        // A command for copying must not be wrapped.
        text.push_str(
            &TextLine::indent(0).push_styled(TextRole::Faint, "next: ").push_text(next).to_unwrapped(style),
        );
        text.push('\n');
    }
    text
}

fn outcome_headline(outcome: &Outcome, ending: OutcomeFooter<'_>, style: TextStyle) -> TextLine {
    let open = !outcome.questions.is_empty() || !outcome.notes.is_empty();
    let whole = outcome.failed.is_empty() && outcome.skipped.is_empty() && !open;
    let (role, word) = match (whole, outcome.interrupted, !outcome.has_changes()) {
        (_, true, _) => (TextRole::Warning, "Interrupted"),
        (true, false, _) => (TextRole::Success, if ending.destroys { "Destroyed" } else { "Applied" }),
        (false, false, false) if ending.destroys => (TextRole::Danger, "Partly destroyed"),
        (false, false, false) => (TextRole::Danger, "Partly applied"),
        (false, false, true) => (TextRole::Danger, "Failed"),
    };
    let line = TextLine::indent(0).push_styled(role, word);
    let line = line.push_text(format!(": {}", outcome.describe_counts()));
    match ending.took {
        Some(took) => line.push_styled(TextRole::Faint, format!(" {} {took}", style.sign(Symbol::Dot))),
        None => line,
    }
}

fn add_failure(page: &mut TextPage, address: &Address, error: &StepError, occasion: FailureContext) {
    let words = describe_failure(error, occasion);
    // Some messages begin with the resource's address, which the line already shows.
    let what = words.what.strip_prefix(&format!("{address}: ")).unwrap_or(&words.what);
    let column = if page.style().unicode { 4 } else { 5 };
    page.add_line(
        TextLine::indent(2)
            .push_styled(TextRole::Danger, page.sign(Symbol::Cross))
            .to_column(column)
            .push_styled(TextRole::Strong, address.as_str())
            .push_text("  ")
            .push_text(what)
            .continue_at(6),
    );
    page.add_line(TextLine::indent(6).push_text(words.means).continue_at(6));
    page.add_line(TextLine::indent(6).push_styled(TextRole::Faint, words.next).continue_at(6));
}

fn add_addresses(page: &mut TextPage, word: &str, addresses: &[Address]) {
    if addresses.is_empty() {
        return;
    }
    let text = phrases::join_words(addresses.iter().map(Address::as_str), MAX_LISTED_ADDRESSES);
    page.add_line(
        TextLine::indent(2)
            .push_styled(TextRole::Faint, word)
            .to_column(11)
            .push_text(text)
            .continue_at(11),
    );
}

fn add_outputs(page: &mut TextPage, outcome: &Outcome) {
    if outcome.outputs.is_empty() {
        return;
    }
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, "Outputs"));
    let widths = outcome.outputs.keys().map(|name| display_width(name));
    let column = 4 + widths.max().unwrap_or(0).min(32);
    for (name, value) in &outcome.outputs {
        page.add_line(
            TextLine::indent(2)
                .push_text(name)
                .to_column(column)
                .push_text(phrases::format_value(value))
                .continue_at(column),
        );
    }
}

/// Returns the next step. Ambiguous intents come first: stead changes their resources only after
/// the user has decided them.
fn next_step(outcome: &Outcome, ending: OutcomeFooter<'_>) -> Option<String> {
    let stead = if ending.stead.is_empty() { "stead" } else { ending.stead };
    let deletes = ("destroy", "it deletes the remaining objects");
    let (verb, rest) =
        if ending.destroys { deletes } else { ("apply", "it performs only the remaining steps") };
    if ending.is_unit {
        let has_questions = !outcome.interrupted && !outcome.questions.is_empty();
        return has_questions.then(|| format!("resolve the ambiguous requests: {stead} resolve"));
    }
    let again = if ending.again.is_empty() { format!("{stead} {verb}") } else { ending.again.to_owned() };
    let mended = |(_, error): &(Address, StepError)| !matches!(error, StepError::Ambiguous(_));
    if outcome.interrupted {
        return Some(format!("{again} continues where it stopped"));
    }
    if !outcome.questions.is_empty() {
        return Some(format!("resolve the ambiguous requests, {stead} resolve, then {again}: {rest}"));
    }
    if outcome.failed.iter().any(mended) {
        return Some(format!("fix what failed, then {again}: {rest}"));
    }
    (!outcome.failed.is_empty() || !outcome.skipped.is_empty()).then(|| format!("{again}: {rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::values::secret::Secret;
    use crate::model::values::value::Value;

    fn refusal(status: u16, reason: Option<&str>) -> StepError {
        StepError::Refused(ApiError {
            status,
            error: "payment required".into(),
            message: "Insufficient\u{1b}[2J balance".into(),
            reason: reason.map(Into::into),
        })
    }

    #[test]
    fn a_complete_apply_has_a_short_summary() {
        let outcome = Outcome {
            done: vec![Address::new("vm", "web"), Address::new("vpc", "main")],
            outputs: [
                ("url".into(), Value::text("https://shop.example.com")),
                ("password".into(), Value::Secret(Secret::new("canary"))),
            ]
            .into(),
            ..Outcome::default()
        };
        insta::assert_snapshot!(outcome_page(&outcome, OutcomeFooter { took: Some("1m52s"), ..OutcomeFooter::default() }, TextStyle::plain(80)), @r"
        Applied: 2 done · 1m52s
        Outputs
          password  (secret)
          url       https://shop.example.com
        ");
    }

    #[test]
    fn a_partial_apply_shows_failures_causes_and_next_steps() {
        let outcome = Outcome {
            done: vec![Address::new("vpc", "main")],
            failed: vec![
                (Address::new("vm", "web"), refusal(402, None)),
                (Address::new("database", "main"), StepError::NotReady("status failed: no room".into())),
            ],
            skipped: vec![Address::new("volume", "media")],
            questions: vec!["Which of vm-1 and vm-2 is vm.api?".into()],
            ..Outcome::default()
        };
        insta::assert_snapshot!(outcome_page(&outcome, OutcomeFooter::default(), TextStyle::plain(80)), @r"
        Partly applied: 1 done, 2 failed, 1 skipped
          ✗ vm.web  402 Insufficient\u{1b}[2J balance
              The account cannot pay for this: its balance is too low, or no card can be
              charged.
              Add funds or a card, then apply again: it continues where it stopped.
          ✗ database.main  status failed: no room
              The service took the request, but the object did not reach a usable state.
              Inspect it with `stead get`; the next run continues from there.
              lifecycle.timeouts sets a longer timeout.
          ?  Which of vm-1 and vm-2 is vm.api?
          done     vpc.main
          skipped  volume.media
        next: resolve the ambiguous requests, stead resolve, then stead apply: it performs only the remaining steps
        ");
        let quiet = outcome_page(
            &outcome,
            OutcomeFooter { quiet: true, ..OutcomeFooter::default() },
            TextStyle::plain(80),
        );
        assert!(!quiet.contains("next:"));
    }

    #[test]
    fn a_destroy_lists_deleted_and_remaining_objects() {
        let outcome = Outcome {
            done: vec![Address::new("vm", "web")],
            failed: vec![(Address::new("volume", "media"), refusal(409, None))],
            skipped: vec![Address::new("project", "shop")],
            ..Outcome::default()
        };
        let ending = OutcomeFooter { destroys: true, stead: "stead -e prod", ..OutcomeFooter::default() };
        insta::assert_snapshot!(outcome_page(&outcome, ending, TextStyle::plain(80)), @r"
        Partly destroyed: 1 done, 1 failed, 1 skipped
          ✗ volume.media  409 Insufficient\u{1b}[2J balance
              It conflicts with what the message names: a name is taken, or an object is
              busy or in use.
              Wait until nothing uses the object any more, or remove what uses it, then
              destroy again: it deletes the remaining objects.
          done     vm.web
          stays    volume.media, project.shop
        next: fix what failed, then stead -e prod destroy: it deletes the remaining objects
        ");
        let done = Outcome { done: vec![Address::new("vm", "web")], ..Outcome::default() };
        assert_eq!(outcome_page(&done, ending, TextStyle::plain(80)), "Destroyed: 1 done\n");
    }

    #[test]
    fn every_error_status_has_a_meaning_and_a_next_step() {
        let mut seen = std::collections::BTreeSet::new();
        let of = |status, reason: Option<&str>| ApiError {
            status,
            error: "payment required".into(),
            message: "Insufficient\u{1b}[2J balance".into(),
            reason: reason.map(Into::into),
        };
        for status in [400, 401, 402, 403, 404, 409, 412, 429, 500, 501, 503] {
            for occasion in [FailureContext::Apply, FailureContext::Read, FailureContext::Action] {
                let words = describe_refusal(&of(status, None), occasion);
                assert!(words.what.starts_with(&status.to_string()) && words.what.contains("Insufficient"));
                assert!(words.means.ends_with('.') && words.next.ends_with('.'));
                let applies = words.next.contains("apply") || words.next.contains("configuration");
                assert!(
                    occasion == FailureContext::Apply || !applies,
                    "{status} {occasion:?}: {}",
                    words.next
                );
                assert!(occasion != FailureContext::Apply || seen.insert(words.means), "{status}");
            }
        }
        let billing = describe_refusal(&of(403, Some("banned")), FailureContext::Apply);
        assert_ne!(billing.next, describe_refusal(&of(403, None), FailureContext::Apply).next);
        assert_eq!(billing.what, "403 Insufficient\u{1b}[2J balance (banned)");
        let silent = ApiError { error: String::new(), message: String::new(), ..of(418, None) };
        assert_eq!(describe_refusal(&silent, FailureContext::Read).what, "418 no message");
    }

    #[test]
    fn a_server_error_is_not_described_as_a_network_failure() {
        let no_room = ApiError { status: 503, error: "E".into(), message: "m".into(), reason: None };
        let words = in_words(&StepError::ServerError(no_room));
        assert!(words.means.contains("no room") && words.next.contains("apply again"), "{words:?}");
        assert!(in_words(&StepError::Unreachable("reset".into())).next.contains("network"));
    }
}
