//! Checks of a kind's endpoints: whether they exist as the table declares.

use super::collect::read_only_actions;
use super::finding::{ContractCheckResult, ProbeFinding};
use super::observations::{Observation, Observations, ProbePurpose};
use crate::model::schema::{Action, Endpoint, Kind, Method};

/// Checks the endpoints of a kind. Mutating endpoints are never called.
pub(super) fn check_endpoints(kind: &'static Kind, evidence: &Observations) -> Vec<ProbeFinding> {
    let none = format!("there is no {} to read", kind.name);
    let verdict = |seen: Vec<&Observation>| {
        ContractCheckResult::from_observations(
            seen.iter().filter_map(|seen| proves_existence(seen)),
            &explain_missing(&seen, &none),
        )
    };
    let place = format!("contract, 3, {}", kind.name);
    let finding = |name: &str, endpoint: Endpoint, verdict| ProbeFinding {
        subject: format!("{} {name}", kind.name),
        says: format!("{} {}", endpoint.method, endpoint.path),
        place: place.clone(),
        provenance: endpoint.provenance,
        verdict,
    };
    let lists: Vec<&Observation> = match kind.api.absent_when {
        Some(_) => evidence.reads_of(kind).collect(),
        None => evidence.lists_of(kind).collect(),
    };
    let mut findings = vec![finding("list", kind.api.list, verdict(lists))];
    if let Some(read) = kind.api.read {
        findings.push(finding("read", read, verdict(evidence.reads_of(kind).collect())));
    }
    for action in read_only_actions(kind) {
        let Some(endpoint) = action.endpoint() else { continue };
        findings.push(finding(action.name, endpoint, verdict(action_answers(evidence, kind, action))));
    }
    let changes = || ContractCheckResult::NotSeen("no GET shows it".to_owned());
    let hidden =
        || ContractCheckResult::NotSeen("its answer has a secret, so it is not requested".to_owned());
    let api = [("create", kind.api.create), ("delete", kind.api.delete)].into_iter();
    let calls = kind.calls().map(|call| (call.name, call.endpoint));
    for (name, endpoint) in api.chain(calls).filter(|(_, endpoint)| endpoint.method.mutates()) {
        findings.push(finding(name, endpoint, changes()));
    }
    let others = kind
        .actions
        .iter()
        .filter(|action| !read_only_actions(kind).any(|known| known.name == action.name));
    for (action, endpoint) in others.filter_map(|action| Some((action, action.endpoint()?))) {
        let verdict = if endpoint.method == Method::Get { hidden() } else { changes() };
        findings.push(finding(action.name, endpoint, verdict));
    }
    findings
}

fn action_answers<'a>(evidence: &'a Observations, kind: &Kind, action: &Action) -> Vec<&'a Observation> {
    let is_it = |seen: &&Observation| match &seen.asked {
        ProbePurpose::Action(of, asked) => of.name == kind.name && asked.name == action.name,
        _ => false,
    };
    evidence.seen.iter().filter(is_it).collect()
}

/// Returns whether a response shows that an endpoint exists; `None` where it does not prove anything.
pub(super) fn proves_existence(seen: &Observation) -> Option<Result<(), String>> {
    let reply = seen.reply.as_ref().ok()?;
    match reply.status {
        200..=299 if reply.json.is_none() => {
            Some(Err(format!("{} does not answer with JSON", seen.request)))
        }
        200..=299 => Some(Ok(())),
        // The key lacks the permission, or the object is in another state.
        401 | 402 | 403 | 409 | 412 | 429 | 500..=599 => None,
        status => Some(Err(format!("{} answers {status}", seen.request))),
    }
}

/// Returns the reason why there was nothing to see.
pub(super) fn explain_missing(seen: &[&Observation], nothing: &str) -> String {
    let Some(first) = seen.first() else { return nothing.to_owned() };
    match &first.reply {
        Ok(reply) => format!("the service answered {}", reply.status),
        Err(reason) => reason.clone(),
    }
}
