//! Selection of units: by environment, by name or directory, and by what a change touched. In: all units, and the
//! parts of the selection. Out: the numbers of the selected units. The parts intersect; readers are added at the end.

use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobMatcher};
use thiserror::Error;

use super::graph::UnitGraph;
use super::unit::{Unit, UnitName};
use crate::model::address::Name;

/// A pattern for units: of their names (`shop/*`, `*/prod`; without a `/` of the stack's name), or of their
/// directories if it begins with `./` (`./teams/**`).
#[derive(Debug, Clone)]
pub struct UnitPattern {
    /// The pattern as it was written.
    text: String,
    subject: PatternSubject,
    matcher: GlobMatcher,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternSubject {
    Directory,
    Stack,
    UnitName,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not a pattern: {reason}")]
pub struct PatternError {
    /// The text as it was written.
    text: String,
    /// What is wrong with it, as a clause.
    reason: String,
}

impl UnitPattern {
    /// Parses a pattern: `*` and `?` match within a part of a name or path, `**` any number of directories.
    ///
    /// # Errors
    /// When it is empty, or a bracket or brace in it is not closed.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let (subject, pattern) = match text.strip_prefix("./") {
            Some("") => (PatternSubject::Directory, "."),
            Some(path) => (PatternSubject::Directory, path.trim_end_matches('/')),
            None if text.contains('/') => (PatternSubject::UnitName, text),
            None => (PatternSubject::Stack, text),
        };
        let wrong = |reason: String| PatternError { text: text.to_owned(), reason };
        if pattern.is_empty() {
            return Err(wrong("it is empty".to_owned()));
        }
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        let matcher = glob.map_err(|error| wrong(error.kind().to_string()))?.compile_matcher();
        Ok(Self { text: text.to_owned(), subject, matcher })
    }

    /// Returns the pattern as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the pattern selects a unit: a removed one has no directory, so only by its name.
    #[must_use]
    pub fn selects(&self, unit: &Unit) -> bool {
        self.matches(unit) && (!unit.is_removed || self.subject != PatternSubject::Directory)
    }

    /// Returns whether the pattern matches a directory relative to the root.
    #[must_use]
    pub fn matches_directory(&self, directory: &Name) -> bool {
        self.subject == PatternSubject::Directory && self.matcher.is_match(directory.as_str())
    }

    /// Returns whether the pattern matches the name or the directory of a unit.
    #[must_use]
    pub fn matches(&self, unit: &Unit) -> bool {
        match self.subject {
            PatternSubject::Directory => self.matcher.is_match(unit.directory.as_str()),
            PatternSubject::Stack => self.matcher.is_match(unit.name.stack.as_str()),
            PatternSubject::UnitName => self.matcher.is_match(unit.name.to_string()),
        }
    }
}

/// Two patterns are the same if their texts are: the compiled form has no comparison.
impl PartialEq for UnitPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// The parts of a selection.
#[derive(Debug, Clone, Default)]
pub struct UnitSelection<'a> {
    /// The only environment to select; `None` selects all.
    pub environment: Option<&'a Name>,
    /// Patterns, of which one must match; empty selects all.
    pub patterns: &'a [UnitPattern],
    /// What a change touched; `None` if that does not limit the selection.
    pub changed: Option<&'a ChangedUnits>,
    /// Whether the readers of the selected units are added, transitively.
    pub with_dependents: bool,
    /// Removed units that are selected whatever the other parts say.
    pub removals: &'a [UnitName],
    /// Whether removed units are left out unless `removals` has them.
    pub skips_removed: bool,
}

/// What a change touched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedUnits {
    /// Directories of the stacks that it touched.
    pub directories: BTreeSet<Name>,
    /// The removed units whose stack or environment it removed.
    pub removed: BTreeSet<UnitName>,
}

/// What limits a selection, as far as a remedy must know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectionLimits {
    /// The only environment.
    pub environment: Option<Name>,
    /// Whether patterns name the units.
    pub has_patterns: bool,
    /// Whether only changed stacks are selected.
    pub is_changed: bool,
}

