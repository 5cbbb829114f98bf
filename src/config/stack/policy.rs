//! A policy of a stack.

use super::model::Resource;
use crate::config::diagnostics::codes;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::Cel;
use crate::model::schema::Kind;
use crate::model::source::Span;

/// A rule that a plan must pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Its name.
    pub name: Name,
    /// The kinds whose resources it is about, each for itself; none: it is about the plan as a whole.
    pub on: Vec<&'static Kind>,
    /// What must not be true. Its bindings are all that it names but `self` and `plan`.
    pub deny: Cel,
    /// What to tell when it is.
    pub message: String,
    /// The policy's key.
    pub span: Span,
}

impl Policy {
    /// Returns the problem of what the policy says no to: a resource, or the plan as a whole.
    #[must_use]
    pub fn denial_problem(&self, resource: Option<&Resource>) -> Diagnostic {
        let problem = Diagnostic::error(codes::DENIED, "a policy says no");
        let problem = match resource {
            Some(resource) => problem.with_label(resource.span, format!("{} is denied", resource.address)),
            None => problem,
        };
        problem
            .with_label(self.span, "by this policy")
            .detail(format!("{}: {}", self.name, self.message))
            .help(format!(
                "change what it is about, or: stead apply --override {} --reason \"...\" (recorded)",
                self.name
            ))
    }
}
