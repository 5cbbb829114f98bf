//! Trees of modules: Terraform nests the resources of `planned_values`, `prior_state` and `configuration` in the modules that
//! contain them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::address::{ModuleStep, module_address};

/// A module with its own resources and the modules inside of it.
#[derive(Debug, Default)]
pub(super) struct ModuleTree {
    resources: Vec<Json>,
    children: BTreeMap<ModuleStep, ModuleTree>,
}

impl ModuleTree {
    /// Adds a resource of the module instance at the end of `steps`.
    pub(super) fn add(&mut self, steps: &[ModuleStep], resource: Json) {
        match steps.split_first() {
            None => self.resources.push(resource),
            Some((first, rest)) => self.children.entry(first.clone()).or_default().add(rest, resource),
        }
    }

    /// Returns the module as a module of values, with the addresses of the modules inside of it.
    pub(super) fn into_values(self) -> Json {
        self.values_below(&[])
    }

    fn values_below(self, above: &[ModuleStep]) -> Json {
        let mut module = Map::new();
        if !above.is_empty() {
            module.insert("address".to_owned(), module_address(above).into());
        }
        if !self.resources.is_empty() {
            module.insert("resources".to_owned(), self.resources.into());
        }
        let children: Vec<Json> = self
            .children
            .into_iter()
            .map(|(step, child)| {
                let steps: Vec<ModuleStep> = above.iter().cloned().chain([step]).collect();
                child.values_below(&steps)
            })
            .collect();
        if !children.is_empty() {
            module.insert("child_modules".to_owned(), children.into());
        }
        Json::Object(module)
    }

    /// Returns the module as a module of the configuration, whose calls are not told apart by their keys: the resources of
    /// the first instance stand for all.
    pub(super) fn into_configuration(self) -> Map<String, Json> {
        let mut module = Map::new();
        module.insert("resources".to_owned(), self.resources.into());
        let mut calls: Map<String, Json> = Map::new();
        for ((name, key), child) in self.children {
            if calls.contains_key(&name) {
                continue;
            }
            let mut call = json!({"source": format!("./{name}"), "module": child.into_configuration()});
            if key.is_some() {
                call["for_each_expression"] = json!({});
            }
            calls.insert(name, call);
        }
        if !calls.is_empty() {
            module.insert("module_calls".to_owned(), Json::Object(calls));
        }
        module
    }
}
