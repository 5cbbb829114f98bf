//! Policy results as reports show them: those of a plan, or after an apply the final ones, equal ones as one group; and their
//! lines in text.

use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashMapExt};

use crate::model::address::{Address, Name};
use crate::model::cel::policy::{FactSource, find_fact};
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{PolicyResult, PolicyStatus};
use crate::plan::model::policy_outcome::{DecidingStep, PolicyOutcome};
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::style::TextRole;

/// A policy result as a report shows it.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct ShownResult<'r> {
    /// The result.
    pub(in crate::report) result: &'r PolicyResult,
    /// The step before which it was decided; `None` if the plan decided it, or nothing did.
    pub(in crate::report) before: Option<&'r DecidingStep>,
    /// Whether the plan left it to the apply, and this is its result there.
    pub(in crate::report) is_final: bool,
}

impl<'r> ShownResult<'r> {
    /// Returns a result of a plan.
    pub(in crate::report) const fn of_plan(result: &'r PolicyResult) -> Self {
        Self { result, before: None, is_final: false }
    }

    /// Returns the result of a policy that was left to the apply.
    pub(in crate::report) const fn of_apply(outcome: &'r PolicyOutcome) -> Self {
        Self { result: &outcome.result, before: outcome.before.as_ref(), is_final: true }
    }

    /// Returns what the policy says, as a verb phrase.
    pub(in crate::report) const fn verdict_phrase(&self) -> &'static str {
        match (self.result.verdict, self.is_final) {
            (PolicyStatus::Deny, false) => "denies the plan",
            (PolicyStatus::Deny, true) => "denied the step",
            (PolicyStatus::Overridden, false) => "denies the plan, and is overridden",
            (PolicyStatus::Overridden, true) => "denied the step, and was overridden",
            (PolicyStatus::Unknown, false) => "is not evaluated yet",
            (PolicyStatus::Unknown, true) => "was not decided",
            (PolicyStatus::Warn, _) => "warns",
            (PolicyStatus::Pass | PolicyStatus::Allowed, false) => "allows the plan",
            (PolicyStatus::Pass | PolicyStatus::Allowed, true) => "passed",
        }
    }

    /// Returns the step before which it was decided, as in `before create vm.web`; `None` if there is none.
    pub(in crate::report) fn describe_step(&self) -> Option<String> {
        self.before.map(|step| format!("before {step}"))
    }

    /// Returns what it says; empty for a pass, since the message of a policy is that of its denial.
    pub(in crate::report) fn message(&self) -> &'r str {
        if self.result.verdict == PolicyStatus::Pass { "" } else { &self.result.message }
    }

    /// Returns the message, with what the environment claims and the deciding step where there are any.
    pub(in crate::report) fn describe_message(&self) -> String {
        let claims = describe_claims(self.result);
        let details: Vec<String> = claims.into_iter().chain(self.describe_step()).collect();
        if details.is_empty() {
            return self.message().to_owned();
        }
        format!("{} ({})", self.message(), details.join("; ")).trim_start().to_owned()
    }
}

/// Policy results that say the same of several resources.
pub(in crate::report) struct PolicyGroup<'r> {
    /// The first of them.
    pub(in crate::report) first: ShownResult<'r>,
    /// The resources; empty for the plan as a whole.
    pub(in crate::report) addresses: Vec<&'r Address>,
}

impl<'r> PolicyGroup<'r> {
    /// Groups the results that a reader must know of: neither plain passes nor allowed exposures of a plan. Denials are
    /// first, and what only warns or passed is last.
    pub(in crate::report) fn group_results(results: impl Iterator<Item = ShownResult<'r>>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        let mut numbers: HashMap<_, usize> = HashMap::new();
        for shown in results.filter(|one| one.is_final || one.result.verdict >= PolicyStatus::Unknown) {
            let result = shown.result;
            let new = Self { first: shown, addresses: result.address.iter().collect() };
            let Some(address) = &result.address else {
                groups.push(new);
                continue;
            };
            match numbers.entry((&result.name, result.verdict, &result.message)) {
                Entry::Occupied(number) => {
                    let group = &mut groups[*number.get()];
                    group.addresses.push(address);
                    // Each was decided before the step of its own resource.
                    group.first.before = None;
                }
                Entry::Vacant(place) => {
                    place.insert(groups.len());
                    groups.push(new);
                }
            }
        }
        groups.sort_by_key(Self::rank);
        groups
    }

    /// Returns the position among the groups: that of what needs the reader's decision.
    const fn rank(&self) -> u8 {
        match self.first.result.verdict {
            PolicyStatus::Deny => 0,
            PolicyStatus::Overridden => 1,
            PolicyStatus::Unknown => 2,
            PolicyStatus::Warn if !self.first.result.is_default => 3,
            PolicyStatus::Warn => 4,
            PolicyStatus::Pass | PolicyStatus::Allowed => 5,
        }
    }

    /// Returns whether the group asks nothing of the reader: it warns, or it passed.
    pub(in crate::report) const fn only_informs(&self) -> bool {
        self.rank() > 2
    }

