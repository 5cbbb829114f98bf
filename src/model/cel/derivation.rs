//! The canonical form of an expression over secrets. In: its tree and the values that it names. Out: a `Derivation`, or
//! the resources that it depends on.
//!
//! Invariant: it depends on what the expression names and never on the text of a secret. So it includes every branch,
//! also one that the evaluation does not take.

use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::functions::{FUNCTION_NAMES, unknown_function};
use super::item::{CelObject, CelValue};
use super::parse::{PathSegment, ReferencePath, child_nodes, path_of};
use super::scope::{ExpressionScope, FILES_BINDING};
use super::walk::evaluate_tree;
use crate::model::address::Address;
use crate::model::budget::Budget;
use crate::model::expression::EvaluationError;
use crate::model::values::derived::Derivation;
use crate::model::values::value::Value;

/// The reason why there is no derivation.
pub(super) enum DerivationError {
    /// The expression depends on these resources, which are unknown.
    Unknown(Vec<Address>),
    /// Something that it names cannot be read, such as a file: its result then has no identity and is refused.
    Unreadable,
}

/// Returns the derivation of a tree over the values that it names, whichever branches the evaluation takes.
pub(super) fn derive_tree(
    tree: &IdedExpr,
    scope: &ExpressionScope<'_>,
) -> Result<Derivation, DerivationError> {
    let mut fields = BTreeSet::new();
    let is_static = collect_fields(&tree.expr, &mut fields);
    let deriver = Deriver { scope, fields: is_static.then_some(fields) };
    deriver.derive_node(&tree.expr, &mut Vec::new())
}

struct Deriver<'s, 'a> {
    scope: &'s ExpressionScope<'a>,
    /// The attributes that the expression can read of an object that a macro iterates over; `None` where a computed
    /// key can name any.
    fields: Option<BTreeSet<&'s str>>,
}

