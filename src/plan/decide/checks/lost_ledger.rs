//! Detection of a lost ledger: no object was ever recorded in it, but live objects have the names of the stack's
//! resources. A destroy or a drift check that found nothing would then leave live and billed
//! objects behind a false statement.

use crate::ledger::state::ledger::Ledger;
use crate::model::diagnostic::blocker_code;
use crate::plan::inputs::{PlanInputs, PlanningOptions};
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;

/// The limit on addresses that the message names.
const MAX_LISTED_ADDRESSES: usize = 3;

/// Returns whether a destroy must read and evaluate what creations need, although it creates nothing: the
/// ledger owns no object, so it may be lost.
pub(in crate::plan) fn may_be_lost(ledger: &Ledger, options: &PlanningOptions) -> bool {
    options.destroy && !ledger.has_owned()
}

/// Returns the options of the plan that shows whether the ledger of a destroy is lost; `None` where it is not in doubt.
pub(in crate::plan) fn creating_options(inputs: &PlanInputs<'_>) -> Option<PlanningOptions> {
    // A plan of a part of the stack proves nothing about the ledger.
    may_be_lost(inputs.ledger, inputs.options).then(|| PlanningOptions {
        destroy: false,
        only_looks: true,
        targets: [].into(),
        excluded: [].into(),
        ..inputs.options.clone()
    })
}

/// Returns the blocker for a ledger that seems to be lost: it never recorded an object, and the plan would
/// create objects that exist. `None` if the ledger recorded one, or no name is taken.
#[must_use]
pub fn lost_ledger_blocker(ledger: &Ledger, plan: &Plan) -> Option<Blocker> {
    if ledger.has_owned() {
        return None;
    }
    let exists = plan.blocks.iter().filter(|block| block.code == blocker_code::EXISTS.code);
    let addresses: Vec<&str> = exists.filter_map(|block| Some(block.address.as_ref()?.as_str())).collect();
    let first = plan.blocks.iter().find(|block| block.code == blocker_code::EXISTS.code)?;
    let named = addresses[..addresses.len().min(MAX_LISTED_ADDRESSES)].join(", ");
    let more = match addresses.len().saturating_sub(MAX_LISTED_ADDRESSES) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(Blocker {
        code: blocker_code::LEDGER_LOST.code.into(),
        address: None,
        text: format!(
            "The ledger never recorded an object, but live objects have the names of {named}{more}: it may be lost."
        ),
        help: "If this stack was applied before: `stead recover` rebuilds the ledger from the live objects. If it \
               never was, they belong to somebody else: choose other names."
            .to_owned(),
        source: first.source.clone(),
    })
}
