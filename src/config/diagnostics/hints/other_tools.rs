//! Hints for users of other tools: their blocks, keys and types, and common mistakes, with the equivalent in
//! this language. Each function returns `None` for a name that no tool is known for.

use crate::config::syntax::document::{Node, NodeValue, named_entries};
use crate::config::syntax::quoting;
use crate::model::address::is_legal_segment;

/// Returns a hint with the equivalent of another tool's block.
pub(in crate::config) fn block_hint(name: &str) -> Option<&'static str> {
    Some(match name {
        "version" => "the language's version is declared by `stead: 1` (KDL: `stead 1`); remove this line",
        "resource" | "resources" | "services" => {
            "blocks are at the top level, under their kind, as in `KIND: { NAME: { … } }`: remove this level"
        }
        "variable" | "variables" | "inputs" => "variables are declared under `vars`",
        "output" => "outputs are declared under `outputs`",
        "local" => "locals are declared under `locals`",
        "check" | "checks" | "rules" | "policies" | "assert" | "validation" => {
            "rules are declared under `policy`; the check of a variable is part of its declaration"
        }
        "environment" | "env" | "workspaces" | "workspace" => {
            "environments are declared under `environments`"
        }
        "allow_exposure" | "depends_on" | "lifecycle" | "when" | "for_each" | "deliver_secret"
        | "count" => "it belongs to a resource: indent it into the block that it applies to",
        "module" | "modules" => "modules are used by `use: { NAME: { source: … } }`",
        "apiVersion" => {
            "this is a manifest for Kubernetes; here a block is `KIND: { NAME: { … } }`, as in `vm: { web: { … } }`"
        }
        "provider" | "providers" | "terraform" | "required_providers" => {
            "there is one service, and its key comes from `stead login` or STEAD_API_KEY: remove the block"
        }
        _ => return None,
    })
}

/// Returns our name of a block that another tool calls `name` and writes in the same form, so that renaming is enough.
pub(in crate::config) fn renamed_block(name: &str) -> Option<&'static str> {
    Some(match name {
        "variable" | "variables" | "inputs" => "vars",
        "output" => "outputs",
        "local" => "locals",
        _ => return None,
    })
}

/// Returns a hint with the equivalent of another tool's key in a resource; `known` are the keys of the block's kind.
pub(in crate::config) fn key_hint(name: &str, known: &[&str]) -> Option<&'static str> {
    Some(match name {
        "count" | "replicas" | "scale" => {
            "for several instances, write `for_each: [a, b]`; for zero or one, `when: \"${…}\"`"
        }
        "if" | "condition" | "enabled" | "create" => "for zero or one instance, write `when: \"${…}\"`",
        // If the block has the attribute under another name, `equivalent_attribute` gives the hint.
        "tags" | "labels" | "annotations" | "metadata" if !known.contains(&"labels") => {
            "the service keeps none of it: remove it; objects are distinguished by their `name`"
        }
        "environment" | "env" | "envs" if known.contains(&"env_vars") => {
            "the variables of its process are written under `env_vars`"
        }
        _ => return None,
    })
}

/// Returns the attribute that another tool calls `name`; `None` if the block's kind does not have it.
pub(in crate::config) fn equivalent_attribute<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let ours: &[&str] = match name {
        "instance_type" | "machine_type" | "server_type" | "flavor" | "flavour" | "sku" | "size"
        | "tier" | "instance_class" | "node_type" => &["plan"],
        "image" | "ami" | "os" | "source_image" => &["template"],
        "cidr_block" | "ip_range" | "ip_cidr_range" | "address_space" | "range" => &["cidr"],
        "location" | "zone" | "datacenter" | "availability_zone" => &["region"],
        "keys" | "key_name" | "key_pair" => &["ssh_keys"],
        "startup_script" | "cloud_init" | "userdata" => &["user_data"],
        "allocated_storage" | "disk_size" | "size_gb" | "disk_gb" | "storage" => &["storage_gb", "size"],
        "engine_type" | "db_engine" => &["engine"],
        "tags" => &["labels"],
        _ => return None,
    };
    ours.iter().find_map(|ours| known.iter().find(|known| *known == ours).copied())
}

