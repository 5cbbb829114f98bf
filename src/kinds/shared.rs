//! Attributes and types that several kinds share. Attributes here count as documented; a kind for which the
//! specification does not show one adds `assumed`.

use crate::model::schema::{
    Attribute, Billing, BillingChoice, EVERY_CHANGE, Exposure, ExposureCheck, Literal, RestOfMonth,
    RightScope, Rights, TextFormat, Type, UpdateStrategy,
};

/// A name of 1–64 characters.
pub(super) const NAME: Type = Type::Text { min: 1, max: 64, format: TextFormat::Any };

/// Any string of up to 65,535 characters, also an empty one. The specification states no limit.
pub(super) const TEXT: Type = Type::Text { min: 0, max: 65_535, format: TextFormat::Any };

/// A point in time.
pub(super) const TIME: Type = Type::Text { min: 0, max: 64, format: TextFormat::Timestamp };

/// A count without an upper bound.
pub(super) const COUNT: Type = Type::Integer { min: 0, max: i64::MAX, unit: "" };

/// The only region that the service offers (specification, What the service does).
pub(super) const REGIONS: Type = Type::Enum(&["us-east"]);

pub(super) const REGION: Attribute = Attribute::default("region", REGIONS, Literal::Text("us-east"))
    .summary("The region; us-east is the only one.");

/// No documented call changes the billing of an object, so a change replaces it.
pub(super) const BILLING: Attribute =
    Attribute::default("billing_type", Type::Enum(&["payg", "subscription"]), Literal::Text("payg"))
        .summary("payg is billed by the hour, subscription by the month, from the account balance first.")
        .on_change(UpdateStrategy::Replace);

/// Payment by the hour, or in advance for a month (specification, What the service does). What happens to the rest of a
/// paid month is shown for some kinds only.
pub(super) const PAYMENT: BillingChoice = BillingChoice {
    attribute: "billing_type",
    prepaid: "subscription",
    on_change: RestOfMonth::NotShown,
    on_delete: RestOfMonth::NotShown,
    free: None,
};

/// Payment where the specification shows nothing about the rest of a paid month.
pub(super) const PAID: Billing = Billing::Chosen(PAYMENT);

pub(super) const CREATED_AT: Attribute =
    Attribute::computed("created_at", TIME).summary("When it was created.");

pub(super) const UPDATED_AT: Attribute =
    Attribute::computed("updated_at", TIME).summary("When it last changed.").follows(EVERY_CHANGE);

pub(super) const PROJECT_ID: Attribute =
    Attribute::computed("project_id", TEXT).summary("The id of the project that owns it.");

/// The service writes it as a number or as a string, depending on the kind; `Type::Decimal` accepts both.
pub(super) const PRICE_PER_HOUR: Attribute =
    Attribute::computed("price_per_hour", Type::Decimal).summary("The price per hour, in USD.");

/// A directory with source code below the stack's own, by its relative path.
pub(super) const SOURCE_DIR: Type = Type::Text { min: 1, max: 1_024, format: TextFormat::Directory };

/// A string of 1–253 characters, such as a branch, an image or a label.
pub(super) const SHORT_TEXT: Type = Type::Text { min: 1, max: 253, format: TextFormat::Any };

/// Weekdays and their numbers in the API.
pub(super) const WEEKDAYS: &[(&str, i64)] = &[
    ("sunday", 0),
    ("monday", 1),
    ("tuesday", 2),
    ("wednesday", 3),
    ("thursday", 4),
    ("friday", 5),
    ("saturday", 6),
];

// The rights of the areas of the service to which several kinds belong. The specification does not show which right an
// operation needs (Authentication, 6), so all of them are assumed.

/// The rights on apps and what belongs to them.
pub(super) const APP_RIGHTS: Option<Rights> =
    Some(Rights::new(RightScope::Project, "apps:read", "apps:write"));

/// The rights on VMs, volumes and their copies.
pub(super) const COMPUTE_RIGHTS: Option<Rights> =
    Some(Rights::new(RightScope::Project, "compute:read", "compute:write"));

/// The rights on databases and what belongs to them.
pub(super) const DATABASE_RIGHTS: Option<Rights> =
    Some(Rights::new(RightScope::Project, "databases:read", "databases:write"));

/// The rights on clusters and node pools.
pub(super) const KUBERNETES_RIGHTS: Option<Rights> =
    Some(Rights::new(RightScope::Project, "kubernetes:read", "kubernetes:write"));

/// An API key with a privileged role, of the account or of a project.
pub(super) const PRIVILEGED_ROLE: Exposure = Exposure {
    code: "X05",
    text: "its role is a privileged one",
    check: ExposureCheck::PrivilegedRole { attribute: "role", holder: "api_key" },
    meaning: "An API key has an account or project role whose short name is in the setting `privileged_roles` (`owner` and `admin` by default).",
    remedy: "Give the key a role with only the permissions that its work needs; `stead do permissions` lists them.",
    is_default: false,
};
