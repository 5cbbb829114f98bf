//! The probe: what a live service shows of the contract, by GETs only. `ask` collects evidence, the rest
//! judges it against the tables and is pure.

mod ask;
mod catalogs;
mod endpoints;
mod evidence;
mod fields;
mod finding;
mod general;
mod learned;
mod run;

#[cfg(test)]
mod tests;

pub use evidence::Evidence;
pub use finding::{Finding, Verdict};
pub use learned::{LARGEST_PAGE, Learned, USUAL_PAGE};
pub use run::findings;
