//! `SavedPlan`: a plan as a file, and the checks before it is applied: it is whole, it is for this
//! stack, it was not applied yet, and nothing that it touches has moved.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use super::change::{BeforeImage, Bookkeeping, Operation, Plan};
use super::fingerprint::digest;
use super::image::moved;
use crate::ledger::entry::Ledger;
use crate::model::address::{Address, Name};
use crate::model::schema::Registry;
use crate::model::snapshot::{Snapshot, Wanted};

/// The version of the form of saved plans.
const SCHEMA: u32 = 1;

/// A plan with what proves that it is whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedPlan {
    /// The version of this form.
    pub schema: u32,
    /// The version of stead that made it.
    pub stead_version: String,
    /// SHA-256 of the plan as JSON.
    pub digest: String,
    /// The plan.
    pub plan: Plan,
}

/// Why a file is no saved plan.
#[derive(Debug, Error)]
pub enum SavedError {
    /// It is not JSON of this form.
    #[error("this is not a saved plan")]
    Malformed(#[source] serde_json::Error),
    /// Another version of stead wrote it in a form that this one does not read.
    #[error("the saved plan has form {found}, and this version reads form {SCHEMA}: plan again")]
    Version {
        /// Its form.
        found: u32,
    },
    /// It is not what was saved.
    #[error("the saved plan was changed after it was made: plan again")]
    Tampered,
}

/// What a saved plan is checked against.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The tables.
    pub registry: Registry,
    /// The stack of the configuration at hand.
    pub stack: &'a Name,
    /// Its environment.
    pub environment: &'a Name,
    /// The digest of the resolved configuration.
    pub config: &'a str,
    /// The digest of what it reads elsewhere, as it is now.
    pub reads: &'a str,
    /// The ledger.
    pub ledger: &'a Ledger,
    /// What is live now: what the plan's `objects` name, at least.
    pub snapshot: &'a Snapshot,
}

/// Why a saved plan can no longer be applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Stale {
    /// It was made for something else.
    #[error("the plan was made for {what} {planned}, and this is {found}")]
    Foreign {
        /// `account`, `stack`, `environment`.
        what: &'static str,
        /// The plan's.
        planned: Name,
        /// The one at hand.
        found: Name,
    },
    /// It was made from another ledger, or a fork of it.
    #[error("the plan was made from another ledger ({planned}), and this is {found}")]
    Ledger {
        /// The plan's lineage.
        planned: Uuid,
        /// The ledger's.
        found: Uuid,
    },
    /// The ledger is older than the plan: an old copy was put back.
    #[error("the ledger is older than the plan: record {found} where the plan saw {planned}")]
    Rewound {
        /// The plan's serial.
        planned: u64,
        /// The ledger's.
        found: u64,
    },
    /// The configuration changed.
    #[error("the configuration changed since the plan was made")]
    Config,
    /// What other stacks gave, or what is looked up, changed.
    #[error("what it reads elsewhere (`stacks`, `data`) changed since the plan was made")]
    Reads,
    /// It was applied.
    #[error("the plan was applied already")]
    Applied,
    /// An object that it touches has moved.
    #[error("{address} changed since the plan was made: {what}")]
    Moved {
        /// Whose.
        address: Address,
        /// What moved.
        what: Movement,
    },
}

/// What moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Movement {
    /// The object is gone.
    Gone,
    /// This attribute.
    Attribute(Name),
    /// The resource has another object than the plan saw.
    Rebound(Name),
    /// The resource has no object any more.
    Unbound,
}

impl fmt::Display for Movement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the object is gone"),
            Self::Attribute(name) => write!(f, "{name} is not what it was"),
            Self::Rebound(id) => write!(f, "it has the object {id} now"),
            Self::Unbound => f.write_str("it has no object any more"),
        }
    }
}

impl SavedPlan {
    /// Wraps a plan.
    #[must_use]
    pub fn new(plan: Plan, stead_version: impl Into<String>) -> Self {
        Self { schema: SCHEMA, stead_version: stead_version.into(), digest: digest(&plan), plan }
    }

    /// Returns the text of the file.
    ///
    /// # Errors
    /// When a part of the plan cannot be written as JSON.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(self)?;
        text.push('\n');
        Ok(text)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// When it is no saved plan, of another form, or not as it was saved.
    pub fn parse(text: &str) -> Result<Self, SavedError> {
        #[derive(Deserialize)]
        struct Form {
            schema: u32,
        }
        let form: Form = serde_json::from_str(text).map_err(SavedError::Malformed)?;
        if form.schema != SCHEMA {
            return Err(SavedError::Version { found: form.schema });
        }
        let saved: Self = serde_json::from_str(text).map_err(SavedError::Malformed)?;
        if saved.digest != digest(&saved.plan) {
            return Err(SavedError::Tampered);
        }
        Ok(saved)
    }

