//! The schema: what a kind of resource is, as a table of plain data.

mod action;
mod attribute;
mod endpoint;
mod kind;
mod literal;
mod price;
mod registry;
mod revival;
mod rule;
mod service_run;

pub use action::{Action, Answer, Merge, Need, Parameter, Place, Request, Until};
pub use attribute::{Attribute, Format, OnChange, Presence, ServiceMove, Type};
pub use endpoint::{Call, Endpoint, Envelope, Method, Provenance};
pub use kind::{AlsoIn, Api, Estimate, FinalCopy, Kind, Ready, ReplaceOrder, Scope};
pub use literal::Literal;
pub use price::{Factor, Price, PriceTerm};
pub use registry::{CatalogShape, CatalogTable, Registry};
pub use revival::{Occasion, Revival};
pub use rule::{Check, Effect, Ending, Rule};
pub use service_run::Run;
