//! `CelProgram`: a parsed expression within bounds, and the paths that it names. In: the source between `${` and `}`.
//! Out: a tree that is small enough to walk by recursion, or a `SyntaxError`. Nothing is evaluated here.

use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};
use cel::parser::PrattParser;

use crate::model::address::Name;

/// Maximum length of a source, in bytes.
const MAX_SOURCE_BYTES: usize = 16 * 1024;
/// Maximum number of nodes, after macros are expanded.
const MAX_SYNTAX_NODES: usize = 4096;
/// Maximum recursion depth of the parser.
const MAX_PARSER_RECURSION: u16 = 64;
/// Maximum depth of the tree: a long sum nests to the left without any bracket.
const MAX_TREE_DEPTH: usize = 200;

/// A parsed expression. Its tree is small enough to walk by recursion.
#[derive(Debug, Clone)]
pub struct CelProgram {
    tree: IdedExpr,
}

/// The reason why a source text is not a valid expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// One sentence without full stop.
    pub message: String,
    /// The byte offset in the source; `None` where the problem is the whole expression, such as its length.
    pub offset: Option<usize>,
}

/// A path that an expression reads: `vm.web["a"].public_ipv4_address`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferencePath {
    /// The first name of the path.
    pub root: Name,
    /// The segments after the root that are part of the path.
    pub segments: Vec<PathSegment>,
    /// Whether the path is the argument of `has(…)`: then it may be missing.
    pub tested: bool,
}

/// One segment of a path.
#[derive(Debug, Clone, PartialEq)]
pub enum PathSegment {
    /// A name or a literal key.
    Name(Name),
    /// A key that another expression computes.
    Computed(Box<CelProgram>),
}

impl CelProgram {
    /// Parses the source text of a CEL expression.
    ///
    /// # Errors
    /// When it is no CEL, or larger or deeper than the bounds.
    pub fn parse(source: &str) -> Result<Self, SyntaxError> {
        let too = |message: String| SyntaxError { message, offset: None };
        if source.len() > MAX_SOURCE_BYTES {
            return Err(too(format!("the expression is longer than {MAX_SOURCE_BYTES} bytes")));
        }
        let tree = PrattParser::new()
            .max_recursion_depth(MAX_PARSER_RECURSION)
            .max_expression_node_count(MAX_SYNTAX_NODES)
            .enable_ident_escape_syntax(true)
            .parse(source)
            .map_err(|errors| first_error(source, &errors))?;
        if tree_height(&tree) > MAX_TREE_DEPTH {
            return Err(too(format!("the expression nests deeper than {MAX_TREE_DEPTH} operations")));
        }
        Ok(Self { tree })
    }

    pub(super) fn tree(&self) -> &IdedExpr {
        &self.tree
    }

    /// Returns the path if the whole expression is one: `vpc.main`. `None` for any other expression, also for `has(…)`.
    #[must_use]
    pub fn as_path(&self) -> Option<ReferencePath> {
        path_of(&self.tree.expr).filter(|path| !path.tested)
    }

    /// Returns every path that the expression reads, repeated where it is named again; those in computed keys
    /// precede the path. Names that a macro binds are not among them.
    #[must_use]
    pub fn paths(&self) -> Vec<ReferencePath> {
        let mut found = Vec::new();
        collect_paths(&self.tree.expr, &mut BTreeSet::new(), &mut found);
        found
    }

    /// Returns the paths that macros over a list read of its entries; the root of each is the macro's variable. For
    /// `plan.changes.exists(c, c.after.size > 1)` and `["plan", "changes"]` that is `c.after.size`.
    #[must_use]
    pub fn entry_paths(&self, list: &[&str]) -> Vec<ReferencePath> {
        let mut found = Vec::new();
        let mut open = vec![&self.tree.expr];
        while let Some(expr) = open.pop() {
            if let Expr::Comprehension(c) = expr
                && path_of(&c.iter_range.expr).is_some_and(|path| path.is_named(list))
            {
                for part in [&c.loop_cond, &c.loop_step, &c.result] {
                    collect_rooted(&part.expr, &c.iter_var, &mut found);
                }
            }
            open.extend(child_nodes(expr));
        }
        found
    }

    /// Returns the texts with which a path that ends in a name is compared: `vm` in `self.kind == 'vm'`.
    #[must_use]
    pub fn compared_texts(&self, name: &str) -> Vec<(ReferencePath, Name)> {
        let mut found = Vec::new();
        let mut open = vec![&self.tree.expr];
        while let Some(expr) = open.pop() {
            open.extend(child_nodes(expr));
            let Expr::Call(call) = expr else { continue };
            let compares = [operators::EQUALS, operators::NOT_EQUALS, operators::IN];
            let [left, right] = call.args.as_slice() else { continue };
            if call.target.is_some() || !compares.contains(&call.func_name.as_str()) {
                continue;
            }
            for (path, other) in [(left, right), (right, left)] {
                let Some(path) = path_of(&path.expr) else { continue };
                let is_last =
                    |segment: &PathSegment| matches!(segment, PathSegment::Name(last) if last == name);
                if path.segments.last().is_some_and(is_last) {
                    found.extend(literal_texts(&other.expr).into_iter().map(|text| (path.clone(), text)));
                }
            }
        }
        found
    }

    /// Returns whether the expression calls the function or method of this name, in any branch.
    #[must_use]
    pub fn calls_function(&self, function: &str) -> bool {
        fn search_calls(expr: &Expr, function: &str) -> bool {
            matches!(expr, Expr::Call(call) if call.func_name == function)
                || child_nodes(expr).into_iter().any(|part| search_calls(part, function))
        }
        search_calls(&self.tree.expr, function)
    }
}

