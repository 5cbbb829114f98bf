//! `ProbeFinding`: one assumption of the contract, and the result of its check.

use crate::model::schema::Provenance;

/// Maximum number of differences that a message names.
const MAX_NAMED_DIFFERENCES: usize = 3;

/// The result of checking an assumption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContractCheckResult {
    /// The service matches the contract.
    Confirmed,
    /// The service differs in this way.
    Different(String),
    /// The responses do not show it, for this reason.
    NotSeen(String),
}

/// One assumption and the result of its check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeFinding {
    /// The subject, such as a kind.
    pub subject: String,
    /// The assumption of the contract.
    pub says: String,
    /// The source: a section of the contract.
    pub place: String,
    /// Whether the specification documents it or the contract assumes it.
    pub provenance: Provenance,
    /// The result of the check.
    pub verdict: ContractCheckResult,
}

impl ContractCheckResult {
    /// Combines observations: any difference counts first, then any confirmation.
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