impl SelectionLimits {
    /// Returns the flags that select a further unit beside one that is selected, and the flags that must be left out for
    /// that, as a phrase: the parts of a selection intersect, so a further pattern alone may add nothing.
    #[must_use]
    pub fn flags_to_add(&self, selected: &UnitName, further: &UnitName) -> String {
        let environment = self.environment.as_ref().filter(|only| **only != further.environment);
        if self.has_patterns && !self.is_changed && environment.is_none() {
            return format!("--stacks {further}");
        }
        // What the environment alone selects stays selected.
        let before = match environment {
            Some(only) if !(self.has_patterns || self.is_changed) => format!("'*/{only}'"),
            _ => selected.to_string(),
        };
        let both = format!("--stacks {before} --stacks {further}");
        let environment = environment.map(|only| format!("-e {only}"));
        let changed = self.is_changed.then(|| "--changed".to_owned());
        let replaced: Vec<String> = environment.into_iter().chain(changed).collect();
        if replaced.is_empty() { both } else { format!("{both} in place of {}", replaced.join(" and ")) }
    }
}

/// The selected units.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectedUnits {
    /// Numbers of the selected units, ascending.
    pub units: BTreeSet<usize>,
    /// Those of them that were only added as readers, directly or through others.
    pub readers: BTreeSet<usize>,
    /// Number of units that only the selection of an environment leaves out, because their stack declares none.
    pub without_environments: usize,
}

/// Why a selection is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SelectionError {
    /// A pattern selects no unit of the repository.
    #[error("`{pattern}` matches no unit")]
    NoMatch {
        /// The pattern as it was written.
        pattern: String,
    },
    /// No stack declares the environment.
    #[error("no stack has the environment `{environment}`")]
    NoEnvironment {
        /// The environment as it was named.
        environment: Name,
    },
}

/// Selects units. A removed unit is selected like the others, but by no pattern for directories; and if `removals` has it.
///
/// # Errors
/// When a pattern matches no unit, or no stack declares the environment: a misspelled name must not select nothing.
pub fn select(
    units: &[Unit],
    graph: &UnitGraph,
    selection: &UnitSelection<'_>,
) -> Result<SelectedUnits, SelectionError> {
    let is_left_out = |unit: &Unit| unit.is_removed && selection.skips_removed;
    for pattern in selection.patterns {
        if !units.iter().any(|unit| pattern.selects(unit) && !is_left_out(unit)) {
            return Err(SelectionError::NoMatch { pattern: pattern.text().to_owned() });
        }
    }
    let mut listed = units.iter().filter(|unit| !is_left_out(unit)).peekable();
    if let Some(environment) = selection.environment {
        let has = |unit: &Unit| unit.has_environments && unit.name.environment == *environment;
        if listed.peek().is_some() && !listed.any(has) {
            return Err(SelectionError::NoEnvironment { environment: environment.clone() });
        }
    }
    let mut selected = SelectedUnits::default();
    for (number, unit) in units.iter().enumerate() {
        if selection.removals.contains(&unit.name) {
            selected.units.insert(number);
        } else if !is_left_out(unit) && selection.has(unit) {
            match selection.environment {
                Some(_) if !unit.has_environments => {
                    selected.without_environments += usize::from(!unit.is_removed);
                }
                Some(environment) if unit.name.environment != *environment => {}
                _ => drop(selected.units.insert(number)),
            }
        }
    }
    if selection.with_dependents {
        let all = graph.with_readers(&selected.units);
        selected.readers = all.difference(&selected.units).copied().collect();
        selected.units = all;
    }
    Ok(selected)
}