impl PartialEq for CelProgram {
    fn eq(&self, other: &Self) -> bool {
        self.tree == other.tree
    }
}

impl ReferencePath {
    /// Returns whether the path has exactly these names.
    #[must_use]
    pub fn is_named(&self, names: &[&str]) -> bool {
        let Some((root, rest)) = names.split_first() else { return false };
        let is_same = |(segment, name): (&PathSegment, &&str)| matches!(segment, PathSegment::Name(own) if own == name);
        self.root == *root
            && self.segments.len() == rest.len()
            && self.segments.iter().zip(rest).all(is_same)
    }

    /// Returns the name of a segment; `None` if it is computed, or there is none.
    #[must_use]
    pub fn segment_name(&self, number: usize) -> Option<&Name> {
        match self.segments.get(number)? {
            PathSegment::Name(name) => Some(name),
            PathSegment::Computed(_) => None,
        }
    }
}

/// Collects the paths whose root is a macro's variable, outside of macros that bind the name again.
fn collect_rooted(expr: &Expr, variable: &str, into: &mut Vec<ReferencePath>) {
    if let Some(path) = path_of(expr).filter(|path| path.root == variable) {
        into.push(path);
        return;
    }
    if let Expr::Comprehension(c) = expr
        && c.iter_var == variable
    {
        collect_rooted(&c.iter_range.expr, variable, into);
        return;
    }
    for part in child_nodes(expr) {
        collect_rooted(part, variable, into);
    }
}

/// Returns the text of a literal, or those of a list of literals.
fn literal_texts(expr: &Expr) -> Vec<Name> {
    match expr {
        Expr::Literal(LiteralValue::String(text)) => vec![Name::new(text.inner())],
        Expr::List(list) => list.elements.iter().flat_map(|item| literal_texts(&item.expr)).collect(),
        _ => Vec::new(),
    }
}

fn first_error(source: &str, errors: &cel::ParseErrors) -> SyntaxError {
    let Some(error) = errors.errors.first() else {
        return SyntaxError { message: "it is not an expression".into(), offset: None };
    };
    let line = usize::try_from(error.pos.0).unwrap_or(0);
    let column = usize::try_from(error.pos.1).unwrap_or(0);
    let before: usize = source.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let offset = (line > 0).then(|| (before + column.saturating_sub(1)).min(source.len()));
    let message = error.msg.lines().next().unwrap_or_default();
    let message = message.strip_prefix("Syntax error: ").unwrap_or(message);
    SyntaxError { message: message.to_owned(), offset }
}

/// Returns the child expressions of a node in the order of the source; empty for a leaf.
pub(super) fn child_nodes(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Call(call) => call
            .target
            .iter()
            .map(|target| &target.expr)
            .chain(call.args.iter().map(|arg| &arg.expr))
            .collect(),
        Expr::Comprehension(c) => [&c.iter_range, &c.accu_init, &c.loop_cond, &c.loop_step, &c.result]
            .map(|part| &part.expr)
            .into(),
        Expr::List(list) => list.elements.iter().map(|element| &element.expr).collect(),
        Expr::Map(map) => map
            .entries
            .iter()
            .flat_map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => vec![&entry.key.expr, &entry.value.expr],
                EntryExpr::StructField(field) => vec![&field.value.expr],
            })
            .collect(),
        Expr::Select(select) => vec![&select.operand.expr],
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) => Vec::new(),
    }
}

/// Returns the height of a tree, without recursion.
fn tree_height(tree: &IdedExpr) -> usize {
    let mut deepest = 0;
    let mut open = vec![(&tree.expr, 1)];
    while let Some((expr, depth)) = open.pop() {
        deepest = deepest.max(depth);
        open.extend(child_nodes(expr).into_iter().map(|part| (part, depth + 1)));
    }
    deepest
}

fn collect_paths(expr: &Expr, bound: &mut BTreeSet<String>, into: &mut Vec<ReferencePath>) {
    if let Some(path) = path_of(expr).filter(|path| !bound.contains(path.root.as_str())) {
        for segment in &path.segments {
            if let PathSegment::Computed(key) = segment {
                collect_paths(&key.tree.expr, bound, into);
            }
        }
        into.push(path);
        return;
    }
    if let Expr::Comprehension(c) = expr {
        collect_paths(&c.iter_range.expr, bound, into);
        let mut inner = bound.clone();
        inner.extend([c.iter_var.clone(), c.accu_var.clone()]);
        inner.extend(c.iter_var2.clone());
        for part in [&c.accu_init, &c.loop_cond, &c.loop_step, &c.result] {
            collect_paths(&part.expr, &mut inner, into);
        }
        return;
    }
    for part in child_nodes(expr) {
        collect_paths(part, bound, into);
    }
}

/// Returns the path that a node represents; `None` for any other expression.
pub(super) fn path_of(expr: &Expr) -> Option<ReferencePath> {
    match expr {
        Expr::Ident(name) => {
            Some(ReferencePath { root: Name::new(name), segments: Vec::new(), tested: false })
        }
        Expr::Select(select) => {
            let mut path = path_of(&select.operand.expr)?;
            path.segments.push(PathSegment::Name(Name::new(&select.field)));
            path.tested |= select.test;
            Some(path)
        }
        Expr::Call(CallExpr { func_name, target: None, args }) if func_name == operators::INDEX => {
            let [operand, key] = args.as_slice() else { return None };
            let mut path = path_of(&operand.expr)?;
            path.segments.push(match &key.expr {
                Expr::Literal(LiteralValue::String(text)) => PathSegment::Name(Name::new(text.inner())),
                _ => PathSegment::Computed(Box::new(CelProgram { tree: key.clone() })),
            });
            Some(path)
        }
        _ => None,
    }
}
