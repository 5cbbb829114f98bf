//! What was reviewed, for a comparison with a later plan: a saved plan, a directory of saved plans, or the comment of a
//! request. In: a path. Out: the difference of a later plan, as text or as a document. Nothing of the file is applied.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::cli::artifacts::plan_file::STEAD_VERSION;
use crate::cli::artifacts::{plan_file, plan_set};
use crate::cli::files::stack_files;
use crate::cli::planning::approval::plan_again;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::process::settings::Settings;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::plan::artifact::change_digests::{DigestDifference, ReviewedDigests};
use crate::plan::artifact::difference::{PlanSide, compare_plans};
use crate::plan::artifact::review_difference::{ReviewDifference, UnitDifference};
use crate::plan::artifact::saved_plan::{SavedPlan, StalePlan};
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;
use crate::report::text::phrases;
use crate::report::text::style::TextStyle;
use crate::report::{review, terminal};
use crate::workspace::combined::has_work;
use crate::workspace::fit::{UnitPhase, check_fit};

/// How many blockers a refusal names before it counts the rest.
const MAX_NAMED_BLOCKERS: usize = 5;

/// How many changes of a plan that was not reviewed are named before the rest is counted.
const MAX_NAMED_CHANGES: usize = 5;

/// What was reviewed.
#[derive(Debug)]
pub(in crate::cli) enum ReviewedPlans {
    /// Saved plans, by stack and environment.
    Saved(BTreeMap<String, SavedPlan>),
    /// A comment, with the fingerprint that it approves. Its digests are by stack and environment; `None` where it has
    /// none: before the first apply, a ledger has no key.
    Comment {
        digests: Option<BTreeMap<String, ReviewedDigests>>,
        fingerprint: Option<String>,
        name: String,
    },
}

/// Returns the stack and the environment of a plan, such as `shop/prod`.
pub(in crate::cli) fn plan_title(plan: &Plan) -> String {
    format!("{}/{}", plan.base.stack, plan.base.environment)
}

/// Returns what a plan changes that was not reviewed: `web/prod  was not reviewed: create vm.a, output ip`.
pub(in crate::cli) fn describe_unreviewed(plan: &Plan) -> String {
    let changes =
        plan.changes.iter().map(|change| format!("{} {}", change.action.as_str(), change.address));
    let outputs = plan.output_changes().map(|output| format!("output {}", output.name));
    let named: Vec<String> = changes.chain(outputs).collect();
    let title = plan_title(plan);
    match phrases::join_words(named.iter(), MAX_NAMED_CHANGES) {
        none if none.is_empty() => format!("{title}  was not reviewed"),
        named => format!("{title}  was not reviewed: {named}"),
    }
}

impl ReviewedPlans {
    /// Reads what was reviewed: a saved plan, the directory of a set, or a report or comment in Markdown.
    ///
    /// # Errors
    /// When it cannot be read, or is none of these.
    pub(in crate::cli) fn read(
        settings: &Settings,
        path: &Path,
        key: Option<&Path>,
    ) -> Result<Self, CliFailure> {
        if plan_set::is_directory(path) {
            let set = plan_set::read_set(settings, path, key)?;
            let plans = set.plans.into_iter().map(|(name, saved)| (name.to_string(), saved)).collect();
            return Ok(Self::Saved(plans));
        }
        let text = plan_file::read_plan_text(path)?;
        if review::marker_of(&text).is_some() {
            let (digests, name) = (review::digests_of(&text), stack_files::display_path(path));
            if digests.is_none() && review::has_digest_line(&text) {
                let what = format!("{name} is a comment whose digests are damaged");
                return Err(CliFailure::new(Exit::Failed, what)
                    .help("Take the comment as stead wrote it, with its hidden lines; or compare with a saved plan: stead plan -o FILE."));
            }
            let fingerprint = review::fingerprint_of(&text).map(str::to_owned);
            return Ok(Self::Comment { digests, fingerprint, name });
        }
        let saved = plan_file::read_verified(settings, path, key)?.saved;
        Ok(Self::Saved(BTreeMap::from([(plan_title(&saved.plan), saved)])))
    }

    /// Returns the stacks and environments that were reviewed; empty for a comment without digests.
    pub(in crate::cli) fn units(&self) -> Vec<&String> {
        match self {
            Self::Saved(plans) => plans.keys().collect(),
            Self::Comment { digests, .. } => digests.iter().flat_map(BTreeMap::keys).collect(),
        }
    }

