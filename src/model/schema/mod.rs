//! The schema: the types in which the tables of `crate::kinds` describe each kind of resource.
//!
//! In: nothing; the tables are constants. Out: `Registry`, with the `Kind`s, their `Attribute`s, `Rule`s, `Action`s and
//! prices. Invariant: a table is plain data without functions, so that every layer derives its behavior from it.

mod action;
mod attribute;
mod attribute_type;
mod billing;
mod endpoint;
mod exposure;
mod kind;
mod literal;
pub mod meaning;
mod price;
mod registry;
mod revival;
mod rights;
mod rule;
mod service_run;

pub use action::{
    Action, ActionCompletion, ActionRequest, DocumentMerge, Parameter, ParameterLocation,
    ParameterPresence, ResponseShape,
};
pub use attribute::{Attribute, EVERY_CHANGE, Presence, ServiceUpgrade, UpdateStrategy};
pub use attribute_type::{TextFormat, Type};
pub use billing::{Billing, BillingChoice, MONTH_HOURS, RestOfMonth};
pub use endpoint::{ApiCall, Endpoint, Envelope, Method, Provenance};
pub use exposure::{Exposure, ExposureCheck};
pub use kind::{
    DurationEstimate, FinalSnapshot, Kind, KindApi, KindScope, NestedPlacement, PROJECT, ReadinessRule,
    ReplaceOrder,
};
pub use literal::Literal;
pub use price::{ImpliedPart, Price, PriceFactor, PriceTerm, format_money, format_monthly};
pub use registry::{CatalogShape, CatalogTable, Registry, find_exposure, is_exposure_code};
pub use revival::{Revival, RevivalTrigger};
pub use rights::{HandedOn, RightScope, Rights};
pub use rule::{Effect, EndingChange, Rule, RuleCheck};
pub use service_run::RunSchema;
