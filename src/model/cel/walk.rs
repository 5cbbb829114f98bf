//! The walk over an expression's tree: operators, paths and comprehensions, counted step by step.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, MapExpr, SelectExpr, operators,
};

use super::arithmetic::{as_decimal, compute_arithmetic};
use super::derivation::{Missing, derive_tree, missing_function};
use super::item::{Item, boolean_or_unknown, index_item};
use super::{Scope, functions};
use crate::model::address::{Address, Name};
use crate::model::budget::Budget;
use crate::model::derived::Derived;
use crate::model::diagnostic::nearest_name;
use crate::model::expression::EvaluationError;
use crate::model::secret::Secret;
use crate::model::value::{Value, parse_decimal};

/// What a step of the walk gives.
pub(super) type Outcome<'a> = Result<Item<'a>, EvaluationError>;

/// Computes the value of a tree.
///
/// Where a secret is looked into, the whole value is one secret: what it holds, how many, and whether it is there at
/// all could tell something of it. A secret that is only passed on stays a part of the list or map that is written.
pub(super) fn run(tree: &IdedExpr, scope: &Scope<'_>, budget: &Budget) -> Result<Value, EvaluationError> {
    let mut walk = Walk {
        scope,
        budget,
        locals: Vec::new(),
        steps: 0,
        taint: Taint::default(),
        fails_on_withheld: false,
    };
    let outcome = walk.evaluate_root(&tree.expr).map(Item::into_value);
    if !walk.taint.secret {
        return outcome;
    }
    if let Some(failure) = missing_function(&tree.expr) {
        return Err(failure);
    }
    let derivation = match derive_tree(tree, scope) {
        Ok(derivation) => derivation,
        Err(Missing::Waits(mut addresses)) => {
            addresses.sort();
            addresses.dedup();
            return Ok(Value::Unknown(addresses));
        }
        Err(Missing::Unreadable) => return Err(EvaluationError::Sensitive),
    };
    let derived = match outcome {
        Ok(value) if value.is_unknown() => return Ok(Value::Unknown(value.waits_for())),
        Ok(value) => Derived::new(derivation, value),
        // It fails on what stands in for a secret; on the secret it may not.
        Err(_) if walk.fails_on_withheld => Derived::unavailable(derivation),
        Err(_) => return Err(EvaluationError::Sensitive),
    };
    Ok(Value::Secret(Secret::Derived(Box::new(derived))))
}

/// Returns a failure in words.
pub(super) fn evaluation_failure(text: impl Into<String>) -> EvaluationError {
    EvaluationError::Failed(text.into())
}

/// What secrets had to do with something.
#[derive(Clone, Copy, Default)]
struct Taint {
    /// A secret was looked into.
    secret: bool,
    /// One was looked into that is kept from this run.
    withheld: bool,
}

/// One evaluation.
pub(super) struct Walk<'s, 'a> {
    pub(super) scope: &'s Scope<'a>,
    /// What is built is charged to it first.
    pub(super) budget: &'s Budget,
    /// Variables of the comprehensions around, innermost last.
    locals: Vec<(&'s str, Item<'a>)>,
    pub(super) steps: usize,
    taint: Taint,
    /// A call failed after a secret was looked into that is kept from this run.
    fails_on_withheld: bool,
}