impl<'s> Deriver<'s, '_> {
    fn derive_node(&self, expr: &'s Expr, bound: &mut Vec<&'s str>) -> Result<Derivation, DerivationError> {
        if let Some(path) = path_of(expr)
            && !bound.contains(&path.root.as_str())
            && let Some(root) = self.scope.roots.get(&path.root)
        {
            return self.derive_path(&path, root.clone(), expr, bound);
        }
        let all = |exprs: Vec<&'s Expr>, bound: &mut Vec<&'s str>| {
            exprs.into_iter().map(|expr| self.derive_node(expr, bound)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match expr {
            Expr::Literal(literal) => leaf_derivation(&literal_value(literal)),
            Expr::Ident(name) => Derivation::node("variable", &[name], []),
            Expr::Call(CallExpr { func_name, args, target: None }) if func_name == "file" => {
                let [path] = args.as_slice() else { return Err(DerivationError::Unreadable) };
                self.derive_file(&path.expr)?
            }
            Expr::Call(call) => {
                let target = if call.target.is_some() { "method" } else { "call" };
                Derivation::node(target, &[&call.func_name], all(child_nodes(expr), bound)?)
            }
            Expr::Select(select) => {
                let tag = if select.test { "has" } else { "select" };
                Derivation::node(tag, &[&select.field], all(child_nodes(expr), bound)?)
            }
            Expr::List(_) => Derivation::node("list", &[], all(child_nodes(expr), bound)?),
            Expr::Map(map) => {
                let literal = |entry: &EntryExpr| match entry {
                    EntryExpr::MapEntry(entry) => literal_text(&entry.key.expr).is_some(),
                    EntryExpr::StructField(_) => false,
                };
                let tag =
                    if map.entries.iter().all(|entry| literal(&entry.expr)) { "map" } else { "entries" };
                Derivation::node(tag, &[], all(child_nodes(expr), bound)?)
            }
            Expr::Comprehension(c) => {
                let range = self.derive_node(&c.iter_range.expr, bound)?;
                let before = bound.len();
                bound.extend([c.iter_var.as_str(), c.accu_var.as_str()]);
                bound.extend(c.iter_var2.as_deref());
                let inner = [&c.accu_init, &c.loop_cond, &c.loop_step, &c.result].map(|part| &part.expr);
                let inner = all(inner.into(), bound);
                bound.truncate(before);
                let names = [c.iter_var.as_str(), c.iter_var2.as_deref().unwrap_or_default()];
                Derivation::node("macro", &names, std::iter::once(range).chain(inner?))
            }
            Expr::Struct(_) | Expr::Unspecified => return Err(DerivationError::Unreadable),
        })
    }

    /// Returns the derivation of a path: the value at the segments that are names, then the computed segments.
    /// Other parts of the root do not count, so that a change of them does not change the id.
    fn derive_path(
        &self,
        path: &ReferencePath,
        root: CelValue<'_>,
        expr: &'s Expr,
        bound: &mut Vec<&'s str>,
    ) -> Result<Derivation, DerivationError> {
        let mut item = root;
        let mut rest = path.segments.as_slice();
        while let [PathSegment::Name(name), after @ ..] = rest {
            let next = match (&item, item.entry(name)) {
                (_, Some(next)) => next,
                (CelValue::Object(object, _), None) if object.complete => CelValue::Scalar(Value::Null),
                (CelValue::Object(object, _), None) => return Err(waits_for_object(object)),
                _ => break,
            };
            item = next;
            rest = after;
        }
        let base = match rest {
            // A missing name: no other part of the map enters the expression.
            [PathSegment::Name(_), ..] => Derivation::node("absent", &[path.root.as_str()], []),
            rest => self.derive_item(&item, rest.is_empty())?,
        };
        if rest.is_empty() && !path.tested {
            return Ok(base);
        }
        let mut all = vec![base];
        let mut names = vec![if path.tested { "has" } else { "path" }];
        names.extend(rest.iter().filter_map(|segment| match segment {
            PathSegment::Name(name) => Some(name.as_str()),
            PathSegment::Computed(_) => None,
        }));
        for key in computed_keys(expr) {
            all.push(self.derive_node(key, bound)?);
        }
        Ok(Derivation::node("path", &names, all))
    }

    fn derive_item(&self, item: &CelValue<'_>, whole: bool) -> Result<Derivation, DerivationError> {
        if let CelValue::Object(object, children) = item {
            let read = |name: &str| {
                whole && self.fields.as_ref().is_none_or(|fields| fields.contains(name)) || name == "id"
            };
            let mut names = vec![object.address.as_str()];
            let mut all = Vec::new();
            for (name, value) in object.attributes.iter().filter(|(name, _)| read(name)) {
                names.push(name);
                all.push(Derivation::from_value(value).ok_or_else(|| waits_for(value))?);
            }
            for (name, child) in children.iter() {
                names.push(name);
                all.push(self.derive_item(child, true)?);
            }
            let lacks = |name: &&str| !object.attributes.contains_key(*name);
            let may_come = self.fields.as_ref().is_none_or(|fields| fields.iter().any(lacks));
            if !object.complete && may_come {
                return Err(waits_for_object(object));
            }
            return Ok(Derivation::node("object", &names, all));
        }
        if let Some(items) = item.elements() {
            let all =
                items.iter().map(|item| self.derive_item(item, true)).collect::<Result<Vec<_>, _>>()?;
            return Ok(Derivation::node("list", &[], all));
        }
        if let Some(entries) = item.entries() {
            let all = entries
                .iter()
                .map(|(_, item)| self.derive_item(item, true))
                .collect::<Result<Vec<_>, _>>()?;
            let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
            return Ok(Derivation::node("map", &keys, all));
        }
        match item {
            CelValue::Scalar(value) => Derivation::from_value(value).ok_or_else(|| waits_for(value)),
            _ => Err(DerivationError::Unreadable),
        }
    }

    /// Returns the derivation of a file's text: it depends on the content, not on the path. It fails if the path is
    /// computed from a secret or the file cannot be read.
    fn derive_file(&self, path: &'s Expr) -> Result<Derivation, DerivationError> {
        // The path may be computed, but not from a secret: it is then the same in every run.
        let tree = IdedExpr { id: 0, expr: path.clone() };
        let own = Budget::default();
        let evaluated = evaluate_tree(&tree, self.scope, self.scope.budget.unwrap_or(&own));
        let (false, Ok(Value::Text(path))) = (evaluated.is_sensitive, evaluated.outcome) else {
            return Err(DerivationError::Unreadable);
        };
        let kept = self.scope.roots.get(FILES_BINDING).and_then(|files| files.entry(&path));
        let text = match (kept, self.scope.read) {
            (Some(CelValue::Scalar(Value::Text(text))), _) => text.to_string(),
            (_, Some(read)) => read(&path).map_err(|_| DerivationError::Unreadable)?,
            _ => return Err(DerivationError::Unreadable),
        };
        Ok(Derivation::node("text", &[&text], []))
    }
}

