//! Groups of equal entries for people: changes, blockers, notes and drift that differ only in the key of
//! their address are one entry. In: the parts of a plan. Out: entries in the plan's order, each with all of its members.
//! Documents for programs never use them. The work is linear in the number of parts.

mod change_items;
mod changes;
mod differences;
mod key_groups;
mod key_values;
mod module_moves;
mod problems;

pub(in crate::report) use self::changes::{
    ChangeGroup, ModuleGroup, PlanEntry, affects_users, charged_at_once, is_dangerous, plan_entries,
    single_entries,
};
pub(in crate::report) use self::differences::group_differences;
pub(in crate::report) use self::problems::{group_blockers, group_drift, group_notes};
