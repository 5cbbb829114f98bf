//! What the API key must be allowed to do for a plan: notes on a plan, and the refusal of an apply before its first
//! request. In: a plan and its ledger; out: notes, or a failure with exit code 7. Only a plan with steps needs rights, and one
//! that takes objects for gone: other plans send no request for them.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::cli::ledger::high_water_mark::RollbackDetected;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::connection::StackConnection;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Address;
use crate::model::clock::Clock;
use crate::model::live::key_access::KeyAccess;
use crate::plan::annotate::rights::{
    NeedingSteps, RightsReview, gone_objects, review_rights, review_unseen,
};
use crate::plan::model::change::{Drift, DriftClass, Plan};
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::plan::model::step::Operation;
use crate::report::text::phrases;

/// How many steps a message names before it counts the rest.
const MAX_NAMED_STEPS: usize = 3;

/// What a key lacks for a plan.
pub(in crate::cli) struct KeyReview {
    rights: RightsReview,
    /// When the key expires, if that is before the estimated time has passed, and the estimated time in seconds.
    expires_at: Option<(Timestamp, u32)>,
}

/// Adds notes about the key that makes a plan, and returns what it lacks; `None` where nothing is needed, or the key may do
/// everything. The notes are not part of the fingerprint: another key may apply the plan. `wait` is the estimated time until
/// an apply of the plan begins, in seconds.
pub(in crate::cli) async fn add_key_notes(
    connection: &StackConnection,
    plan: &mut Plan,
    ledger: &Ledger,
    wait: u32,
) -> Option<KeyReview> {
    if plan.steps.is_empty() && gone_objects(plan).next().is_none() {
        return None;
    }
    let seconds = wait.saturating_add(plan.critical_path.seconds);
    let key = connection.key_access().await?;
    // The service decides when the key expires, by its own clock.
    let now = connection.client.service_time().unwrap_or_else(|| connection.client.clock().now());
    let review = KeyReview::new(plan, ledger, &key, (now, seconds));
    let notes = review.notes(plan);
    plan.notes.extend(notes);
    Some(review)
}

/// Returns the condition beside the next command, an apply of these plans: empty if the key that made them may apply them, and
/// their ledgers are not older than the last ones seen, as `is_older` says.
pub(in crate::cli) fn apply_condition<'p>(
    plans: impl Iterator<Item = &'p Plan>,
    is_older: bool,
) -> &'static str {
    if is_older {
        return RollbackDetected::NEXT_CONDITION;
    }
    let found = plans.fold((false, false), |(lacks, expires), plan| {
        (lacks || plan.has_note(NoteCode::MissingRight), expires || plan.has_note(NoteCode::KeyExpires))
    });
    match found {
        (true, true) => "with a key that has the missing right and is valid for longer",
        (true, false) => "with a key that has the missing right",
        (false, true) => "with a key that is valid for longer",
        (false, false) => "",
    }
}

/// Marks the drift of objects that the plan takes for gone and that the key may not read: whether they are gone is not known.
/// Adds a note where the service does not show whether the key may read them. Returns what to report of the objects that
/// were marked. Reads the rights of the key only if an object is taken for gone.
pub(in crate::cli) async fn mark_not_readable(
    connection: &StackConnection,
    plan: &mut Plan,
    ledger: &Ledger,
) -> Option<CliFailure> {
    gone_objects(plan).next()?;
    let key = connection.key_access().await?;
    let rights = review_unseen(plan, ledger, REGISTRY, &key);
    let unknown = unknown_text(plan, &rights);
    plan.notes.extend(unknown.map(|text| PlanNote {
        code: NoteCode::UnknownRight,
        text,
        help: "an object that the key may not read is shown as gone; a key that may list keys and roles shows its rights"
            .to_owned(),
        source: None,
        address: None,
    }));
    let hidden: BTreeSet<&Address> = rights.missing.iter().flat_map(|needing| &needing.gone).collect();
    let hidden = |drift: &&mut Drift| drift.class == DriftClass::Gone && hidden.contains(&drift.address);
    plan.drift.iter_mut().filter(hidden).for_each(|drift| drift.class = DriftClass::NotReadable);
    lacking_failure(plan, &rights, ("", "Check"))
}

/// Returns the failure for the rights that the key lacks; `None` if it lacks none. `ending` is the end of its message, and
/// `verb` what to do with another key.
fn lacking_failure(plan: &Plan, rights: &RightsReview, (ending, verb): (&str, &str)) -> Option<CliFailure> {
    let (first, rest) = rights.missing.split_first()?;
    let text = format!("the API key lacks {}{ending}", describe_need(plan, first));
    let mut failure = CliFailure::new(Exit::Refused, text);
    for needing in rest {
        failure = failure.help(format!("It also lacks {}.", describe_need(plan, needing)));
    }
    Some(failure.help(format!(
        "{verb} with a key whose role has the right. `stead whoami` shows the roles of this one."
    )))
}

