//! Secret sinks in a plan: which secrets its steps deliver, each named with its target, and the blocker for a target
//! with content that stead did not write. Pure.

use crate::config::check::secret_sinks::{self, describe_sink};
use crate::config::stack::model::{SinkUse, Stack};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::blocker_code;
use crate::model::schema::Registry;
use crate::plan::blockers::Blockers;
use crate::plan::join::joined_state::JoinedState;
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::plan::model::step::{Operation, Step};

/// The prefix of a generated secret's address.
const VARIABLE_PREFIX: &str = "vars.";

/// Returns the sinks that steps write to, in the order of the configuration. `is_known` returns whether the
/// secret of a generated variable exists already: then its sink is not written.
pub fn used_sinks<'a>(
    registry: Registry,
    stack: &'a Stack,
    ledger: &Ledger,
    steps: &[Step],
    is_known: impl Fn(&str) -> bool,
) -> Vec<&'a SinkUse> {
    let writes = |step: &Step| !matches!(step.operation, Operation::Delete { .. });
    let any_write = steps.iter().any(writes);
    let delivers = |one: &&SinkUse| {
        if let Some(variable) = one.address.strip_prefix(VARIABLE_PREFIX) {
            let deferred =
                stack.deferred_secrets.get(variable).is_some_and(|deferred| deferred.value.is_deferred());
            return any_write && deferred && !is_known(variable);
        }
        let lost = ledger.entries.get(one.address.as_str()).is_some_and(|entry| entry.secret_lost);
        steps.iter().filter(|step| step.address.as_str() == one.address.as_str()).any(|step| {
            let shows = registry.kind(&step.kind).is_some_and(|kind| kind.shown_once.is_some());
            match step.operation {
                Operation::Create { .. } => shows || lost,
                Operation::Update { .. } => lost,
                Operation::Delete { .. } => false,
            }
        })
    };
    stack.sinks.iter().filter(delivers).collect()
}

/// Blocks a plan that would overwrite content that stead did not deliver, and returns a note for each other target.
pub(in crate::plan) fn check(
    joined: &JoinedState<'_>,
    steps: &[Step],
    blocks: &mut Blockers<'_, '_>,
) -> Vec<PlanNote> {
    let inputs = &joined.inputs;
    let mut notes = Vec::new();
    let delivered = used_sinks(inputs.registry, inputs.stack, inputs.ledger, steps, |_| false);
    let has_recipients = inputs.stack.recipients.is_some();
    if let Some((address, why)) = sink_on_runner(inputs.options.on_runner, has_recipients, &delivered) {
        let help = "Store a copy in the ledger: add `secrets: { recipients: [age1…] }` to the stack (stead secret keygen); or apply on a permanent machine."
            .to_owned();
        blocks.add_for_address(
            blocker_code::SINK_ON_RUNNER,
            Address::parse(&address).ok().as_ref(),
            why,
            help,
        );
    }
    for one in delivered {
        if let Some(why) = inputs.options.occupied_sinks.get(&one.address) {
            let address = Address::parse(&one.address).ok();
            let help = format!(
                "Move that content elsewhere; or allow stead to replace it: --overwrite-secret {}. Nothing was sent.",
                one.address
            );
            match &address {
                Some(address) => {
                    blocks.add_at_span(
                        blocker_code::SINK_OCCUPIED,
                        address,
                        Some(one.span),
                        why.clone(),
                        help,
                    );
                }
                None => blocks.add_for_address(blocker_code::SINK_OCCUPIED, None, why.clone(), help),
            }
        }
        // The note of a generated secret names its sink already.
        if !one.address.starts_with(VARIABLE_PREFIX) {
            notes.push(PlanNote {
                code: NoteCode::Delivered,
                text: format!("the secret of {} is delivered to {}", one.address, describe_sink(&one.sink)),
                help: "only content that an earlier apply delivered there is replaced".to_owned(),
                source: inputs.stack.sources.location_of(one.span),
                address: None,
            });
        }
    }
    notes
}

/// Returns the first secret that would be delivered to a file on a CI runner, with the reason for the blocker: the
/// runner's disk does not outlast its job, and without recipients the ledger keeps no copy. `None` if nothing is lost.
fn sink_on_runner(is_ci: bool, has_recipients: bool, delivered: &[&SinkUse]) -> Option<(Name, String)> {
    let file = |one: &&&SinkUse| secret_sinks::target_of(&one.sink).is_some();
    let first = delivered.iter().find(file).filter(|_| is_ci && !has_recipients)?;
    let text = format!(
        "The secret of {} would be delivered to {} on this CI runner, whose files are gone when the job ends.",
        first.address,
        describe_sink(&first.sink)
    );
    Some((first.address.clone(), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::stack::model::SecretSink;
    use crate::model::source::{SourceId, Span};

    #[test]
    fn without_recipients_a_secret_on_a_ci_runner_disk_is_a_warning() {
        let span = Span { source: SourceId(0), start: 0, end: 0 };
        let one = |sink| SinkUse { address: "api_key.ci".into(), sink, span };
        let file = one(SecretSink::File("./ci".to_owned()));
        let program = one(SecretSink::Program("vault".into()));
        let (address, text) = sink_on_runner(true, false, &[&program, &file]).unwrap();
        assert_eq!(address, "api_key.ci");
        assert!(text.contains("./ci"), "{text}");
        for (is_ci, has_recipients, all) in
            [(false, false, vec![&file]), (true, true, vec![&file]), (true, false, vec![&program])]
        {
            assert_eq!(sink_on_runner(is_ci, has_recipients, &all), None);
        }
    }
}
