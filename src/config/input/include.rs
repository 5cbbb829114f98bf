//! `include`: files of other directories that are read as if they were in the unit's directory. In: the files of a
//! unit; out: more documents of it. A file is read once, and paths in it are relative to its own directory.

use std::collections::{BTreeMap, BTreeSet};

use super::source_loader::{SourceUnit, SourceUnitLoader};
use crate::config::codes;
use crate::config::input::config_path::ConfigPath;
use crate::config::input::discovery::is_stack_file;
use crate::config::syntax::document::{Document, Node, NodeValue};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::Span;

/// The files of one unit, in the order of its documents.
#[derive(Debug, Default)]
pub(in crate::config) struct IncludedFiles {
    /// For each file, the index of the file that includes it, and the span of that `include`; `None` for a file
    /// of the directory itself.
    from: Vec<Option<(usize, Span)>>,
    known: BTreeMap<ConfigPath, usize>,
    failed: BTreeSet<ConfigPath>,
}

impl IncludedFiles {
    /// Adds a file of the directory itself.
    pub(in crate::config) fn add_file(
        &mut self,
        unit: &mut SourceUnit,
        place: ConfigPath,
        document: Document,
    ) {
        self.push(unit, place, None, document);
    }

    fn push(
        &mut self,
        unit: &mut SourceUnit,
        place: ConfigPath,
        from: Option<(usize, Span)>,
        document: Document,
    ) {
        self.known.insert(place.clone(), unit.documents.len());
        self.from.push(from);
        unit.documents.push(document);
        unit.files.push(place);
    }

    /// Reads the included files, transitively.
    pub(in crate::config) fn follow_includes(
        &mut self,
        gatherer: &mut SourceUnitLoader<'_>,
        unit: &mut SourceUnit,
    ) {
        let mut next = 0;
        while let Some(document) = unit.documents.get(next) {
            for node in included_paths(document, &mut gatherer.problems) {
                self.include_file(gatherer, unit, next, &node);
            }
            next += 1;
        }
    }

    fn include_file(
        &mut self,
        gatherer: &mut SourceUnitLoader<'_>,
        unit: &mut SourceUnit,
        from: usize,
        node: &Node,
    ) {
        let Some(place) = gatherer.follow_path(&unit.files[from].parent(), node) else { return };
        if !is_stack_file(place.name()) {
            gatherer.problems.push(
                Diagnostic::error(codes::INCLUDE, "only stack files are included")
                    .with_label(node.span, "")
                    .detail(format!("`{}` does not have the name of a stack file.", place.name()))
                    .help(
                        "name the file `NAME.stead.yaml` or `NAME.stead.kdl`; for a directory, write `use`",
                    ),
            );
            return;
        }
        if let Some(known) = self.known.get(&place) {
            let problem = self.already_read_problem(*known, from, node.span);
            gatherer.problems.push(problem);
            return;
        }
        // The problems of a file are reported once.
        if self.failed.contains(&place) {
            return;
        }
        match gatherer.open_file(&place, node.span) {
            Some(document) => self.push(unit, place, Some((from, node.span)), document),
            None => drop(self.failed.insert(place)),
        }
    }

    /// Returns the problem of a file that is read already.
    fn already_read_problem(&self, known: usize, from: usize, span: Span) -> Diagnostic {
        let mut way = vec![span];
        let mut here = Some(from);
        while let Some(at) = here.filter(|at| *at != known) {
            let Some((before, span)) = self.from[at] else { break };
            way.push(span);
            here = Some(before);
        }
        if here == Some(known) {
            let problem = Diagnostic::error(codes::INCLUDE_CYCLE, "files include each other in a cycle")
                .with_label(span, "closes the cycle")
                .help("remove this one: the file is part of the stack already");
            let others = way.iter().skip(1).rev().take(20);
            return others.fold(problem, |problem, span| problem.with_label(*span, "is part of the cycle"));
        }
        let problem = Diagnostic::error(codes::INCLUDE, "a file is read twice")
            .with_label(span, "")
            .detail("All files of a stack or module form one configuration: each is read once.")
            .help("remove one of the two");
        match self.from[known] {
            Some((_, first)) => problem.with_label(first, "included here first"),
            None => problem.help("remove the line: every stack file of the directory is read anyway"),
        }
    }
}

/// Returns the literal paths that a document includes; adds a problem for any other value.
fn included_paths(document: &Document, problems: &mut Vec<Diagnostic>) -> Vec<Node> {
    let mut found = Vec::new();
    for entry in document.root.iter().filter(|entry| entry.key == "include") {
        let nodes = match &entry.value.value {
            NodeValue::Sequence(items) => items.clone(),
            NodeValue::Scalar(_) => vec![entry.value.clone()],
            NodeValue::Null | NodeValue::Bare => Vec::new(),
            NodeValue::Mapping(_) => {
                problems.push(no_path(entry.value.span));
                continue;
            }
        };
        for node in nodes {
            match node.scalar() {
                Some(scalar) if !scalar.text.contains('$') => found.push(node),
                _ => problems.push(no_path(node.span)),
            }
        }
    }
    found
}

fn no_path(span: Span) -> Diagnostic {
    Diagnostic::error(codes::INCLUDE, "`include` takes paths of files")
        .with_label(span, "")
        .detail("They are literals, without `$`: the files of a stack cannot depend on values.")
        .help("write `include: [../shared/network.stead.yaml]`, or in KDL `include \"../shared/network.stead.kdl\"`")
}
