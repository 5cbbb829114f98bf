//! `ProbeFinding`: one assumption of the contract, and what a service showed of it.

use crate::model::schema::Provenance;

/// Ways in which a service differs that are named one by one.
const MAX_NAMED_DIFFERENCES: usize = 3;

/// What a service showed of an assumption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContractCheckResult {
    /// It is as the contract has it.
    Confirmed,
    /// It is not, in this way.
    Different(String),
    /// Nothing that was read tells, for this reason.
    NotSeen(String),
}

/// One assumption, and what was seen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeFinding {
    /// What it is about.
    pub subject: String,
    /// What the contract has.
    pub says: String,
    /// Where it stands.
    pub place: String,
    /// Said by the specification, or assumed.
    pub provenance: Provenance,
    /// What was seen.
    pub verdict: ContractCheckResult,
}

impl ContractCheckResult {
    /// Returns what many observations come to: any that differs counts, then any that fits.
    pub(super) fn from_observations(
        observations: impl IntoIterator<Item = Result<(), String>>,
        nothing: &str,
    ) -> Self {
        let (mut fits, mut differs, mut more) = (false, Vec::new(), 0);
        for observation in observations {
            match observation {
                Ok(()) => fits = true,
                Err(how) if differs.contains(&how) => {}
                Err(how) if differs.len() < MAX_NAMED_DIFFERENCES => differs.push(how),
                Err(_) => more += 1,
            }
        }
        match (differs.is_empty(), fits) {
            (false, _) if more > 0 => {
                Self::Different(format!("{}; and {more} more like these", differs.join("; ")))
            }
            (false, _) => Self::Different(differs.join("; ")),
            (true, true) => Self::Confirmed,
            (true, false) => Self::NotSeen(nothing.to_owned()),
        }
    }
}