impl UnitSelection<'_> {
    /// Returns whether a unit is selected by its name and by what changed.
    fn has(&self, unit: &Unit) -> bool {
        let is_changed = |changed: &ChangedUnits| {
            if unit.is_removed {
                changed.removed.contains(&unit.name)
            } else {
                changed.directories.contains(&unit.directory)
            }
        };
        self.matches_patterns(unit) && self.changed.is_none_or(is_changed)
    }

    /// Returns whether the patterns and the environment select a unit.
    #[must_use]
    pub fn includes_name_of(&self, unit: &Unit) -> bool {
        let has_environment = |wanted: &Name| unit.has_environments && unit.name.environment == *wanted;
        self.matches_patterns(unit) && self.environment.is_none_or(has_environment)
    }

    fn matches_patterns(&self, unit: &Unit) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.selects(unit))
    }

    /// Returns whether a stack that cannot be read may be selected. `earlier` are the units that it had before; `None` if
    /// they are not known, so that only its directory tells.
    #[must_use]
    pub fn may_select_unreadable(&self, directory: &Name, earlier: Option<&[Unit]>) -> bool {
        match earlier {
            Some(units) => units.iter().any(|unit| self.includes_name_of(unit)),
            None => {
                self.patterns.is_empty()
                    || self.patterns.iter().any(|pattern| pattern.matches_directory(directory))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(stack: &str, environment: &str, directory: &str) -> Unit {
        Unit {
            name: UnitName { stack: stack.into(), environment: environment.into() },
            directory: directory.into(),
            has_environments: environment != "default",
            is_removed: directory == "gone",
            upstream: Vec::new(),
        }
    }

    fn units() -> Vec<Unit> {
        vec![
            unit("shop", "prod", "teams/shop"),
            unit("shop", "dev", "teams/shop"),
            unit("net", "prod", "net"),
            unit("tool", "default", "."),
        ]
    }

    fn selected(patterns: &[&str], environment: Option<&str>) -> Result<Vec<String>, SelectionError> {
        let (units, environment) = (units(), environment.map(Name::new));
        let patterns: Vec<_> = patterns.iter().map(|text| UnitPattern::parse(text).unwrap()).collect();
        let selection = UnitSelection {
            environment: environment.as_ref(),
            patterns: &patterns,
            ..UnitSelection::default()
        };
        let found = select(&units, &UnitGraph::new(&units), &selection)?;
        Ok(found.units.iter().map(|number| units[*number].name.to_string()).collect())
    }

    #[test]
    fn patterns_match_names_stacks_and_directories() {
        let all = ["shop/prod", "shop/dev", "net/prod", "tool/default"];
        for (patterns, wanted) in [
            (&[][..], &all[..]),
            (&["shop/*"][..], &["shop/prod", "shop/dev"][..]),
            (&["*/prod"][..], &["shop/prod", "net/prod"][..]),
            (&["net"][..], &["net/prod"][..]),
            (&["net", "tool"][..], &["net/prod", "tool/default"][..]),
            (&["./teams/**"][..], &["shop/prod", "shop/dev"][..]),
            (&["./"][..], &["tool/default"][..]),
            (&["{net,tool}/*"][..], &["net/prod", "tool/default"][..]),
        ] {
            assert_eq!(selected(patterns, None).unwrap(), wanted, "{patterns:?}");
        }
    }

    #[test]
    fn an_environment_leaves_out_stacks_without_environments_and_counts_them() {
        assert_eq!(selected(&[], Some("prod")).unwrap(), ["shop/prod", "net/prod"]);
        assert_eq!(selected(&["shop"], Some("prod")).unwrap(), ["shop/prod"]);
        let (units, prod) = (units(), Name::new("prod"));
        let selection = UnitSelection { environment: Some(&prod), ..UnitSelection::default() };
        assert_eq!(select(&units, &UnitGraph::new(&units), &selection).unwrap().without_environments, 1);
    }

    #[test]
    fn a_removed_unit_is_selected_like_the_others_but_not_by_a_directory() {
        let mut units = units();
        units.push(unit("old", "prod", "gone"));
        units.push(unit("shop", "test", "gone"));
        let removed = |patterns: &[&str], limits: UnitSelection<'_>| {
            let patterns: Vec<_> = patterns.iter().map(|text| UnitPattern::parse(text).unwrap()).collect();
            let selection = UnitSelection { patterns: &patterns, ..limits };
            let found = select(&units, &UnitGraph::new(&units), &selection)?;
            let removed = found.units.into_iter().filter(|number| units[*number].is_removed);
            Ok::<_, SelectionError>(
                removed.map(|number| units[number].name.to_string()).collect::<Vec<_>>(),
            )
        };
        for (patterns, wanted) in [
            (&[][..], &["old/prod", "shop/test"][..]),
            (&["old"], &["old/prod"]),
            (&["old/*"], &["old/prod"]),
            (&["old/prod", "net"], &["old/prod"]),
            (&["*/prod"], &["old/prod"]),
            (&["*"], &["old/prod", "shop/test"]),
            (&["shop/dev"], &[]),
            (&["shop"], &["shop/test"]),
            (&["./**"], &[]),
        ] {
            assert_eq!(removed(patterns, UnitSelection::default()).unwrap(), wanted, "{patterns:?}");
        }
        let (prod, none, named) = (Name::new("prod"), ChangedUnits::default(), [units[4].name.clone()]);
        let gone = ChangedUnits { removed: [units[5].name.clone()].into(), ..ChangedUnits::default() };
        let in_prod = UnitSelection { environment: Some(&prod), ..UnitSelection::default() };
        let changed = UnitSelection { changed: Some(&none), ..UnitSelection::default() };
        let skipping = UnitSelection { skips_removed: true, ..UnitSelection::default() };
        assert!(removed(&["./gone"], UnitSelection::default()).is_err());
        assert_eq!(removed(&[], in_prod.clone()).unwrap(), ["old/prod"]);
        assert!(removed(&["shop"], in_prod).unwrap().is_empty());
        assert!(removed(&[], changed.clone()).unwrap().is_empty());
        assert_eq!(removed(&["net"], UnitSelection { removals: &named, ..changed }).unwrap(), ["old/prod"]);
        let changed = UnitSelection { changed: Some(&gone), ..UnitSelection::default() };
        assert_eq!(removed(&[], changed.clone()).unwrap(), ["shop/test"]);
        assert!(removed(&["old"], changed).unwrap().is_empty());
        assert!(removed(&[], skipping.clone()).unwrap().is_empty());
        assert!(removed(&["old"], skipping).is_err());
    }

    #[test]
    fn a_stack_that_cannot_be_read_is_selected_by_its_directory_or_by_what_it_was() {
        let was = [unit("net", "prod", "net"), unit("net", "dev", "net")];
        let (net, prod, test) = (Name::new("net"), Name::new("prod"), Name::new("test"));
        let may = |patterns: &[&str], environment, earlier| {
            let patterns: Vec<_> = patterns.iter().map(|text| UnitPattern::parse(text).unwrap()).collect();
            let selection = UnitSelection { patterns: &patterns, environment, ..UnitSelection::default() };
            selection.may_select_unreadable(&net, earlier)
        };
        assert!(may(&[], None, None) && may(&[], Some(&prod), None) && may(&["./n*"], None, None));
        assert!(!may(&["net"], None, None) && !may(&["./app"], None, None));
        let known = Some(&was[..]);
        assert!(
            may(&[], None, known) && may(&["*/prod"], None, known) && may(&["net"], Some(&prod), known)
        );
        assert!(!may(&["app"], None, known) && !may(&[], Some(&test), known));
    }

    #[test]
    fn a_misspelled_name_is_an_error_and_a_change_of_nothing_is_not() {
        let missing = SelectionError::NoMatch { pattern: "sohp".to_owned() };
        assert_eq!(selected(&["net", "sohp"], None), Err(missing));
        let missing = SelectionError::NoEnvironment { environment: "prd".into() };
        assert_eq!(selected(&[], Some("prd")), Err(missing));
        assert!(UnitPattern::parse("").is_err() && UnitPattern::parse("{a").is_err());
        let (units, none) = (units(), ChangedUnits::default());
        let selection = UnitSelection { changed: Some(&none), ..UnitSelection::default() };
        assert!(select(&units, &UnitGraph::new(&units), &selection).unwrap().units.is_empty());
    }
}
