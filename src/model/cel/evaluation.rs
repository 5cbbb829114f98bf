//! The state of one evaluation: the names that the expression can use, its steps and charges, and whether
//! it inspected a secret.
//!
//! Invariant: each value is charged before it is built, and each inspection of a secret marks the evaluation.

use super::item::CelValue;
use super::scope::ExpressionScope;
use crate::model::address::{Address, Name};
use crate::model::budget::Budget;
use crate::model::diagnostic::nearest_name;
use crate::model::expression::EvaluationError;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;

/// Maximum number of steps of one evaluation: some tens of milliseconds.
pub const MAX_STEPS: usize = 1_000_000;

/// The result of one step of the walk.
pub(super) type EvaluationResult<'a> = Result<CelValue<'a>, EvaluationError>;

/// Returns the error of an expression that is wrong, with this reason: a sentence without full stop.
pub(super) fn evaluation_failure(text: impl Into<String>) -> EvaluationError {
    EvaluationError::Failed(text.into())
}

/// How secrets influenced a result.
#[derive(Clone, Copy, Default)]
pub(super) struct Sensitivity {
    /// The expression inspected a secret.
    pub(super) secret: bool,
    /// The expression inspected a secret that is withheld from this run.
    pub(super) withheld: bool,
}

/// The state of one evaluation.
pub(super) struct Evaluation<'s, 'a> {
    pub(super) scope: &'s ExpressionScope<'a>,
    /// The budget that is charged before a value is built.
    pub(super) budget: &'s Budget,
    /// Variables of the enclosing comprehensions, innermost last.
    pub(super) locals: Vec<(&'s str, CelValue<'a>)>,
    steps: usize,
    pub(super) taint: Sensitivity,
    /// A call failed after the expression inspected a withheld secret.
    pub(super) fails_on_withheld: bool,
}

impl<'s, 'a> Evaluation<'s, 'a> {
    /// Starts an evaluation that has taken no step yet.
    pub(super) fn new(scope: &'s ExpressionScope<'a>, budget: &'s Budget) -> Self {
        Self {
            scope,
            budget,
            locals: Vec::new(),
            steps: 0,
            taint: Sensitivity::default(),
            fails_on_withheld: false,
        }
    }

    /// Charges steps of work; copies and comparisons count by size. It fails beyond `MAX_STEPS`, so that no
    /// expression of a stack can block the program.
    pub(super) fn charge(&mut self, steps: usize) -> Result<(), EvaluationError> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_STEPS { Err(EvaluationError::TooLong(MAX_STEPS)) } else { Ok(()) }
    }

    /// Charges a string of this length in bytes before it is built: a step for every 8 bytes, and the budget.
    pub(super) fn charge_text(&mut self, bytes: usize) -> Result<(), EvaluationError> {
        self.charge(bytes / 8)?;
        Ok(self.budget.charge_text(bytes)?)
    }

    /// Charges this number of values before they are stored: a step and a node of the budget for each.
    pub(super) fn charge_items(&mut self, items: usize) -> Result<(), EvaluationError> {
        self.charge(items)?;
        Ok(self.budget.charge_nodes(items)?)
    }

    /// Charges and returns the elements of a list; `None` for any other value.
    pub(super) fn charged_elements(
        &mut self,
        list: &CelValue<'a>,
    ) -> Result<Option<Vec<CelValue<'a>>>, EvaluationError> {
        if matches!(list, CelValue::ListRef(_) | CelValue::List(_)) {
            self.charge_items(list.len().unwrap_or(0))?;
            list.charge_copies(self.budget)?;
        }
        Ok(list.elements())
    }

    /// Charges and returns the entries of a map or a complete object; `None` for any other value.
    pub(super) fn charged_entries(
        &mut self,
        map: &CelValue<'a>,
    ) -> Result<Option<Vec<(Name, CelValue<'a>)>>, EvaluationError> {
        if !matches!(map, CelValue::ListRef(_) | CelValue::List(_)) {
            self.charge_items(map.len().unwrap_or(0))?;
            map.charge_copies(self.budget)?;
        }
        Ok(map.entries())
    }

    /// Returns a value for inspection: of a secret the text or its substitute. It marks the whole result as
    /// sensitive. Any other value stays as it is.
    pub(super) fn open_secret(&mut self, item: CelValue<'a>) -> EvaluationResult<'a> {
        let CelValue::Scalar(Value::Secret(secret)) = &item else { return Ok(item) };
        self.taint.secret = true;
        self.taint.withheld |= secret.is_withheld();
        let opened = match secret {
            Secret::Derived(derived) => match derived.to_computable() {
                Some(value) => {
                    self.budget.charge_value(&value)?;
                    Some(CelValue::from_value(value))
                }
                None => None,
            },
            secret => secret.computable_text().map(CelValue::text),
        };
        opened.ok_or_else(|| evaluation_failure("the secret's text is not known here"))
    }

    /// Returns whether messages must not show values, because they may depend on a secret.
    pub(super) const fn hides_arguments(&self) -> bool {
        self.taint.secret
    }

    /// Returns an argument of the current call for a message: `(secret)` after any inspection of a secret.
    pub(super) fn display_argument(&self, argument: &impl ToString) -> String {
        if self.hides_arguments() { "(secret)".to_owned() } else { argument.to_string() }
    }

    /// Returns the value of a name: the innermost variable of a macro, otherwise a root; an unknown name is an error.
    pub(super) fn resolve_name(&mut self, name: &str) -> EvaluationResult<'a> {
        if let Some((_, item)) = self.locals.iter().rev().find(|(local, _)| *local == name) {
            return Ok(item.clone());
        }
        self.scope.roots.get(name).cloned().ok_or_else(|| {
            let known = self.scope.roots.keys().map(Name::as_str);
            let hint = nearest_name(name, known).map(|near| format!("; did you mean `{near}`?"));
            evaluation_failure(format!("there is no `{name}`{}", hint.unwrap_or_default()))
        })
    }

    /// Returns the text of a string or a secret; a secret makes the result sensitive. Any other value is an error.
    pub(super) fn text_of(&mut self, item: &CelValue<'a>) -> Result<Name, EvaluationError> {
        match self.open_secret(item.clone())? {
            CelValue::Scalar(Value::Text(text)) => Ok(text),
            other => Err(evaluation_failure(format!("a text was expected, not {}", other.type_name()))),
        }
    }

    /// Returns the key of a map that a value represents: keys are strings, so a whole number or a boolean is converted.
    pub(super) fn key_text(&mut self, item: &CelValue<'a>) -> Result<Name, EvaluationError> {
        match item {
            CelValue::Scalar(Value::Integer(n)) => Ok(Name::new(n.to_string())),
            CelValue::Scalar(Value::Bool(b)) => Ok(Name::new(b.to_string())),
            other => self.text_of(other),
        }
    }
}

/// Returns one unknown that combines all unknown values; `None` if all are known.
pub(super) fn merge_unknowns<'a>(items: &[CelValue<'a>]) -> Option<CelValue<'a>> {
    let mut waits: Vec<Address> =
        items.iter().filter_map(CelValue::unknown_addresses).flatten().cloned().collect();
    if waits.is_empty() && !items.iter().any(|item| item.unknown_addresses().is_some()) {
        return None;
    }
    waits.sort();
    waits.dedup();
    let is_secret = items.iter().any(CelValue::hides_secret);
    Some(CelValue::Scalar(Value::unknown(waits).mark_secret(is_secret)))
}

pub(super) fn is_text(item: &CelValue<'_>) -> bool {
    matches!(item, CelValue::Scalar(Value::Text(_) | Value::Secret(_)))
}
