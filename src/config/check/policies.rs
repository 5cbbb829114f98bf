//! Policies: rules that a plan must pass, as a stack's files write them. In: the `policy` entries. Out: policies
//! whose condition names only fields that exist; a wrong one is reported, and absent. The plan evaluates them.

use super::policy_facts::{PolicyOwner, check_denial_path, check_entries, no_policy};
use crate::config::codes;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::keywords;
use crate::config::merge::blocks::{NamedEntries, not_a_block};
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::expressions::syntax_problem;
use crate::config::stack::model::Policy;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue, named_entries};
use crate::model::cel::policy::PolicyLevel;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::CelExpression;
use crate::model::schema::{Kind, is_exposure_code};
use crate::model::values::value::ValueMap;

/// Reads all policies, by name. A wrong one is reported, and absent.
pub(in crate::config) fn read_policies<'d>(
    evaluator: &Evaluator<'_, 'd>,
    entries: &NamedEntries<'d>,
) -> Vec<Policy> {
    entries.values().filter_map(|entry| read_policy(evaluator, entry, PolicyOwner::Stack)).collect()
}

/// Adds the policies of the user's settings, which hold for every stack. A stack has no influence on them: they read none of
/// its variables, and no policy of its own may have their names. A wrong one is reported, and absent.
pub(in crate::config) fn add_shared_policies<'d>(
    evaluator: &Evaluator<'_, 'd>,
    files: &'d [Document],
    policies: &mut Vec<Policy>,
) {
    for entry in files.iter().flat_map(|file| &file.root) {
        match entry.key.as_str() {
            "stead" => {}
            "policy" => {
                let Some(named) = named_entries(&entry.value) else {
                    evaluator.context.problems.push(not_a_block(&entry.key, &entry.value));
                    continue;
                };
                let owner = PolicyOwner::Settings;
                for policy in named.iter().filter_map(|entry| read_policy(evaluator, entry, owner)) {
                    add_shared_policy(evaluator.context, policy, policies);
                }
            }
            key => {
                let detail =
                    format!("A file of policies that the settings name has only `policy`, not `{key}`.");
                no_policy::<()>(evaluator.context, entry.key_span, detail);
            }
        }
    }
}

fn add_shared_policy(context: &ConfigContext<'_>, policy: Policy, policies: &mut Vec<Policy>) {
    if let Some(other) = policies.iter().find(|other| other.name == policy.name) {
        let problem = Diagnostic::error(codes::POLICY, "a policy is wrong").with_label(other.span, "");
        let problem = problem.with_label(policy.span, "the settings name this one");
        let detail = format!("The user's settings have a policy `{}` already.", policy.name);
        context.problems.push(problem.detail(detail).help("give it another name: both hold"));
        return;
    }
    policies.push(Policy { is_of_settings: true, ..policy });
}

fn read_policy<'d>(
    evaluator: &Evaluator<'_, 'd>,
    entry: &'d DocumentEntry,
    owner: PolicyOwner,
) -> Option<Policy> {
    let Some(body) = named_entries(&entry.value) else {
        evaluator.context.problems.push(not_a_block(&entry.key, &entry.value));
        return None;
    };
    if is_exposure_code(&evaluator.context.registry, &entry.key) {
        let detail = format!("`{}` is the code of a built-in policy.", entry.key);
        return no_policy(evaluator.context, entry.key_span, detail);
    }
    let (mut on, mut deny, mut message, mut level) = (Vec::new(), None, None, PolicyLevel::default());
    for key in body {
        match key.key.as_str() {
            "on" => on = policy_kinds(evaluator.context, &key.value)?,
            "deny" => deny = Some(&key.value),
            "level" => level = read_level(evaluator.context, &key.value)?,
            "message" => message = Some(read_message(evaluator.context, &key.value)?),
            _ => {
                evaluator.context.problems.push(unknown_word(key, keywords::POLICY));
                return None;
            }
        }
    }
    let (Some(deny), Some(message)) = (deny, message) else {
        let detail =
            "A policy has a condition that denies a change, and a message that explains the denial.";
        return no_policy(evaluator.context, entry.key_span, detail.to_owned());
    };
    let deny = read_denial(evaluator, deny, (&on, owner))?;
    Some(Policy {
        name: entry.key.clone(),
        on,
        deny,
        message,
        level,
        is_of_settings: false,
        span: entry.key_span,
    })
}