impl KeyReview {
    fn new(plan: &Plan, ledger: &Ledger, key: &KeyAccess, (now, seconds): (Timestamp, u32)) -> Self {
        let end = now.checked_add(SignedDuration::from_secs(seconds.into())).unwrap_or(Timestamp::MAX);
        Self {
            rights: review_rights(plan, ledger, REGISTRY, key),
            expires_at: key.expires_at.filter(|expires| *expires < end).map(|expires| (expires, seconds)),
        }
    }

    /// Returns a note for each right that the key lacks, one for all rights that are not known, and one for a key that
    /// expires too early.
    fn notes(&self, plan: &Plan) -> Vec<PlanNote> {
        let note = |code, text: String, help: &str| PlanNote {
            code,
            text,
            help: help.to_owned(),
            source: None,
            address: None,
        };
        let missing = self.rights.missing.iter().map(|needing| {
            note(
                NoteCode::MissingRight,
                format!("the API key lacks {}", describe_need(plan, needing)),
                "an apply with this key is refused before its first request; apply with a key whose role has the right",
            )
        });
        let expiry = self.expires_at.map(|at| {
            note(
                NoteCode::KeyExpires,
                expiry_text(at),
                "an apply with this key is refused before its first request; apply with a key that is valid for longer",
            )
        });
        let unknown = unknown_text(plan, &self.rights)
            .map(|text| note(NoteCode::UnknownRight, text, unknown_help(plan, &self.rights)));
        missing.chain(expiry).chain(unknown).collect()
    }

    /// Refuses an apply because of what the key lacks.
    ///
    /// # Errors
    /// With `Exit::Refused`, naming the right and the steps.
    pub(in crate::cli) fn require(&self, plan: &Plan) -> Result<(), CliFailure> {
        if let Some(at) = self.expires_at {
            let text = format!("{}: nothing was sent", expiry_text(at));
            return Err(
                CliFailure::new(Exit::Refused, text).help("Apply with a key that is valid for longer.")
            );
        }
        lacking_failure(plan, &self.rights, (": nothing was sent", "Apply")).map_or(Ok(()), Err)
    }
}

/// Returns what is not known about the rights that a plan needs; `None` if all of it is known.
fn unknown_text(plan: &Plan, review: &RightsReview) -> Option<String> {
    let needs: Vec<String> = review.unknown.iter().map(|needing| describe_need(plan, needing)).collect();
    (!needs.is_empty()).then(|| {
        let named = phrases::join_words(needs.iter(), MAX_NAMED_STEPS);
        format!("the service does not show whether the API key has {named}")
    })
}

/// Returns how the rights that are not known can be shown: a project that the plan creates has no members yet, so that no key
/// shows its rights there.
fn unknown_help(plan: &Plan, review: &RightsReview) -> &'static str {
    let is_new = |needing: &NeedingSteps| {
        let project = needing.needed.project.as_ref();
        project.is_some_and(|project| plan.steps.iter().any(|step| step.address.as_str() == project))
    };
    if review.unknown.iter().all(is_new) {
        "the apply tries it, and the service decides"
    } else {
        "the apply tries it, and the service decides; a key that may list keys and roles shows its rights"
    }
}

/// Describes a right and the steps that need it: `` `compute:write` in project p, which creating vm.web needs ``.
fn describe_need(plan: &Plan, needing: &NeedingSteps) -> String {
    let place = needing.needed.project.as_ref();
    let place = place.map(|project| format!(" in the project {project}")).unwrap_or_default();
    let steps = needing.steps.iter().filter_map(|number| plan.steps.get(*number));
    let steps: Vec<String> = steps
        .map(|step| {
            let verb = match step.operation {
                Operation::Create { .. } => "create",
                Operation::Update { .. } => "change",
                Operation::Delete { .. } => "delete",
            };
            format!("{verb} {}", step.address)
        })
        .collect();
    let mut uses = Vec::new();
    if !steps.is_empty() {
        uses.push(format!("which is needed to {}", phrases::join_words(steps.iter(), MAX_NAMED_STEPS)));
    }
    if !needing.gone.is_empty() {
        let gone = phrases::join_words(needing.gone.iter().map(Address::as_str), MAX_NAMED_STEPS);
        uses.push(format!("without which it is not known whether {gone} is gone"));
    }
    format!("the right `{}`{place}, {}", needing.needed.right, uses.join(", and "))
}

fn expiry_text((at, seconds): (Timestamp, u32)) -> String {
    format!(
        "the API key expires at {}, before the estimated time of the plan ({}) has passed",
        at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        phrases::format_estimate(seconds.into())
    )
}