/// Returns the equivalent in `lifecycle` of a keyword of ours or of another tool.
pub(in crate::config) fn lifecycle_hint(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().replace(['_', '-'], "").as_str() {
        "protect" | "protected" | "preventdestroy" | "deletionprotection" | "terminationprotection" => {
            "protect: true"
        }
        "ignoredrift" | "ignorechanges" | "ignore" => "ignore_drift: [ATTRIBUTE]",
        "createbeforedestroy" | "createbeforedelete" | "replace" => "replace: create_first",
        "deletebeforereplace" | "destroybeforecreate" => "replace: delete_first",
        "preventreplace" | "neverreplace" => "replace: never",
        "onremove" | "ondelete" | "keep" | "retain" | "retainondelete" | "deletionpolicy"
        | "removalpolicy" | "skipdestroy" => "on_remove: keep",
        "timeouts" | "timeout" | "customtimeouts" => "timeouts: { create: 30m }",
        "finalsnapshot" | "skipfinalsnapshot" => "final_snapshot: true",
        _ => return None,
    })
}

/// Returns the equivalent outside `lifecycle` of a keyword in another tool's `lifecycle`.
pub(in crate::config) fn beside_lifecycle(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().replace(['_', '-'], "").as_str() {
        "precondition" | "postcondition" => {
            "rules are at the top level, under `policy`; the check of a variable is part of its declaration"
        }
        "replacetriggeredby" | "replaceonchanges" | "triggers" => {
            "a change that the API cannot make in place causes a replacement automatically; nothing forces one"
        }
        "dependson" => "`depends_on` is written beside `lifecycle`, in the block itself",
        "foreach" => "`for_each` is written beside `lifecycle`, in the block itself",
        "when" | "count" | "enabled" => "for zero or one instance, write `when`, beside `lifecycle`",
        _ => return None,
    })
}

/// Returns the equivalent of the first name of an expression that does not parse.
pub(in crate::config) fn root_hint(name: &str) -> Option<&'static str> {
    // `var` is a reserved word of CEL, and Terraform's name for variables.
    (name == "var").then_some("vars")
}

/// Returns the equivalent of the root of another tool's reference.
pub(in crate::config) fn reference_hint(root: &str) -> Option<&'static str> {
    Some(match root {
        "module" => "an output of a module is `$use.NAME.OUTPUT`",
        "local" => "a local is `$locals.NAME`",
        "var" | "variable" | "variables" | "input" | "inputs" => "a variable is `$vars.NAME`",
        "environment" | "workspace" => "the environment's name is `$env`",
        "output" | "outputs" => {
            "only other stacks read outputs; refer to the value that the output is computed from"
        }
        "count" => "an instance's own key is `$each.key`",
        _ => return None,
    })
}

/// Returns our name for another tool's variable type.
pub(in crate::config) fn variable_type(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().as_str() {
        "text" | "str" | "varchar" => "string",
        "integer" | "i64" | "i32" | "long" => "int",
        "boolean" => "bool",
        "float" | "double" | "decimal" => "number",
        "network" | "subnet" | "ip" => "cidr",
        "password" | "sensitive" => "secret",
        "list" | "array" | "tuple" => "list(string)",
        "set" => "set(string)",
        "map" | "object" | "dict" => "map(string)",
        _ => return None,
    })
}

/// Returns the duration (`90s`, `30m`, `1h`) that a string of another form means; `None` if it is no whole
/// number with a known unit.
pub(in crate::config) fn suggest_duration(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => 's',
        "m" | "min" | "mins" | "minute" | "minutes" => 'm',
        "h" | "hr" | "hrs" | "hour" | "hours" => 'h',
        _ => return None,
    };
    (!number.is_empty()).then(|| format!("{number}{unit}"))
}