fn policy_kinds(context: &ConfigContext<'_>, node: &Node) -> Option<Vec<&'static Kind>> {
    let nodes = match &node.value {
        NodeValue::Sequence(nodes) => nodes.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let kind = |node: &Node| {
        let word = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
        if let Some(kind) = context.registry.kind(word) {
            return Some(kind);
        }
        let problem = Diagnostic::error(codes::POLICY, "a policy is wrong").with_label(node.span, "");
        let problem = problem.detail("`on` names kinds of resources.");
        let known = context.registry.kinds.iter().map(|kind| kind.name);
        context.problems.push(match nearest_name(word, known) {
            Some(near) => problem.help(format!("did you mean `{near}`?")).fix(node.span, near),
            None => problem.help("write `on: KIND`, or leave it out for a rule over the whole plan"),
        });
        None
    };
    let kinds: Vec<&'static Kind> = nodes.iter().map(kind).collect::<Option<_>>()?;
    let twice =
        kinds.iter().enumerate().find(|(n, kind)| kinds[..*n].iter().any(|one| one.name == kind.name));
    if let Some((n, kind)) = twice {
        return no_policy(context, nodes[n].span, format!("`on` names {} twice.", kind.name));
    }
    // An empty list would turn the policy into a rule over the whole plan.
    if kinds.is_empty() {
        return no_policy(context, node.span, "`on` names no kind.".to_owned());
    }
    Some(kinds)
}

fn read_level(context: &ConfigContext<'_>, node: &Node) -> Option<PolicyLevel> {
    let word = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    if let Some(level) = PolicyLevel::parse(word) {
        return Some(level);
    }
    let problem = Diagnostic::error(codes::POLICY, "a policy is wrong").with_label(node.span, "");
    let problem = problem.detail("`level` is advisory, overridable or mandatory.");
    context.problems.push(match nearest_name(word, PolicyLevel::ALL.map(PolicyLevel::keyword)) {
        Some(near) => problem.help(format!("did you mean `{near}`?")).fix(node.span, near),
        None => problem.help("write one of them, or leave `level` out for overridable"),
    });
    None
}

fn read_message(context: &ConfigContext<'_>, node: &Node) -> Option<String> {
    match node.scalar() {
        Some(scalar) if scalar.text.contains("${") => {
            let detail = "A `message` is a text: the expression in it would be shown as it is written.";
            no_policy(context, node.span, detail.to_owned())
        }
        Some(scalar) if !scalar.text.trim().is_empty() => Some(scalar.text.to_string()),
        _ => no_policy(context, node.span, "A `message` is a text.".to_owned()),
    }
}

/// Reads the `deny` condition of a policy, and binds the values that it names, so that the plan can evaluate it
/// later. `None` after a problem that was reported. `on` is empty for a rule over the whole plan.
fn read_denial(
    evaluator: &Evaluator<'_, '_>,
    node: &Node,
    (on, owner): (&[&'static Kind], PolicyOwner),
) -> Option<CelExpression> {
    let text = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    let source = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')).map(str::trim);
    let Some(source) = source else {
        return no_policy(evaluator.context, node.span, "`deny` is one expression.".to_owned());
    };
    let program = match evaluator.context.parse_program(source) {
        Ok(program) => program,
        Err(error) => {
            evaluator.context.problems.push(syntax_problem(evaluator.context, &error, source, node.span));
            return None;
        }
    };
    let mut bindings = ValueMap::new();
    let mut good = true;
    for path in program.paths() {
        good &= check_denial_path(evaluator, &path, (on, owner), node.span, &mut bindings).is_some();
    }
    good &= check_entries(evaluator.context, &program, node.span).is_some();
    let cel = CelExpression { source: source.to_owned(), bindings, ..CelExpression::default() };
    good.then_some(cel)
}
