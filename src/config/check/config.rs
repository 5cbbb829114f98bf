//! `check`: the entry point of the phase. In: the resolved stack. Out: `CheckedParts`, the declarations, policies and
//! secret sinks that are consistent with its resources; everything else is a diagnostic.

use std::collections::BTreeMap;

use super::declarations::read_declarations;
use super::overrides::check_overrides;
use super::policies::{add_shared_policies, read_policies};
use super::{dependency_cycles, secret_sinks, service_rules};
use crate::config::merge::blocks::MergedDocuments;
use crate::config::resolve::blocks::source_digest::check_secret_boundaries;
use crate::config::resolve::context::evaluator::ConfigContext;
use crate::config::resolve::context::resolved::ResolvedConfig;
use crate::config::resolve::values::deferred_secrets;
use crate::config::stack::declarations::Declarations;
use crate::config::stack::model::{DeferredSecret, Policy, Resource, SinkUse};
use crate::config::syntax::document::Document;
use crate::model::address::Name;
use crate::model::live::catalog::Catalog;

/// Output of the phase `check`.
pub(in crate::config) struct CheckedParts {
    /// `moved`, `import` and `removed` entries that fit the blocks.
    pub(in crate::config) declarations: Declarations,
    /// Policies without the wrong ones, for the plan to evaluate.
    pub(in crate::config) policies: Vec<Policy>,
    /// Sinks of the stack's secrets, also those with a problem, which is reported.
    pub(in crate::config) sinks: Vec<SinkUse>,
    /// Variables that are deferred secrets, by their paths.
    pub(in crate::config) deferred_secrets: BTreeMap<Name, DeferredSecret>,
}

/// Checks a resolved stack. `shared` holds the files with the policies of the user's settings; `pinned` holds the names of the service's catalog that the lock file pins; `None`
/// leaves out the rules that need them. Takes the deferred secrets and the spans of sinks out of the context.
pub(in crate::config) fn check_config<'d>(
    context: &ConfigContext<'d>,
    merged: &MergedDocuments<'d>,
    (resolved, shared): (&ResolvedConfig<'d>, &'d [Document]),
    pinned: Option<&Catalog>,
) -> CheckedParts {
    let resources = &resolved.units.resources;
    check_overrides(context, &resolved.units);
    let declarations = read_declarations(context, merged, resolved);
    let evaluator = resolved.units.evaluator(context, &resolved.scope);
    let mut policies = read_policies(&evaluator, &merged.policies);
    add_shared_policies(&evaluator, shared, &mut policies);
    for cycle in dependency_cycles::dependency_cycles(resources) {
        context.problems.push(cycle);
    }
    let deferred_secrets = context.deferred_secrets.take();
    let sinks = check_sinks(context, resources, &deferred_secrets);
    service_rules::check(resources, pinned, &context.problems);
    CheckedParts { declarations, policies, sinks, deferred_secrets }
}

/// Returns the sinks of a stack's secrets; reports those that collide, overwrite a file of the stack or would be
/// uploaded, and secrets that no sink keeps.
fn check_sinks(
    context: &ConfigContext<'_>,
    resources: &[Resource],
    deferred: &BTreeMap<Name, DeferredSecret>,
) -> Vec<SinkUse> {
    let sinks = secret_sinks::sink_uses(resources, deferred, &context.sink_spans.take());
    check_secret_boundaries(context, resources, &sinks);
    // With a `secrets` block the ledger stores each secret, encrypted, so that none is lost.
    if !context.keeps_secrets {
        deferred_secrets::check_readable(deferred.iter(), resources, &context.problems);
    }
    for problem in secret_sinks::check(&sinks, context.sources) {
        context.problems.push(problem);
    }
    sinks
}