/// Returns a hint with the map form of a list of `NAME=value` strings, or of maps with `name` and `value`, from
/// its first item; `None` if that has neither form.
pub(in crate::config) fn suggest_map_entries(items: &[Node]) -> Option<String> {
    let first = items.first()?;
    let part = |key: &str| named_entries(first)?.iter().find(|entry| entry.key == key)?.value.scalar();
    let (name, value) = if let Some(text) = first.scalar() {
        text.text.split_once('=')?
    } else {
        let name = part("name").or_else(|| part("key"))?;
        (name.text.as_str(), part("value")?.text.as_str())
    };
    let name = name.trim();
    (!name.is_empty()).then(|| {
        let (yaml, kdl) = (quoting::quote_yaml(value.trim(), true), quoting::quote_kdl(value.trim()));
        format!("write each entry as a key with its value: `{name}: {yaml}` (KDL: `{name}={kdl}`)")
    })
}

fn is_name(node: &Node) -> bool {
    node.scalar().is_some_and(|scalar| is_legal_segment(&scalar.text))
}

/// Returns a hint with the map form of plain names where named blocks are expected; `None` if a name is not legal.
pub(in crate::config) fn suggest_named_blocks(block: &str, node: &Node) -> Option<String> {
    let inner = named_only(block);
    match &node.value {
        NodeValue::Scalar(scalar) if is_name(node) => {
            Some(format!("write `{block}: {{ {}: {inner} }}`", scalar.text))
        }
        NodeValue::Sequence(items) if !items.is_empty() && items.iter().all(is_name) => {
            let names = items.iter().filter_map(Node::scalar);
            let entries: Vec<_> = names.map(|scalar| format!("{}: {inner}", scalar.text)).collect();
            let entries = entries.join(", ");
            Some(format!("each entry is a key, not an item: write `{block}: {{ {entries} }}`"))
        }
        _ => None,
    }
}

/// Returns the body to suggest after a block's name: empty where a name alone is enough.
fn named_only(block: &str) -> &'static str {
    if matches!(block, "environments" | "users") { "{}" } else { "{ … }" }
}

/// Returns a hint with the intended map for a value where a map is required, and the replacement if it is certain.
pub(in crate::config) fn suggest_map_value(name: &str, node: &Node) -> Option<(String, Option<String>)> {
    match &node.value {
        NodeValue::Scalar(scalar) if !scalar.text.contains('=') => {
            let (key, value) = scalar.text.split_once([' ', ':'])?;
            let one = is_legal_segment(key) && !value.trim().is_empty() && !value.trim().contains(' ');
            let right = format!("{key}: {}", quoting::quote_yaml(value.trim(), false));
            one.then(|| (format!("write `{right}`: a colon and a space between the two"), None))
        }
        NodeValue::Scalar(scalar) => {
            let (key, value) = scalar.text.split_once('=')?;
            let (key, value) = (key.trim(), value.trim());
            let one = is_legal_segment(key) && !value.is_empty() && !value.contains(['=', '\n']);
            let right = format!("{key}: {}", quoting::quote_yaml(value.trim_matches('"'), false));
            one.then(|| (format!("write `{right}`: a colon and a space, not `=`"), Some(right)))
        }
        NodeValue::Sequence(items) => {
            let named = |item: &Node| {
                let entries = named_entries(item)?.iter();
                let name = entries.clone().find(|entry| entry.key == "name")?.value.scalar()?;
                is_legal_segment(&name.text).then(|| name.text.clone())
            };
            let first = items.first().and_then(named)?;
            Some((
                format!("each entry is a key, not an item: write `{name}: {{ {first}: {{ … }} }}`"),
                None,
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_suggested_as_labels_where_labels_exist() {
        assert!(key_hint("tags", &["name"]).is_some_and(|help| help.contains("keeps none of it")));
        assert_eq!(
            (key_hint("tags", &["labels"]), equivalent_attribute("tags", &["labels"])),
            (None, Some("labels"))
        );
        assert_eq!(equivalent_attribute("tags", &["name"]), None);
    }

    #[test]
    fn durations_in_other_formats_get_a_suggestion() {
        for (text, meant) in [("30 min", Some("30m")), ("1hour", Some("1h")), ("5 Seconds", Some("5s"))] {
            assert_eq!(suggest_duration(text).as_deref(), meant, "{text}");
        }
        for text in ["30", "min", "1d", "", "1.5h"] {
            assert_eq!(suggest_duration(text), None, "{text}");
        }
    }
}
