//! The reference page for exposures: the built-in policies about what an object opens to others, from the kinds' tables.

use serde::Serialize;

use crate::model::schema::{Registry, find_exposure};

/// The reference page for all exposures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExposurePage {
    /// What an exposure is, and when it is reported, in sentences.
    pub summary: &'static str,
    /// The exposures, by code.
    pub exposures: Vec<ExposureRow>,
    /// What is not checked, and why, in sentences.
    pub not_checked: &'static str,
    /// How to allow one, in YAML.
    pub example: &'static str,
}

/// A row in the list of exposures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExposureRow {
    /// Code of the exposure.
    pub code: &'static str,
    /// Kinds that can have it.
    pub kinds: Vec<&'static str>,
    /// What is open, in sentences.
    pub meaning: &'static str,
}

/// Returns the page for all exposures.
pub(super) fn exposure_page(registry: &Registry) -> ExposurePage {
    let row = |code: &'static str| {
        let (exposure, kinds) = find_exposure(registry, code)?;
        Some(ExposureRow { code, kinds, meaning: exposure.meaning })
    };
    ExposurePage {
        summary: "Built-in advisory policies about what an object opens to others. The plan and `drift` report them; they block nothing, and are not part of the fingerprint. A change that opens something comes first in the plan.",
        exposures: exposure_codes(registry).into_iter().filter_map(row).collect(),
        not_checked: "The service does not show which ports of a VM are open, nor whether the domain of an app is encrypted: there is no code for either.",
        example: "database:\n  demo:\n    plan: pg-1c-2g\n    public_access: true\n    allow_exposure: [{ code: X01, reason: a public demo without data, until: 2027-01-31 }]",
    }
}

/// Returns the codes of all exposures, sorted.
pub(super) fn exposure_codes(registry: &Registry) -> Vec<&'static str> {
    let all = registry.kinds.iter().flat_map(|kind| kind.exposures).map(|exposure| exposure.code);
    let mut codes: Vec<&str> = all.collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}
