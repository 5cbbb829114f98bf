//! Notes besides the changes: policy results, declarations that have already taken effect, renames, secrets.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::model::address::{Address, Name};
use crate::model::cel::policy::{FactSource, find_fact};
use crate::plan::model::change::{NoteCode, PlanNote, PolicyResult, PolicyStatus};
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{Symbol, TextRole};

/// Adds the notes, each with its help on the next line; a done declaration has both on one.
pub(in crate::report) fn add_notes<'n>(page: &mut TextPage, notes: impl Iterator<Item = &'n PlanNote>) {
    for note in notes {
        let (role, sign) = match note.code {
            NoteCode::Done => (TextRole::Success, page.sign(Symbol::Tick)),
            NoteCode::Generated | NoteCode::Delivered | NoteCode::Recipients => {
                (TextRole::Success, page.sign(Symbol::Dot))
            }
            NoteCode::Unverified | NoteCode::OneByOne | NoteCode::UnknownRight => {
                (TextRole::Faint, page.sign(Symbol::Dot))
            }
            NoteCode::Rename
            | NoteCode::Left
            | NoteCode::NotReplaced
            | NoteCode::Unmatched
            | NoteCode::NotKept
            | NoteCode::MissingRight
            | NoteCode::KeyExpires
            | NoteCode::DataLost => (TextRole::Warning, page.sign(Symbol::Warning)),
        };
        let line =
            TextLine::indent(2).push_styled(role, sign).push_text(" ").push_text(&note.text).continue_at(4);
        // A note that something is done must fit into one line.
        let is_done = note.code == NoteCode::Done;
        let line = if is_done { line.push_text("; ").push_text(&note.help) } else { line };
        page.add_line(match &note.source {
            Some(place) => line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line)),
            None => line,
        });
        if !is_done {
            page.add_line(
                TextLine::indent(4)
                    .push_styled(TextRole::Faint, "help: ")
                    .push_text(&note.help)
                    .continue_at(10),
            );
        }
    }
}

/// Policy results that say the same of several resources.
pub(in crate::report) struct PolicyGroup<'r> {
    /// The first of them.
    pub(in crate::report) result: &'r PolicyResult,
    /// The resources; empty for the plan as a whole.
    pub(in crate::report) addresses: Vec<&'r Address>,
}

impl<'r> PolicyGroup<'r> {
    /// Groups the results that a reader must know of: neither plain passes nor allowed exposures.
    pub(in crate::report) fn group_results(results: &'r [PolicyResult]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        let mut numbers: HashMap<_, usize> = HashMap::new();
        for result in results.iter().filter(|result| result.verdict >= PolicyStatus::Unknown) {
            let new = Self { result, addresses: result.address.iter().collect() };
            let Some(address) = &result.address else {
                groups.push(new);
                continue;
            };
            match numbers.entry((&result.name, result.verdict, &result.message)) {
                Entry::Occupied(number) => groups[*number.get()].addresses.push(address),
                Entry::Vacant(place) => {
                    place.insert(groups.len());
                    groups.push(new);
                }
            }
        }
        groups
    }

    /// Returns the names of the first three resources, and how many more there are.
    pub(in crate::report) fn names(&self) -> (Vec<&'r str>, usize) {
        const MAX_NAMES: usize = 3;
        let names = self.addresses.iter().take(MAX_NAMES).map(|address| address.as_str()).collect();
        (names, self.addresses.len().saturating_sub(MAX_NAMES))
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

/// Adds the policy results that are not a plain pass. Denials are omitted: they are shown with the blockers. What every
/// object begins with is shown with `verbose` only.
pub(in crate::report) fn add_policy_results(page: &mut TextPage, results: &[PolicyResult], verbose: bool) {
    let groups = PolicyGroup::group_results(results).into_iter();
    for group in groups.filter(|group| verbose || !group.result.is_default) {
        let result = group.result;
        let (role, word) = match result.verdict {
            PolicyStatus::Pass | PolicyStatus::Allowed | PolicyStatus::Deny => continue,
            PolicyStatus::Unknown => (TextRole::Faint, "not evaluated yet"),
            PolicyStatus::Warn => (TextRole::Warning, "warns"),
            PolicyStatus::Overridden => (TextRole::Warning, "overridden"),
        };
        let line = TextLine::indent(0).push_styled(TextRole::Strong, "POLICY").to_column(7).continue_at(7);
        let mut line = line
            .push_styled(role, result.name.as_str())
            .push_text(" ")
            .push_styled(role, word)
            .push_text("  ");
        let (names, more) = group.names();
        if !names.is_empty() {
            line = line.push_styled(TextRole::Strong, names.join(", "));
            line = line.push_text(if more > 0 { format!(" and {more} more  ") } else { "  ".to_owned() });
        }
        line = line.push_text(&result.message);
        if let Some(claims) = describe_claims(result) {
            line = line.push_styled(TextRole::Faint, format!(" ({claims})"));
        }
        let place = result.source.as_ref().filter(|_| group.addresses.len() < 2);
        page.add_line(match place {
            Some(place) => line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line)),
            None => line,
        });
    }
}
