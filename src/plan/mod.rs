//! Stack, ledger and snapshot → `Plan`. Pure.

mod adoptions;
mod blocks;
mod bookkeeping;
mod calls;
pub mod change;
mod clash;
mod classify;
pub mod compare;
pub mod contest;
pub mod cost;
pub mod declared;
mod diff;
mod drift;
mod effects;
mod finals;
mod fingerprint;
pub mod generated;
mod guards;
mod holdings;
mod image;
mod leftovers;
mod lines;
mod lookup;
pub mod make;
mod names;
pub mod offline;
mod order;
mod policy;
mod project;
pub mod reach;
pub mod recovery;
mod renames;
mod replace;
mod revive;
mod rules;
pub mod saved;
mod scope;
pub mod sightings;
mod succession;
mod survey;
pub mod takeover;
mod verdict;
mod want;
mod wanted;

#[cfg(test)]
mod tests;