    /// Returns whether a stack and environment may have been reviewed: a comment without digests names none.
    pub(in crate::cli) fn can_have(&self, title: &str) -> bool {
        match self {
            Self::Saved(plans) => plans.contains_key(title),
            Self::Comment { digests, .. } => digests.as_ref().is_none_or(|all| all.contains_key(title)),
        }
    }

    /// Returns those of them whose plan decides something: a comment also has the others, a set of plans has not.
    pub(in crate::cli) fn units_with_changes(&self) -> impl Iterator<Item = &String> {
        let is_empty = |title: &str| match self {
            Self::Saved(_) => false,
            Self::Comment { digests, .. } => {
                digests.as_ref().and_then(|all| all.get(title)).is_some_and(|digests| digests.count == 0)
            }
        };
        self.units().into_iter().filter(move |title| !is_empty(title))
    }

    /// Returns how a later plan differs from the reviewed one of the same stack and environment. `ledger` is the digest of
    /// its ledger, empty if it is not known.
    ///
    /// # Errors
    /// When the stack and environment were not reviewed, or a plan cannot be compared.
    pub(in crate::cli) fn compare(
        &self,
        later: &Plan,
        (ledger, stead_version): (&str, &str),
    ) -> Result<ReviewDifference, CliFailure> {
        let title = plan_title(later);
        let not_reviewed = || {
            let known: Vec<&str> = self.units().into_iter().map(String::as_str).collect();
            CliFailure::new(Exit::Usage, format!("what was reviewed is no plan of {title}"))
                .help(format!("It is of {}.", known.join(", ")))
        };
        match self {
            Self::Saved(plans) => {
                let saved = plans.get(&title).ok_or_else(not_reviewed)?;
                let difference = compare_plans(
                    PlanSide {
                        plan: &saved.plan,
                        ledger: if ledger.is_empty() { "" } else { &saved.binding.ledger },
                        stead_version: &saved.stead_version,
                    },
                    PlanSide { plan: later, ledger, stead_version },
                );
                Ok(ReviewDifference::Parts(difference.map_err(anyhow::Error::from)?))
            }
            Self::Comment { digests, fingerprint, name } => {
                let is_approved = fingerprint.as_deref() == Some(later.fingerprint.as_str());
                let Some(plans) = digests else {
                    if is_approved {
                        let found = DigestDifference::default();
                        return Ok(ReviewDifference::Addresses { found, is_same: true });
                    }
                    return Err(no_digests(name));
                };
                let digests = plans.get(&title).ok_or_else(not_reviewed)?;
                let found = digests.compare(later);
                // The fingerprint of a comment of many units is that of all of them together.
                let is_same = match plans.len() {
                    1 => is_approved,
                    _ => digests.is_same_plan(later),
                };
                Ok(ReviewDifference::Addresses { found, is_same })
            }
        }
    }
}

fn no_digests(name: &str) -> CliFailure {
    CliFailure::new(Exit::Failed, format!("{name} is a comment without digests of its changes, so it names no differences"))
        .help("A ledger has no key before the first apply. Compare with a saved plan instead: stead plan -o FILE.")
}

/// Reads what `--against` names; `None` if it is not given.
///
/// # Errors
/// When it cannot be read, or is no plan and no comment.
pub(in crate::cli) fn read_reviewed(
    settings: &Settings,
    path: Option<&Path>,
) -> Result<Option<ReviewedPlans>, CliFailure> {
    path.map(|path| ReviewedPlans::read(settings, path, None)).transpose()
}

/// Says how plans differ from what was reviewed, where they do; nothing if it is not known what was reviewed. Returns the
/// differences, for the document of the failure.
pub(in crate::cli) fn show_review_difference<'p>(
    ui: &Ui,
    reviewed: Option<&ReviewedPlans>,
    later: impl IntoIterator<Item = &'p Plan>,
) -> Vec<UnitDifference> {
    let Some(reviewed) = reviewed else { return Vec::new() };
    let mut found = Vec::new();
    let mut is_shown = false;
    for plan in later {
        let title = plan_title(plan);
        let text = match reviewed.compare(plan, ("", STEAD_VERSION)) {
            Ok(difference) if difference.is_same() => continue,
            Ok(difference) => {
                let text = terminal::difference_page(&title, &difference, ui.style);
                found.push((title, difference));
                text
            }
            Err(_) if !has_work(plan) => continue,
            Err(_) if !reviewed.can_have(&title) => describe_unreviewed(plan),
            Err(failure) => format!("{title}: {}", failure.message),
        };
        is_shown = true;
        ui.write_message(text.trim_end());
    }
    if !is_shown {
        // Each plan is the reviewed one.
        ui.write_message("The plans decide the same as those that were reviewed: other units were reviewed, or another fingerprint was given.");
    }
    found
}

