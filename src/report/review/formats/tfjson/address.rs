//! Addresses as Terraform writes them: `module.sites["eu"].vm.web["a"]`. In: an address of a plan, and the module instances
//! of its stack. A child's name is that of its parent, and its own key is the index: `node_pool.jobs["batch"]`.

use serde_json::Value as Json;

use crate::model::address::{Address, Name};
use crate::model::schema::{Kind, Registry};

/// A module instance on the way to a resource.
pub(super) type ModuleStep = (String, Option<String>);

/// The parts of a Terraform address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TerraformAddress {
    /// The module instances that contain the resource, outermost first.
    pub(super) modules: Vec<ModuleStep>,
    /// Type, which is the name of the kind.
    pub(super) kind: String,
    /// Name of the block.
    pub(super) name: String,
    /// Key of the instance; `None` without one.
    pub(super) index: Option<String>,
}

impl TerraformAddress {
    /// Splits an address. `modules` are the address prefixes of module instances; where they are not known, each part before
    /// the kind is a module.
    pub(super) fn new(address: &Address, modules: &[Name], registry: Registry) -> Self {
        let segments: Vec<&str> = address.segments().collect();
        let is_kind = |name: &&str| registry.top_level().any(|kind| kind.name == *name);
        let start = segments.iter().position(is_kind).unwrap_or(0);
        let (before, rest) = segments.split_at(start);
        let kind = rest.first().copied().unwrap_or_default();
        let name = rest.get(1).copied().unwrap_or_default();
        let mut parts = TerraformAddress {
            modules: module_steps(before, modules),
            kind: kind.to_owned(),
            name: name.to_owned(),
            index: None,
        };
        let mut index: Vec<&str> = Vec::new();
        let mut known: Option<&'static Kind> = registry.kind(kind);
        let mut rest = rest.iter().skip(2).copied().peekable();
        while let Some(segment) = rest.next() {
            let child = known.and_then(|kind| registry.child(kind.name, segment));
            // The last segment is a key, even if it equals the name of a collection.
            if let Some(child) = child.filter(|_| rest.peek().is_some()) {
                child.name.clone_into(&mut parts.kind);
                known = Some(child);
                index.extend(rest.next());
            } else {
                index.push(segment);
            }
        }
        parts.index = (!index.is_empty()).then(|| index.join("."));
        parts
    }

    /// Returns the address of the module that contains the resource; empty for the root module.
    pub(super) fn module_address(&self) -> String {
        module_address(&self.modules)
    }

    /// Returns the address within the module of the resource, without the key of the instance.
    pub(super) fn block_address(&self) -> String {
        format!("{}.{}", self.kind, self.name)
    }

    /// Returns the address within the module of the resource, with the key of the instance.
    pub(super) fn instance_address(&self) -> String {
        let index = self.index.as_ref().map(|index| bracketed(index)).unwrap_or_default();
        format!("{}{index}", self.block_address())
    }

    /// Returns the whole address.
    pub(super) fn full_address(&self) -> String {
        let module = self.module_address();
        let dot = if module.is_empty() { "" } else { "." };
        format!("{module}{dot}{}", self.instance_address())
    }
}

/// Returns the address of a module instance; empty for the root module.
pub(super) fn module_address(steps: &[ModuleStep]) -> String {
    let step = |(name, key): &ModuleStep| {
        format!("module.{name}{}", key.as_ref().map(|key| bracketed(key)).unwrap_or_default())
    };
    steps.iter().map(step).collect::<Vec<_>>().join(".")
}

fn bracketed(key: &str) -> String {
    format!("[{}]", Json::from(key))
}

/// Groups the segments before the kind into modules: one that ends a known prefix is complete, and a second segment in it is
/// its key.
fn module_steps(segments: &[&str], modules: &[Name]) -> Vec<ModuleStep> {
    let mut steps = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for (position, segment) in segments.iter().enumerate() {
        open.push(segment);
        let prefix = segments[..=position].join(".");
        let is_instance = modules.is_empty() || modules.iter().any(|known| *known == prefix);
        if is_instance || position + 1 == segments.len() {
            let key = (open.len() > 1).then(|| open[1..].join("."));
            steps.push((open[0].to_owned(), key));
            open.clear();
        }
    }
    steps
}
