//! Merging a kubeconfig into another: by name, and everything that is not named stays as it was. Pure.

use serde_yaml::{Mapping, Value};

/// Lists whose entries have names.
const LISTS: [&str; 3] = ["clusters", "contexts", "users"];

/// Returns `old` with the clusters, users and contexts of `new` in it; its current context is that of
/// `new`. Entries of the same name are replaced.
///
/// # Errors
/// When one of them is no kubeconfig.
pub(in crate::cli) fn merged(old: &str, new: &str) -> Result<String, String> {
    let new = parse(new).map_err(|reason| format!("the service's kubeconfig {reason}"))?;
    if old.trim().is_empty() {
        return write(new);
    }
    let mut old = parse(old).map_err(|reason| format!("the file that is there {reason}"))?;
    for list in LISTS {
        let added = entries(&new, list)?;
        let mut kept = entries(&old, list)?;
        let names: Vec<&Value> = added.iter().filter_map(|entry| entry.get("name")).collect();
        kept.retain(|entry| entry.get("name").is_none_or(|name| !names.contains(&name)));
        kept.extend(added);
        old.insert(list.into(), Value::Sequence(kept));
    }
    if let Some(context) = new.get("current-context") {
        old.insert("current-context".into(), context.clone());
    }
    write(old)
}

fn parse(text: &str) -> Result<Mapping, String> {
    match serde_yaml::from_str::<Value>(text) {
        Ok(Value::Mapping(map)) => Ok(map),
        // The parser's words could quote what it read.
        Ok(_) | Err(_) => Err("is no kubeconfig".to_owned()),
    }
}

fn entries(config: &Mapping, list: &str) -> Result<Vec<Value>, String> {
    match config.get(list) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Sequence(entries)) => Ok(entries.clone()),
        Some(_) => Err(format!("{list} of a kubeconfig is no list")),
    }
}

fn write(config: Mapping) -> Result<String, String> {
    serde_yaml::to_string(&Value::Mapping(config)).map_err(|_| "it cannot be written as YAML".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "apiVersion: v1\nkind: Config\nclusters: [{name: jobs, cluster: {server: new}}]\nusers: [{name: jobs, user: {token: canary}}]\ncontexts: [{name: jobs, context: {cluster: jobs, user: jobs}}]\ncurrent-context: jobs\n";

    #[test]
    fn names_are_replaced_and_others_stay() {
        let old = "apiVersion: v1\nkind: Config\npreferences: {colors: true}\nclusters: [{name: home, cluster: {server: a}}, {name: jobs, cluster: {server: old}}]\nusers: []\ncontexts: null\ncurrent-context: home\n";
        insta::assert_snapshot!(merged(old, NEW).unwrap(), @r"
        apiVersion: v1
        kind: Config
        preferences:
          colors: true
        clusters:
        - name: home
          cluster:
            server: a
        - name: jobs
          cluster:
            server: new
        users:
        - name: jobs
          user:
            token: canary
        contexts:
        - name: jobs
          context:
            cluster: jobs
            user: jobs
        current-context: jobs
        ");
        let once = merged("", NEW).unwrap();
        assert_eq!(merged(&once, NEW).unwrap(), once, "a second time changes nothing");
    }

    #[test]
    fn what_is_no_kubeconfig_is_left_alone_and_not_quoted() {
        for (old, new) in [("[1]", NEW), ("a: [", NEW), ("a: b", "canary: ["), ("clusters: {a: 1}", NEW)] {
            let error = merged(old, new).unwrap_err();
            assert!(!error.contains("canary"), "{error}");
        }
    }
}