    /// Returns the names of the first three resources, of all if it is `complete`, and how many more there are.
    pub(in crate::report) fn names(&self, complete: bool) -> (Vec<&'r str>, usize) {
        const MAX_NAMES: usize = 3;
        let most = if complete { self.addresses.len() } else { MAX_NAMES };
        let names = self.addresses.iter().take(most).map(|address| address.as_str()).collect();
        (names, self.addresses.len().saturating_sub(most))
    }
}

/// Returns what the environment claims and a result depends on, as a clause; `None` if it depends on no claim.
pub(in crate::report) fn describe_claims(result: &PolicyResult) -> Option<String> {
    let is_claim = |name: &Name| find_fact(name).is_some_and(|fact| fact.source == FactSource::Environment);
    let claims: Vec<String> = result
        .context
        .iter()
        .filter(|(name, _)| is_claim(name))
        .map(|(name, value)| match value.as_str() {
            "" => format!("no {name}"),
            value => format!("{name} {value}"),
        })
        .collect();
    (!claims.is_empty()).then(|| format!("as the environment claims: {}", claims.join(", ")))
}

/// Returns what the environment claims and the denial of a blocker depends on, as a clause; `None` for another blocker, and if
/// it depends on no claim.
pub(in crate::report) fn claims_of_blocker(block: &Blocker, results: &[PolicyResult]) -> Option<String> {
    // The text of a group of blockers has more words before.
    let is_of_block = |result: &&PolicyResult| {
        result.verdict == PolicyStatus::Deny
            && block.text.ends_with(&format!("{}: {}", result.name, result.message))
    };
    describe_claims(results.iter().filter(|_| block.is_ruling()).find(is_of_block)?)
}

/// Adds the results of a plan that are not a plain pass, with the names of all resources if they are to be `complete`. Denials
/// are omitted: they are shown with the blockers.
pub(in crate::report) fn add_policy_results<'r>(
    page: &mut TextPage,
    results: impl Iterator<Item = &'r PolicyResult>,
    complete: bool,
) {
    for group in PolicyGroup::group_results(results.map(ShownResult::of_plan)) {
        add_group(page, &group, complete);
    }
}

/// Returns the results that a page without changes names: without `verbose`, all but what every object begins with.
pub(in crate::report) fn named_results(
    results: &[PolicyResult],
    verbose: bool,
) -> impl Iterator<Item = &PolicyResult> {
    results.iter().filter(move |result| verbose || !result.is_default)
}

/// Returns how many of the results that such a page does not name warn; `None` if there are none.
pub(in crate::report) fn count_unnamed(results: &[PolicyResult], verbose: bool) -> Option<String> {
    count_warnings(results.iter().filter(|result| !verbose && result.is_default))
}

/// Returns how many of these results warn, for a line that does not name them; `None` if there are none.
pub(in crate::report) fn count_warnings<'r>(
    results: impl Iterator<Item = &'r PolicyResult>,
) -> Option<String> {
    let count = results.filter(|result| result.verdict >= PolicyStatus::Unknown).count();
    (count > 0).then(|| format!("{}, see -v", phrases::count_noun(count, "policy warning")))
}

/// Adds the results of the policies that were left to an apply. Denials are omitted: they are shown with the failures.
pub(in crate::report) fn add_policy_outcomes(page: &mut TextPage, outcomes: &[PolicyOutcome]) {
    for group in PolicyGroup::group_results(outcomes.iter().map(ShownResult::of_apply)) {
        add_group(page, &group, false);
    }
}

fn add_group(page: &mut TextPage, group: &PolicyGroup<'_>, complete: bool) {
    let shown = &group.first;
    let result = shown.result;
    let (role, word) = match (result.verdict, shown.is_final) {
        (PolicyStatus::Deny, _) | (PolicyStatus::Pass | PolicyStatus::Allowed, false) => return,
        (PolicyStatus::Pass | PolicyStatus::Allowed, true) => (TextRole::Success, "passed"),
        (PolicyStatus::Unknown, false) => (TextRole::Faint, "not evaluated yet"),
        (PolicyStatus::Unknown, true) => (TextRole::Warning, "not decided"),
        (PolicyStatus::Warn, _) if result.is_default => (TextRole::Faint, "warns"),
        (PolicyStatus::Warn, _) => (TextRole::Warning, "warns"),
        (PolicyStatus::Overridden, _) => (TextRole::Warning, "overridden"),
    };
    let line = TextLine::indent(0).push_styled(TextRole::Strong, "POLICY").to_column(7).continue_at(7);
    let mut line =
        line.push_styled(role, result.name.as_str()).push_text(" ").push_styled(role, word).push_text("  ");
    let (names, more) = group.names(complete);
    if !names.is_empty() {
        line = line.push_styled(TextRole::Strong, names.join(", "));
        line = line.push_text(if more > 0 { format!(" and {more} more") } else { String::new() });
    }
    if !shown.message().is_empty() {
        let gap = if names.is_empty() { "" } else { "  " };
        line = line.push_text(format!("{gap}{}", shown.message()));
    }
    for detail in describe_claims(result).into_iter().chain(shown.describe_step()) {
        line = line.push_styled(TextRole::Faint, format!(" ({detail})"));
    }
    let place = result.source.as_ref().filter(|_| group.addresses.len() < 2);
    page.add_line(match place {
        Some(place) => line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line)),
        None => line,
    });
}
