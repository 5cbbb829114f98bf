//! `DiagnosticsByEnvironment`: the problems of a stack in each of its environments. The selected environment is checked
//! first. The others follow, one at a time if the stack is large, so that a keystroke never waits for all of them.

use std::sync::Arc;

use crate::config::check::environments::{merge_problems, only_there};
use crate::config::load::CheckedConfig;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{SourceId, Sources, Span};

/// The problems found in each environment.
#[derive(Debug, Default)]
pub(in crate::editor::lsp) struct DiagnosticsByEnvironment {
    /// Name of the selected environment.
    chosen: Name,
    own: Vec<Diagnostic>,
    /// Policy violations in the selected environment. Policies are checked for the selected environment only.
    denied: Vec<Diagnostic>,
    others: Vec<(Name, Vec<Diagnostic>)>,
    /// Pairs of environments whose problems are the same.
    alike: Vec<(Name, Name)>,
    /// Environments that are not checked yet.
    left: Vec<Name>,
    /// The texts that were checked.
    texts: Vec<Arc<str>>,
}

impl DiagnosticsByEnvironment {
    /// Starts a new check with the selected environment; returns its sources. Problems that only other environments
    /// had stay until those are checked again, with their locations adjusted to the new text: else they would blink.
    pub(in crate::editor::lsp) fn restart_with(
        &mut self,
        checked: CheckedConfig,
        denied: Vec<Diagnostic>,
    ) -> Sources {
        let texts: Vec<Arc<str>> = checked.sources.iter().map(|(_, source)| source.text.clone()).collect();
        let moves: Vec<Option<TextShift>> =
            self.texts.iter().zip(&texts).map(|(old, new)| TextShift::from_texts(old, new)).collect();
        let before = std::mem::take(self);
        let known = |name: &Name| {
            let there = before.others.iter().find(|(other, _)| other == name)?;
            Some(only_there(&before.own, there.1.clone()))
        };
        let was = |name: Name| {
            let mut found = checked.diagnostics.clone();
            let mut old = known(&name).unwrap_or_default();
            for problem in &mut old {
                shift_spans(problem, &moves);
            }
            found.extend(old);
            (name, found)
        };
        *self = Self {
            chosen: checked.environment,
            others: checked.others.iter().cloned().map(was).collect(),
            own: checked.diagnostics,
            denied,
            alike: checked.alike,
            left: checked.others,
            texts,
        };
        checked.sources
    }

    /// Returns the environment to check next and marks it as checked; `None` if none is left.
    pub(in crate::editor::lsp) fn next(&mut self) -> Option<Name> {
        self.left.pop()
    }

    /// Returns whether any environment is not checked yet.
    pub(in crate::editor::lsp) fn is_behind(&self) -> bool {
        !self.left.is_empty()
    }

    /// Records the problems of an environment; no effect for an unknown one.
    pub(in crate::editor::lsp) fn add_environment(&mut self, name: &Name, found: Vec<Diagnostic>) {
        if let Some((_, known)) = self.others.iter_mut().find(|(other, _)| other == name) {
            *known = found;
        }
    }

    /// Returns the problems of all environments, without duplicates.
    pub(in crate::editor::lsp) fn diagnostics(&self) -> Vec<Diagnostic> {
        let of = |name: &Name| {
            let other = self.others.iter().find(|(other, _)| other == name);
            other.map_or_else(|| self.own.clone(), |(_, found)| found.clone())
        };
        let mut others = self.others.clone();
        others.extend(self.alike.iter().map(|(name, like)| (name.clone(), of(like))));
        let mut found = merge_problems(&self.chosen, self.own.clone(), &others);
        found.extend(self.denied.iter().cloned());
        found
    }
}

/// How far the text from the byte `from` on moved by an edit, in bytes.
struct TextShift {
    from: u32,
    delta: i64,
}

impl TextShift {
    fn from_texts(old: &str, new: &str) -> Option<Self> {
        if old == new {
            return None;
        }
        let most = old.len().min(new.len());
        let tail = old.bytes().rev().zip(new.bytes().rev()).take(most).take_while(|(a, b)| a == b).count();
        let delta = i64::try_from(new.len()).ok()? - i64::try_from(old.len()).ok()?;
        Some(Self { from: u32::try_from(old.len() - tail).ok()?, delta })
    }
}

fn shift_spans(problem: &mut Diagnostic, moves: &[Option<TextShift>]) {
    let fix = problem.fix.iter_mut().map(|fix| &mut fix.span);
    for span in problem.labels.iter_mut().map(|label| &mut label.span).chain(fix) {
        let Span { source: SourceId(id), .. } = *span;
        let Some(Some(TextShift { from, delta })) = moves.get(id as usize) else { continue };
        let moved = |at: u32| u32::try_from(i64::from(at) + delta).unwrap_or(at);
        if span.start >= *from {
            (span.start, span.end) = (moved(span.start), moved(span.end));
        }
    }
}