impl<'s, 'a> Walk<'s, 'a> {
    /// Computes the whole expression; the value that is to be made of it is charged.
    fn evaluate_root(&mut self, expr: &'s Expr) -> Outcome<'a> {
        let item = self.evaluate_part(expr)?;
        item.charge(self.budget)?;
        Ok(item)
    }

    /// Computes a part whose value is looked into.
    fn evaluate_opened(&mut self, expr: &'s Expr) -> Outcome<'a> {
        let item = self.evaluate_part(expr)?;
        self.open_secret(item)
    }

    /// Computes a part whose value is passed on as it is: a secret stays one.
    fn evaluate_part(&mut self, expr: &'s Expr) -> Outcome<'a> {
        self.charge(1)?;
        let item = match expr {
            Expr::Literal(literal) => literal_item(literal)?,
            Expr::Ident(name) => self.resolve_name(name)?,
            Expr::Select(select) => self.evaluate_select(select)?,
            Expr::List(list) => {
                self.charge_items(list.elements.len())?;
                Item::list(
                    list.elements
                        .iter()
                        .map(|element| self.evaluate_part(&element.expr))
                        .collect::<Result<_, _>>()?,
                )
            }
            Expr::Map(map) => self.evaluate_map(map)?,
            Expr::Call(call) => self.evaluate_call(call)?,
            Expr::Comprehension(comprehension) => self.evaluate_comprehension(comprehension)?,
            Expr::Struct(_) | Expr::Unspecified => {
                return Err(evaluation_failure("messages are not part of the language"));
            }
        };
        item.charge_copy(self.budget)?;
        Ok(item)
    }

    /// Looks into an item: from here on everything depends on a secret that it is.
    pub(super) fn open_secret(&mut self, item: Item<'a>) -> Outcome<'a> {
        let Item::Scalar(Value::Secret(secret)) = &item else { return Ok(item) };
        self.taint.secret = true;
        self.taint.withheld |= secret.is_withheld();
        let opened = match secret {
            Secret::Derived(derived) => match derived.to_computable() {
                Some(value) => {
                    self.budget.charge_value(&value)?;
                    Some(Item::from_value(value))
                }
                None => None,
            },
            secret => secret.computable_text().map(Item::text),
        };
        opened.ok_or_else(|| evaluation_failure("the secret's text is not at hand"))
    }

    /// Tells whether a message must not name what it is about.
    pub(super) const fn hides_arguments(&self) -> bool {
        self.taint.secret
    }

    /// Returns how a message names one of the arguments of the call that is under way.
    pub(super) fn display_argument(&self, argument: &impl ToString) -> String {
        if self.hides_arguments() { "(secret)".to_owned() } else { argument.to_string() }
    }

    fn resolve_name(&mut self, name: &str) -> Outcome<'a> {
        if let Some((_, item)) = self.locals.iter().rev().find(|(local, _)| *local == name) {
            return Ok(item.clone());
        }
        self.scope.roots.get(name).cloned().ok_or_else(|| {
            let known = self.scope.roots.keys().map(Name::as_str);
            let hint = nearest_name(name, known).map(|near| format!("; did you mean `{near}`?"));
            evaluation_failure(format!("there is no `{name}`{}", hint.unwrap_or_default()))
        })
    }

    fn evaluate_select(&mut self, select: &'s SelectExpr) -> Outcome<'a> {
        let operand = self.evaluate_opened(&select.operand.expr)?;
        if operand.unknown_addresses().is_some() {
            return Ok(operand);
        }
        if select.test {
            return Ok(match (&operand, operand.entry(&select.field)) {
                (_, Some(item)) if item.unknown_addresses().is_some() => item,
                (_, Some(item)) => Item::Scalar(Value::Bool(!matches!(item, Item::Scalar(Value::Null)))),
                (Item::Object(object, _), None) if !object.complete => {
                    Item::Scalar(Value::Unknown(vec![object.address.clone()]))
                }
                (_, None) => Item::Scalar(Value::Bool(false)),
            });
        }
        select_member(&operand, &select.field, false)
    }

    fn evaluate_map(&mut self, map: &'s MapExpr) -> Outcome<'a> {
        self.budget.charge_map(map.entries.len())?;
        let mut made = BTreeMap::new();
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(evaluation_failure("messages are not part of the language"));
            };
            let key = self.evaluate_opened(&entry.key.expr)?;
            if key.unknown_addresses().is_some() {
                return Ok(key);
            }
            let key = self.key_text(&key)?;
            if made.insert(key.clone(), self.evaluate_part(&entry.value.expr)?).is_some() {
                return Err(evaluation_failure(format!("the key `{key}` stands twice in a map")));
            }
        }
        Ok(Item::Map(Rc::new(made)))
    }

    fn evaluate_call(&mut self, call: &'s CallExpr) -> Outcome<'a> {
        let args = call.args.as_slice();
        match (call.func_name.as_str(), args) {
            (operators::LOGICAL_AND, [left, right]) => self.evaluate_logic(&left.expr, &right.expr, false),
            (operators::LOGICAL_OR, [left, right]) => self.evaluate_logic(&left.expr, &right.expr, true),
            (operators::CONDITIONAL, [condition, yes, no]) => {
                let condition = self.evaluate_opened(&condition.expr)?;
                if condition.unknown_addresses().is_some() {
                    return Ok(condition);
                }
                let chosen = if condition_value(&condition)? { yes } else { no };
                self.evaluate_part(&chosen.expr)
            }
            (operators::ADD, [left, right]) => self.evaluate_add(&left.expr, &right.expr),
            (name, _) => {
                let all =
                    call.target.iter().map(|target| &target.expr).chain(args.iter().map(|arg| &arg.expr));
                // Only a call that is given what comes of a withheld secret may succeed with the secret.
                let before = std::mem::take(&mut self.taint.withheld);
                let items = all.map(|arg| self.evaluate_opened(arg)).collect::<Result<Vec<_>, _>>();
                let is_given = std::mem::replace(&mut self.taint.withheld, before);
                self.taint.withheld |= is_given;
                let items = items?;
                if let Some(unknown) = merge_unknowns(&items) {
                    return Ok(unknown);
                }
                let result = self.apply_operator(name, &items);
                self.fails_on_withheld |=
                    result.is_err() && (is_given || items.iter().any(Item::is_withheld));
                result
            }
        }
    }

    fn apply_operator(&mut self, name: &str, items: &[Item<'a>]) -> Outcome<'a> {
        let bool = |b: bool| Ok(Item::Scalar(Value::Bool(b)));
        match (name, items) {
            (operators::NOT_STRICTLY_FALSE, [item]) => {
                bool(!matches!(item, Item::Scalar(Value::Bool(false))))
            }
            (operators::LOGICAL_NOT, [item]) => bool(!condition_value(item)?),
            (operators::EQUALS, [left, right]) => self.are_equal(left, right).map(boolean_or_unknown),
            (operators::NOT_EQUALS, [left, right]) => {
                self.are_equal(left, right).map(|equal| boolean_or_unknown(equal.map(|equal| !equal)))
            }
            (operators::LESS, [left, right]) => bool(self.compare_items(left, right)? == Ordering::Less),
            (operators::LESS_EQUALS, [left, right]) => {
                bool(self.compare_items(left, right)? != Ordering::Greater)
            }
            (operators::GREATER, [left, right]) => {
                bool(self.compare_items(left, right)? == Ordering::Greater)
            }
            (operators::GREATER_EQUALS, [left, right]) => {
                bool(self.compare_items(left, right)? != Ordering::Less)
            }
            (operators::INDEX, [operand, key]) => self.evaluate_index(operand, key),
            (operators::IN, [wanted, all]) => self.is_in(wanted, all),
            (operators::NEGATE, [item]) => {
                compute_arithmetic(operators::SUBSTRACT, &Item::Scalar(Value::Integer(0)), item)
            }
            (
                operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO,
                [left, right],
            ) => compute_arithmetic(name, left, right),
            _ => functions::call_function(self, name, items),
        }
    }

    /// `&&` and `||`: a decisive side wins over a failure and over an unknown on the other.
    fn evaluate_logic(&mut self, left: &'s Expr, right: &'s Expr, decisive: bool) -> Outcome<'a> {
        let decides =
            |item: &Outcome<'a>| matches!(item, Ok(Item::Scalar(Value::Bool(b))) if *b == decisive);
        let left = self.evaluate_opened(left);
        if decides(&left) || matches!(left, Err(EvaluationError::TooLong(_) | EvaluationError::TooLarge)) {
            return left;
        }
        let right = self.evaluate_opened(right);
        if decides(&right) || matches!(right, Err(EvaluationError::TooLong(_) | EvaluationError::TooLarge))
        {
            return right;
        }
        let both = [left?, right?];
        if let Some(unknown) = merge_unknowns(&both) {
            return Ok(unknown);
        }
        for item in &both {
            condition_value(item)?;
        }
        Ok(Item::Scalar(Value::Bool(!decisive)))
    }

    fn evaluate_add(&mut self, left: &'s Expr, right: &'s Expr) -> Outcome<'a> {
        // The list that a macro builds up is taken out of its variable, not copied, for each element.
        let taken = match left {
            Expr::Ident(name) if name.starts_with('@') => self
                .locals
                .iter_mut()
                .rev()
                .find(|(local, _)| local == name)
                .map(|(_, item)| std::mem::replace(item, Item::Scalar(Value::Null))),
            _ => None,
        };
        let left = match taken {
            Some(item) => item,
            None => self.evaluate_opened(left)?,
        };
        let right = self.evaluate_opened(right)?;
        if let (Item::List(_), Item::List(_)) = (&left, &right) {
            self.charge_items(right.len().unwrap_or(0))?;
            let (Item::List(mut left), Item::List(right)) = (left, right) else {
                return Err(evaluation_failure("two lists were expected"));
            };
            // A list that something else names as well is copied.
            if Rc::strong_count(&left) > 1 {
                self.charge_items(left.len())?;
            }
            Rc::make_mut(&mut left).extend(right.iter().cloned());
            return Ok(Item::List(left));
        }
        if let Some(unknown) = merge_unknowns(&[left.clone(), right.clone()]) {
            return Ok(unknown);
        }
        if let (Some(a), Some(b)) = (self.charged_elements(&left)?, self.charged_elements(&right)?) {
            return Ok(Item::list(a.into_iter().chain(b).collect()));
        }
        if is_text(&left) && is_text(&right) {
            let (left, right) = (self.text_of(&left)?, self.text_of(&right)?);
            self.charge_text(left.len() + right.len())?;
            return Ok(Item::text(format!("{left}{right}")));
        }
        compute_arithmetic(operators::ADD, &left, &right)
    }

    fn evaluate_index(&mut self, operand: &Item<'a>, key: &Item<'a>) -> Outcome<'a> {
        if let (Some(len), Item::Scalar(Value::Integer(n))) = (operand.len(), key) {
            if let Some(item) = usize::try_from(*n).ok().and_then(|n| operand.element(n)) {
                return Ok(item);
            }
            if operand.entries().is_none() {
                return Err(evaluation_failure(format!(
                    "there is no element {}: the list has {len}",
                    self.display_argument(n)
                )));
            }
        }
        let key = self.key_text(key)?;
        select_member(operand, &key, self.hides_arguments())
    }

    fn is_in(&mut self, wanted: &Item<'a>, all: &Item<'a>) -> Outcome<'a> {
        if let Some(items) = all.elements() {
            let mut unknown = None;
            for item in items {
                match self.are_equal(wanted, &item)? {
                    Ok(true) => return Ok(boolean_or_unknown(Ok(true))),
                    Ok(false) => {}
                    Err(waits) => unknown = Some(waits),
                }
            }
            return Ok(boolean_or_unknown(unknown.map_or(Ok(false), Err)));
        }
        if let Item::Object(object, _) = all
            && !object.complete
        {
            return Ok(Item::Scalar(Value::Unknown(vec![object.address.clone()])));
        }
        let key = self.key_text(wanted)?;
        match all.entries() {
            Some(_) => Ok(boolean_or_unknown(Ok(all.entry(&key).is_some()))),
            None => Err(evaluation_failure(format!("`in` needs a list or a map, not {}", all.type_name()))),
        }
    }

    fn evaluate_comprehension(&mut self, c: &'s ComprehensionExpr) -> Outcome<'a> {
        let range = self.evaluate_opened(&c.iter_range.expr)?;
        if range.unknown_addresses().is_some() {
            return Ok(range);
        }
        let pairs: Vec<(Item<'a>, Item<'a>)> = if let Some(items) = self.charged_elements(&range)? {
            items.into_iter().enumerate().map(|(n, item)| (index_item(n), item)).collect()
        } else if let Some(entries) = self.charged_entries(&range)? {
            entries.into_iter().map(|(key, item)| (Item::Scalar(Value::Text(key)), item)).collect()
        } else if let Item::Object(object, _) = range {
            return Ok(Item::Scalar(Value::Unknown(vec![object.address.clone()])));
        } else {
            return Err(evaluation_failure(format!("{} has no elements to go through", range.type_name())));
        };
        let is_list = range.element(0).is_some();
        let init = self.evaluate_opened(&c.accu_init.expr)?;
        let depth = self.locals.len();
        self.locals.push((&c.accu_var, init));
        let result = self.iterate_pairs(c, pairs, is_list, depth);
        self.locals.truncate(depth);
        result
    }

    fn iterate_pairs(
        &mut self,
        c: &'s ComprehensionExpr,
        pairs: Vec<(Item<'a>, Item<'a>)>,
        is_list: bool,
        depth: usize,
    ) -> Outcome<'a> {
        // `all` and `exists` go on after a failing element: a later one may decide.
        let mut failure = None;
        for (key, item) in pairs {
            self.locals.truncate(depth + 1);
            if c.iter_var2.is_some() {
                self.locals.push((&c.iter_var, key));
                self.locals.extend(c.iter_var2.as_deref().map(|name| (name, item)));
            } else {
                self.locals.push((&c.iter_var, if is_list { item } else { key }));
            }
            if let Item::Scalar(Value::Bool(false)) = self.evaluate_opened(&c.loop_cond.expr)? {
                break;
            }
            match self.evaluate_opened(&c.loop_step.expr) {
                Ok(item) => self.locals[depth].1 = item,
                Err(error @ EvaluationError::Failed(_)) if is_logic(&c.loop_step.expr) => {
                    failure = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        self.locals.truncate(depth + 1);
        let decided = matches!(self.evaluate_opened(&c.loop_cond.expr)?, Item::Scalar(Value::Bool(false)));
        match failure {
            Some(error) if !decided => Err(error),
            _ => self.evaluate_part(&c.result.expr),
        }
    }

    /// Tells whether two items are equal; `Err` holds what the answer waits for.
    #[allow(clippy::type_complexity)]
    pub(super) fn are_equal(
        &mut self,
        left: &Item<'a>,
        right: &Item<'a>,
    ) -> Result<Result<bool, Vec<Address>>, EvaluationError> {
        self.charge(1)?;
        let (left, right) = (&self.open_secret(left.clone())?, &self.open_secret(right.clone())?);
        if let Some(Item::Scalar(Value::Unknown(waits))) = merge_unknowns(&[left.clone(), right.clone()]) {
            return Ok(Err(waits));
        }
        if is_text(left) && is_text(right) {
            return Ok(Ok(self.text_of(left)? == self.text_of(right)?));
        }
        if let (Some(a), Some(b)) = (left.elements(), right.elements()) {
            let pairs = a.into_iter().zip(b);
            return if left.len() == right.len() { self.all_equal(pairs) } else { Ok(Ok(false)) };
        }
        if let (Item::Object(a, _), Item::Object(b, _)) = (left, right) {
            return Ok(Ok(a.address == b.address));
        }
        if let (Some(a), Some(b)) = (left.entries(), right.entries()) {
            let same = a.len() == b.len() && a.iter().zip(&b).all(|((a, _), (b, _))| a == b);
            let pairs = a.into_iter().map(|(_, item)| item).zip(b.into_iter().map(|(_, item)| item));
            return if same { self.all_equal(pairs) } else { Ok(Ok(false)) };
        }
        Ok(Ok(match (left, right) {
            (Item::Scalar(a), Item::Scalar(b)) => match (as_decimal(a), as_decimal(b)) {
                (Some(a), Some(b)) => a == b,
                _ => a == b,
            },
            _ => false,
        }))
    }

    #[allow(clippy::type_complexity)]
    fn all_equal(
        &mut self,
        pairs: impl Iterator<Item = (Item<'a>, Item<'a>)>,
    ) -> Result<Result<bool, Vec<Address>>, EvaluationError> {
        let mut unknown = None;
        for (left, right) in pairs {
            match self.are_equal(&left, &right)? {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(false)),
                Err(waits) => unknown = Some(waits),
            }
        }
        Ok(unknown.map_or(Ok(true), Err))
    }

    fn compare_items(&mut self, left: &Item<'a>, right: &Item<'a>) -> Result<Ordering, EvaluationError> {
        if is_text(left) && is_text(right) {
            return Ok(self.text_of(left)?.cmp(&self.text_of(right)?));
        }
        if let (Item::Scalar(a), Item::Scalar(b)) = (left, right)
            && let (Some(a), Some(b)) = (as_decimal(a), as_decimal(b))
        {
            return Ok(a.cmp(&b));
        }
        Err(evaluation_failure(format!("{} and {} have no order", left.type_name(), right.type_name())))
    }

    /// Returns the text of a text or a secret; a secret makes the result one.
    pub(super) fn text_of(&mut self, item: &Item<'a>) -> Result<Name, EvaluationError> {
        match self.open_secret(item.clone())? {
            Item::Scalar(Value::Text(text)) => Ok(text),
            other => Err(evaluation_failure(format!("a text was expected, not {}", other.type_name()))),
        }
    }

    fn key_text(&mut self, item: &Item<'a>) -> Result<Name, EvaluationError> {
        match item {
            Item::Scalar(Value::Integer(n)) => Ok(Name::new(n.to_string())),
            Item::Scalar(Value::Bool(b)) => Ok(Name::new(b.to_string())),
            other => self.text_of(other),
        }
    }
}

/// Most keys of a map that one message names.
const MOST_KEYS: usize = 10;

/// Returns the entry that a path names, or a key that may be secret.
fn select_member<'a>(operand: &Item<'a>, field: &str, secret: bool) -> Outcome<'a> {
    if let Some(item) = operand.entry(field) {
        return Ok(item);
    }
    if let Item::Object(object, _) = operand {
        return Ok(Item::Scalar(if object.complete {
            Value::Null
        } else {
            Value::Unknown(vec![object.address.clone()])
        }));
    }
    let shown = if secret { "(secret)" } else { field };
    let Some(entries) = operand.entries() else {
        return Err(evaluation_failure(format!("{} has no `{shown}`", operand.type_name())));
    };
    let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    let hint = match (nearest_name(field, keys.iter().copied()), keys.as_slice()) {
        (Some(near), _) if !secret => format!("; did you mean `{near}`?"),
        (_, []) => ", which is empty".to_owned(),
        (_, few) if few.len() <= MOST_KEYS => format!("; it has {}", few.join(", ")),
        (_, many) => format!("; it has {}, …", many[..MOST_KEYS].join(", ")),
    };
    Err(evaluation_failure(format!("there is no `{shown}` in this map{hint}")))
}

/// Returns one unknown for those among the items, if there are any.
pub(super) fn merge_unknowns<'a>(items: &[Item<'a>]) -> Option<Item<'a>> {
    let mut waits: Vec<Address> =
        items.iter().filter_map(Item::unknown_addresses).flatten().cloned().collect();
    if waits.is_empty() && !items.iter().any(|item| item.unknown_addresses().is_some()) {
        return None;
    }
    waits.sort();
    waits.dedup();
    Some(Item::Scalar(Value::Unknown(waits)))
}