/// Returns the error for an expression that calls a function which does not exist: the source shows the call, so the
/// message reveals nothing about a secret. `None` if all functions exist.
pub(super) fn missing_function(expr: &Expr) -> Option<EvaluationError> {
    if let Expr::Call(call) = expr
        && call.func_name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !FUNCTION_NAMES.contains(&call.func_name.as_str())
    {
        return Some(unknown_function(&call.func_name, &[]));
    }
    child_nodes(expr).into_iter().find_map(missing_function)
}

/// Collects every name that may be an attribute. Returns whether these are all: a computed key, `keys` and
/// `values` can reach others.
fn collect_fields<'e>(expr: &'e Expr, into: &mut BTreeSet<&'e str>) -> bool {
    let mut is_static = true;
    match expr {
        Expr::Select(select) => drop(into.insert(&select.field)),
        Expr::Literal(LiteralValue::String(text)) => drop(into.insert(text.inner())),
        Expr::Call(call) if call.func_name == operators::INDEX => {
            is_static = call.args.last().is_some_and(|key| literal_text(&key.expr).is_some());
        }
        Expr::Call(call) if ["get", "keys", "values"].contains(&call.func_name.as_str()) => {
            is_static = call.func_name != "get"
                || call.args.get(1).is_some_and(|key| literal_text(&key.expr).is_some());
        }
        _ => {}
    }
    child_nodes(expr).into_iter().fold(is_static, |all, part| collect_fields(part, into) && all)
}

/// Returns the computed keys of a path, in the order of the source.
fn computed_keys(expr: &Expr) -> Vec<&Expr> {
    let mut found = Vec::new();
    let mut open = Some(expr);
    while let Some(expr) = open {
        open = match expr {
            Expr::Select(select) => Some(&select.operand.expr),
            Expr::Call(call) if call.func_name == operators::INDEX => {
                let key = call.args.get(1).map(|key| &key.expr);
                found.extend(key.filter(|key| literal_text(key).is_none()));
                call.args.first().map(|operand| &operand.expr)
            }
            _ => None,
        };
    }
    found.reverse();
    found
}

fn leaf_derivation(value: &Value) -> Derivation {
    Derivation::from_value(value).unwrap_or_else(|| Derivation::node("unknown", &[], []))
}

fn literal_value(literal: &LiteralValue) -> Value {
    match literal {
        LiteralValue::Boolean(b) => Value::Bool(*b.inner()),
        LiteralValue::Int(n) => Value::Integer(*n.inner()),
        LiteralValue::String(text) => Value::text(text.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::UInt(n) => Value::text(n.inner().to_string()),
        LiteralValue::Double(n) => Value::text(n.inner().to_string()),
        LiteralValue::Bytes(bytes) => Value::text(format!("{:x?}", bytes.inner())),
    }
}

fn literal_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

fn waits_for_object(object: &CelObject) -> DerivationError {
    DerivationError::Unknown(vec![object.address.clone()])
}

fn waits_for(value: &Value) -> DerivationError {
    DerivationError::Unknown(value.waits_for())
}
