//! What a change of a plan does to how its object is paid. In: what is written of a resource, and its differences. Out: fewer
//! differences, and a blocker where the written payment is not the one that the service gives.

use crate::model::diagnostic::blocker_code;
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::decision::{AttributeDiff, DesiredAttribute};
use crate::plan::diff::free_billing::ended_free;
use crate::plan::join::joined_state::ResourceState;

/// Takes the payment in advance out of the differences that the change of the plan brings about by itself: it does not replace
/// the object. Blocks a change that is written with another payment, which the next plan would replace the object for.
pub(in crate::plan) fn settle_payment<'a>(
    subject: &ResourceState<'a>,
    wants: &[DesiredAttribute<'a>],
    differences: &mut Vec<AttributeDiff<'a>>,
    blocks: &mut Blockers<'_, 'a>,
) {
    let Some(choice) = ended_free(subject, differences) else { return };
    let prepaid = Value::text(choice.prepaid);
    differences
        .retain(|difference| difference.attribute.name != choice.attribute || difference.after != prepaid);
    let mut written = wants.iter().filter(|want| want.attribute.name == choice.attribute);
    let other = written.find_map(|want| Some((want.setting?, &want.value)));
    let Some((setting, value)) = other.filter(|(_, value)| **value != prepaid) else { return };
    if differences.iter().any(AttributeDiff::forces_replacement) {
        return;
    }
    blocks.add_for_subject(
        blocker_code::RULE,
        subject,
        Some(setting.span),
        format!(
            "{}.{} is {value}, and the service makes what was free until now {} when it gets a plan with a price.",
            subject.address, choice.attribute, choice.prepaid
        ),
        format!("Write `{}: {}` in the same change.", choice.attribute, choice.prepaid),
    );
}