/// Returns the failure for a saved plan that can no longer be applied, after it says what differs.
pub(in crate::cli) fn refuse_stale(ui: &Ui, plans: (&Plan, &Plan), stale: &StalePlan) -> CliFailure {
    plan_again(stale).with_differences(show_plan_difference(ui, plans))
}

/// Refuses a plan that is blocked, or does more than the reviewed one shows, after it says what differs. Policies of `overrides`
/// do not block it.
///
/// # Errors
/// The first blocker, or the first way in which it does more.
pub(in crate::cli) fn require_fit(
    ui: &Ui,
    (reviewed, plan): (&Plan, &Plan),
    part: (UnitPhase, bool),
    overrides: &BTreeSet<Name>,
) -> Result<(), CliFailure> {
    if plan.is_blocked(overrides) {
        // Policies are judged again; anything else that blocks the plan now does not fit the review.
        let is_new = |block: &&Blocker| {
            !block.is_ruling() && !reviewed.blocks.iter().any(|known| known.is_same(block))
        };
        let mut stopping = plan.blocks.iter().filter(|block| !block.only_freezes());
        let new = stopping.clone().find(is_new);
        let exit = if new.is_some() { Exit::OutOfDate } else { Exit::Blocked };
        let first = new.or_else(|| stopping.next());
        let (text, help) = first.map(|block| (&*block.text, &*block.help)).unwrap_or_default();
        return Err(CliFailure::new(exit, format!("{text} Nothing was sent.")).help(help));
    }
    check_fit(&REGISTRY, reviewed, plan, part).map_err(|misfit| {
        CliFailure::new(Exit::OutOfDate, format!("{misfit}; nothing was sent"))
            .help("Plan and review again: stead plan --all.")
            .with_differences(show_plan_difference(ui, (reviewed, plan)))
    })
}

/// Returns the failure for a plan with these blockers, with the first of them and the remedy of each. `what` says that the plan
/// is blocked.
pub(in crate::cli) fn refuse_blocked(blocks: &[&Blocker], what: &str) -> CliFailure {
    let (named, rest) = blocks.split_at(blocks.len().min(MAX_NAMED_BLOCKERS));
    let count = phrases::count_noun(blocks.len(), "problem");
    let mut failure = CliFailure::new(Exit::Blocked, format!("{what} by {count}: nothing was applied"));
    for block in named {
        let address = block.address.as_ref().map(|address| format!("{address}: ")).unwrap_or_default();
        let text = phrases::join_sentences(&[block.text.as_str(), &block.help]);
        failure = failure.help(format!("{address}{text}"));
    }
    if !rest.is_empty() {
        failure = failure.help(format!("… and {} more.", rest.len()));
    }
    failure
}

/// Refuses a plan with blockers that the saved one does not have, after it says what differs.
///
/// # Errors
/// When there is such a blocker.
pub(in crate::cli) fn refuse_new_blocks(ui: &Ui, (saved, plan): (&Plan, &Plan)) -> Result<(), CliFailure> {
    let is_new = |block: &&Blocker| !saved.blocks.iter().any(|known| known.is_same(block));
    let new: Vec<&Blocker> = plan.blocks.iter().filter(is_new).collect();
    if new.is_empty() {
        return Ok(());
    }
    let difference = show_plan_difference(ui, (saved, plan));
    Err(refuse_blocked(&new, "the plan is blocked now").with_differences(difference))
}

/// Says how a plan differs from the reviewed one, where both plans are known. Returns the difference.
pub(in crate::cli) fn show_plan_difference(
    ui: &Ui,
    (reviewed, later): (&Plan, &Plan),
) -> Option<UnitDifference> {
    let side = |plan| PlanSide { plan, ledger: "", stead_version: STEAD_VERSION };
    let difference = compare_plans(side(reviewed), side(later)).unwrap_or_default();
    let difference = ReviewDifference::Parts(difference);
    if difference.is_same() {
        return None;
    }
    let title = plan_title(later);
    ui.write_message(terminal::difference_page(&title, &difference, ui.style).trim_end());
    Some((title, difference))
}

/// Returns a difference as Markdown; of a comment, the addresses in a code block.
pub(in crate::cli) fn difference_markdown(title: &str, difference: &ReviewDifference) -> String {
    match difference {
        ReviewDifference::Parts(difference) => review::difference_markdown(title, difference),
        ReviewDifference::Addresses { .. } => {
            let page = terminal::difference_page(title, difference, TextStyle::plain(100));
            format!("```\n{page}```\n")
        }
    }
}