fn is_logic(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call)
        if [operators::LOGICAL_AND, operators::LOGICAL_OR].contains(&call.func_name.as_str()))
}

pub(super) fn is_text(item: &Item<'_>) -> bool {
    matches!(item, Item::Scalar(Value::Text(_) | Value::Secret(_)))
}

fn condition_value(item: &Item<'_>) -> Result<bool, EvaluationError> {
    match item {
        Item::Scalar(Value::Bool(b)) => Ok(*b),
        other => Err(evaluation_failure(format!("true or false was expected, not {}", other.type_name()))),
    }
}

fn literal_item<'a>(literal: &LiteralValue) -> Outcome<'a> {
    Ok(Item::Scalar(match literal {
        LiteralValue::Boolean(b) => Value::Bool(*b.inner()),
        LiteralValue::Int(n) => Value::Integer(*n.inner()),
        LiteralValue::UInt(n) => Value::Integer(
            i64::try_from(*n.inner()).map_err(|_| evaluation_failure("the number is too large"))?,
        ),
        LiteralValue::Double(n) => Value::Decimal(
            parse_decimal(&n.inner().to_string())
                .ok_or_else(|| evaluation_failure("the number has no exact decimal"))?,
        ),
        LiteralValue::String(text) => Value::text(text.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::Bytes(_) => return Err(evaluation_failure("bytes are not part of the language")),
    }))
}