    /// Returns what must be read from the live world for `check`: the objects that the plan touches.
    #[must_use]
    pub fn wanted(&self, registry: Registry) -> Wanted {
        let mut wanted = Wanted::default();
        for image in &self.plan.base.objects {
            let key = &image.key;
            let Some(kind) = registry.kind(&key.kind) else { continue };
            if kind.child_of().is_none() {
                wanted.kinds.insert(key.kind.clone());
            }
            let unlisted = |name: &Name| kind.attribute(name).is_some_and(|attribute| !attribute.listed);
            if image.attributes.keys().any(unlisted) {
                wanted.details.insert(key.clone());
            }
            wanted.parents.extend(key.parent.clone().map(|parent| (key.kind.clone(), parent)));
            wanted.owned.push(key.clone());
        }
        wanted
    }

    /// Checks that the plan can still be applied. What it does not touch may have changed.
    ///
    /// # Errors
    /// The first reason why not.
    pub fn check(&self, facts: &Facts<'_>) -> Result<(), Stale> {
        let base = &self.plan.base;
        if facts.ledger.applied_plans.contains(&base.nonce) {
            return Err(Stale::Applied);
        }
        self.check_identity(facts)?;
        if facts.config != base.config {
            return Err(Stale::Config);
        }
        // A plan that reads nothing elsewhere, as one that destroys, says nothing of it.
        if !base.reads.is_empty() && facts.reads != base.reads {
            return Err(Stale::Reads);
        }
        self.check_bindings(facts)?;
        base.objects.iter().try_for_each(|image| check_image(image, facts))
    }

    fn check_identity(&self, facts: &Facts<'_>) -> Result<(), Stale> {
        let base = &self.plan.base;
        let account = facts.snapshot.account.clone().unwrap_or_default();
        for (what, planned, found) in [
            ("account", &base.account, &account),
            ("stack", &base.stack, facts.stack),
            ("environment", &base.environment, facts.environment),
        ] {
            if planned != found {
                return Err(Stale::Foreign { what, planned: planned.clone(), found: found.clone() });
            }
        }
        let (lineage, serial) = (facts.ledger.identity.lineage, facts.ledger.serial);
        if base.lineage != lineage {
            return Err(Stale::Ledger { planned: base.lineage, found: lineage });
        }
        if serial < base.serial {
            return Err(Stale::Rewound { planned: base.serial, found: serial });
        }
        Ok(())
    }

    /// Checks that every resource still has the object that the plan saw, or none. Otherwise a late
    /// object of an earlier apply would get a twin.
    fn check_bindings(&self, facts: &Facts<'_>) -> Result<(), Stale> {
        let images = self.plan.base.objects.iter().map(|image| (&image.address, &image.key.id));
        let seen: std::collections::BTreeMap<_, _> = images.collect();
        let old = self.check_moves(facts)?;
        for step in &self.plan.steps {
            let address = &step.address;
            let entry = facts.ledger.entries.get(old.get(address).copied().unwrap_or(address));
            let bound = entry.and_then(|entry| entry.current.as_ref()).map(|owned| &owned.id);
            let what = match (&step.operation, seen.get(address), bound) {
                (Operation::Delete { deposed: true, .. }, ..) => continue,
                (Operation::Create { .. }, None, Some(id)) if !self.is_gone(address, id) => {
                    Movement::Rebound(id.clone())
                }
                (_, Some(planned), Some(id)) if *planned != id => Movement::Rebound(id.clone()),
                (Operation::Delete { .. }, Some(_), None) => Movement::Unbound,
                _ => continue,
            };
            return Err(Stale::Moved { address: address.clone(), what });
        }
        Ok(())
    }

    /// Checks that everything that moves is where it was; returns the old addresses by the new ones.
    fn check_moves<'p>(&'p self, facts: &Facts<'_>) -> Result<HashMap<&'p Address, &'p Address>, Stale> {
        let moves = self.plan.bookkeeping.iter().filter_map(|bookkeeping| match bookkeeping {
            Bookkeeping::Move(moves) => Some(moves),
            _ => None,
        });
        let mut old = HashMap::new();
        for (from, to) in moves.flatten() {
            let current = |address| facts.ledger.entries.get(address)?.current.as_ref();
            let stale = |address: &Address, what| Err(Stale::Moved { address: address.clone(), what });
            if !facts.ledger.entries.contains_key(from) {
                return stale(from, Movement::Unbound);
            }
            if let Some(owned) = current(to) {
                return stale(to, Movement::Rebound(owned.id.clone()));
            }
            old.insert(to, from);
        }
        Ok(old)
    }

    /// Tells whether the plan found an object gone.
    fn is_gone(&self, address: &Address, id: &Name) -> bool {
        let gone = |b: &_| matches!(b, Bookkeeping::Gone(a, found) if a == address && found == id);
        self.plan.bookkeeping.iter().any(gone)
    }
}

fn check_image(image: &BeforeImage, facts: &Facts<'_>) -> Result<(), Stale> {
    let stale = |what| Stale::Moved { address: image.address.clone(), what };
    let object = facts.snapshot.objects.get(&image.key).ok_or_else(|| stale(Movement::Gone))?;
    let Some(kind) = facts.registry.kind(&image.key.kind) else { return Ok(()) };
    match moved(image, kind, object, &facts.ledger.identity.key) {
        Some(name) => Err(stale(Movement::Attribute(name))),
        None => Ok(()),
    }
}
