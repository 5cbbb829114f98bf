//! Parses and merges the kubeconfigs that the service returns. Pure.
//!
//! In: the text that the service sent, and the existing file to merge it into. Out: a kubeconfig with one cluster, one
//! user and one context, built only from fields that configure a connection. `kubectl` runs programs and reads files
//! that a kubeconfig names, so every other field is an error; it is not dropped silently.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_yaml::{Mapping, Value};

use crate::report::text::escape;

/// Top-level lists whose entries are identified by `name`.
/// Key of the clusters; without its last letter, the key of one cluster.
const CLUSTERS: &str = "clusters";
const USERS: &str = "users";
const CONTEXTS: &str = "contexts";

/// Fields that are accepted in a cluster. `insecure-skip-tls-verify` and `proxy-url` are not among them: they would
/// weaken or redirect the connection.
const CLUSTER_FIELDS: &[&str] = &["server", "certificate-authority-data", "tls-server-name"];
/// Fields that are accepted in a user. `exec` and `auth-provider`, which run programs, are not among them.
const USER_FIELDS: &[&str] = &["token", "client-certificate-data", "client-key-data"];
/// Field that is accepted in a context in addition to its cluster and user.
const NAMESPACE: &str = "namespace";

/// Accepted top-level fields. `preferences` and `extensions` have no effect when they are empty.
const DOCUMENT_FIELDS: &[&str] =
    &["apiVersion", "kind", CLUSTERS, USERS, CONTEXTS, "current-context", "preferences"];

/// Fields whose values are base64-encoded PEM.
const BASE64_FIELDS: &[&str] =
    &["certificate-authority-data", "client-certificate-data", "client-key-data"];

/// The cluster, user and context of the service's kubeconfig, without their names. The user holds credentials.
#[derive(Clone, PartialEq)]
pub(in crate::cli) struct KubeconfigContext {
    cluster: Mapping,
    user: Mapping,
    namespace: Option<Value>,
}

/// An existing kubeconfig with a connection merged into it.
pub(in crate::cli) struct MergedKubeconfig {
    /// Complete text of the merged file, credentials included.
    pub(in crate::cli) text: String,
    /// Whether an entry of the same name with other content was overwritten.
    pub(in crate::cli) replaces: bool,
}

impl KubeconfigContext {
    /// Parses the kubeconfig that the service sent. It uses the current context, or the only one if none is current.
    pub(in crate::cli) fn parse(text: &str) -> Result<Self, String> {
        let config =
            parse_kubeconfig(text).map_err(|()| "the service's kubeconfig is not a YAML map".to_owned())?;
        reject_unknown_fields(&config, DOCUMENT_FIELDS, "the document")?;
        if !matches!(config.get("preferences"), None | Some(Value::Null))
            && config.get("preferences").and_then(Value::as_mapping).is_none_or(|map| !map.is_empty())
        {
            return Err("it sets `preferences`".to_owned());
        }
        let contexts = config_entries(&config, CONTEXTS)?;
        let context = match (config.get("current-context").and_then(Value::as_str), &*contexts) {
            (Some(name), _) if !name.is_empty() => find_named_entry(&config, CONTEXTS, name)?,
            (_, [only]) => entry_body(only, CONTEXTS)?,
            _ => return Err("it has no current context, and several contexts or none".to_owned()),
        };
        reject_unknown_fields(
            &context,
            &[entry_keyword(CLUSTERS), entry_keyword(USERS), NAMESPACE],
            "the context",
        )?;
        let of = |field: &str| {
            context
                .get(field)
                .and_then(Value::as_str)
                .ok_or_else(|| format!("its context names no {field}"))
        };
        let cluster = find_named_entry(&config, CLUSTERS, of(entry_keyword(CLUSTERS))?)?;
        let user = find_named_entry(&config, USERS, of(entry_keyword(USERS))?)?;
        reject_unknown_fields(&cluster, CLUSTER_FIELDS, "the cluster")?;
        reject_unknown_fields(&user, USER_FIELDS, "the user")?;
        for (field, value) in cluster.iter().chain(&user).chain(&context) {
            check_text(field, value)?;
        }
        check_server(cluster.get("server").and_then(Value::as_str).unwrap_or_default())?;
        if !cluster.contains_key("certificate-authority-data") {
            return Err("it has no CA certificate of the cluster".to_owned());
        }
        let namespace = context.get(NAMESPACE).cloned();
        Ok(Self { cluster, user, namespace })
    }

    /// Returns a kubeconfig with only this connection; cluster, user and context get the given name.
    pub(in crate::cli) fn to_kubeconfig(&self, name: &str) -> Result<String, String> {
        let mut config = Mapping::new();
        config.insert("apiVersion".into(), "v1".into());
        config.insert("kind".into(), "Config".into());
        for (list, entry) in self.entries(name) {
            config.insert(list.into(), Value::Sequence(vec![entry]));
        }
        config.insert("current-context".into(), name.into());
        to_yaml(config)
    }

    /// Adds this connection to the kubeconfig `old`, which can be empty; its cluster, user and context get the given
    /// name, and entries of that name are replaced. The current context stays the same unless `is_current` is set.
    ///
    /// # Errors
    /// When `old` is not a kubeconfig.
    pub(in crate::cli) fn merge_into(
        &self,
        old: &str,
        name: &str,
        is_current: bool,
    ) -> Result<MergedKubeconfig, String> {
        let mut config = if old.trim().is_empty() {
            let mut config = Mapping::new();
            config.insert("apiVersion".into(), "v1".into());
            config.insert("kind".into(), "Config".into());
            config
        } else {
            parse_kubeconfig(old).map_err(|()| "the existing file is not a kubeconfig".to_owned())?
        };
        let mut replaces = false;
        for (list, entry) in self.entries(name) {
            let mut all = config_entries(&config, list)?;
            let is_named = |known: &Value| known.get("name").and_then(Value::as_str) == Some(name);
            replaces |= all.iter().any(|known| is_named(known) && *known != entry);
            all.retain(|known| !is_named(known));
            all.push(entry);
            config.insert(list.into(), Value::Sequence(all));
        }
        if is_current {
            config.insert("current-context".into(), name.into());
        }
        Ok(MergedKubeconfig { text: to_yaml(config)?, replaces })
    }

    fn entries(&self, name: &str) -> [(&'static str, Value); 3] {
        let mut context = Mapping::new();
        context.insert(entry_keyword(CLUSTERS).into(), name.into());
        context.insert(entry_keyword(USERS).into(), name.into());
        if let Some(namespace) = &self.namespace {
            context.insert(NAMESPACE.into(), namespace.clone());
        }
        let entry = |list: &'static str, body: &Mapping| {
            let mut entry = Mapping::new();
            entry.insert("name".into(), name.into());
            entry.insert(entry_keyword(list).into(), Value::Mapping(body.clone()));
            (list, Value::Mapping(entry))
        };
        [entry(CLUSTERS, &self.cluster), entry(USERS, &self.user), entry(CONTEXTS, &context)]
    }
}

/// Returns the key under which an entry of a list keeps its content (`cluster`, `user`, `context`).
fn entry_keyword(list: &str) -> &str {
    list.strip_suffix('s').unwrap_or(list)
}

/// Checks that a map has only accepted fields. `what` names the map in the error.
fn reject_unknown_fields(map: &Mapping, known: &[&str], what: &str) -> Result<(), String> {
    match map.keys().find(|key| !key.as_str().is_some_and(|key| known.contains(&key))) {
        None => Ok(()),
        Some(key) => {
            let key = key.as_str().unwrap_or("a key that is not a string");
            let shown: String = key.chars().take(40).collect();
            Err(format!("{what} sets `{}`, which could do more than connect", escape::escape_line(&shown)))
        }
    }
}

fn check_text(field: &Value, value: &Value) -> Result<(), String> {
    // The match covers all accepted fields: `reject_unknown_fields` has refused every other one.
    let field = field.as_str().unwrap_or_default();
    let wrong = || format!("its `{field}` is not plain text");
    let text = value.as_str().ok_or_else(wrong)?;
    let is_plain = if BASE64_FIELDS.contains(&field) {
        STANDARD.decode(text).is_ok_and(|bytes| bytes.starts_with(b"-----BEGIN "))
    } else {
        text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    if is_plain && !text.is_empty() { Ok(()) } else { Err(wrong()) }
}

fn check_server(server: &str) -> Result<(), String> {
    let url = reqwest::Url::parse(server).ok();
    let is_safe = |url: &reqwest::Url| {
        url.scheme() == "https"
            && url.host_str().is_some()
            && url.username().is_empty()
            && url.password().is_none()
    };
    if url.as_ref().is_some_and(is_safe) {
        Ok(())
    } else {
        Err("its server is not an https URL".to_owned())
    }
}

/// Parses a YAML map. The parser's own error is dropped, because it could quote a secret from the source text.
fn parse_kubeconfig(text: &str) -> Result<Mapping, ()> {
    match serde_yaml::from_str::<Value>(text) {
        Ok(Value::Mapping(map)) => Ok(map),
        Ok(_) | Err(_) => Err(()),
    }
}

/// Returns the entries of a top-level list; empty if the list is absent or null.
fn config_entries(config: &Mapping, list: &str) -> Result<Vec<Value>, String> {
    match config.get(list) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Sequence(entries)) => Ok(entries.clone()),
        Some(_) => Err(format!("`{list}` of a kubeconfig is not a list")),
    }
}

/// Returns the content of the entry with this name; none or several of it are an error.
fn find_named_entry(config: &Mapping, list: &str, name: &str) -> Result<Mapping, String> {
    let all = config_entries(config, list)?;
    let mut found = all.iter().filter(|entry| entry.get("name").and_then(Value::as_str) == Some(name));
    match (found.next(), found.next()) {
        (Some(entry), None) => entry_body(entry, list),
        _ => Err(format!("it does not have exactly one {} with the expected name", entry_keyword(list))),
    }
}

fn entry_body(entry: &Value, list: &str) -> Result<Mapping, String> {
    let word = entry_keyword(list);
    let map = entry.as_mapping().ok_or_else(|| format!("a {word} is not a map"))?;
    reject_unknown_fields(map, &["name", word], &format!("the entry of a {word}"))?;
    let body = map.get(word).and_then(Value::as_mapping);
    body.cloned().ok_or_else(|| format!("a {word} is not a map"))
}

fn to_yaml(config: Mapping) -> Result<String, String> {
    serde_yaml::to_string(&Value::Mapping(config)).map_err(|_| "it cannot be written as YAML".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // `-----BEGIN X-----`
    const CA: &str = "LS0tLS1CRUdJTiBYLS0tLS0=";

    fn sent() -> String {
        format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'https://h:6443', certificate-authority-data: {CA}}}}}]\nusers: [{{name: u, user: {{token: canary}}}}]\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
        )
    }

    #[test]
    fn a_kubeconfig_entry_is_merged_and_others_stay() {
        let new = KubeconfigContext::parse(&sent()).unwrap();
        let old = "apiVersion: v1\nkind: Config\npreferences: {colors: true}\nclusters: [{name: home, cluster: {server: a}}]\nusers: []\ncontexts: null\ncurrent-context: home\n";
        let merged = new.merge_into(old, "shop/prod/jobs", false).unwrap();
        assert!(!merged.replaces);
        insta::assert_snapshot!(merged.text, @"
        apiVersion: v1
        kind: Config
        preferences:
          colors: true
        clusters:
        - name: home
          cluster:
            server: a
        - name: shop/prod/jobs
          cluster:
            server: https://h:6443
            certificate-authority-data: LS0tLS1CRUdJTiBYLS0tLS0=
        users:
        - name: shop/prod/jobs
          user:
            token: canary
        contexts:
        - name: shop/prod/jobs
          context:
            cluster: shop/prod/jobs
            user: shop/prod/jobs
        current-context: home
        ");
        let again = new.merge_into(&merged.text, "shop/prod/jobs", false).unwrap();
        assert_eq!((again.text.as_str(), again.replaces), (merged.text.as_str(), false));
        let other = KubeconfigContext::parse(&sent().replace("canary", "other")).unwrap();
        assert!(other.merge_into(&merged.text, "shop/prod/jobs", false).unwrap().replaces);
        assert!(new.merge_into(&merged.text, "n", true).unwrap().text.contains("current-context: n\n"));
        assert!(!new.merge_into("", "n", false).unwrap().text.contains("current-context"));
        let alone = new.to_kubeconfig("n").unwrap();
        assert!(KubeconfigContext::parse(&alone).is_ok_and(|again| again == new));
    }

    #[test]
    fn an_entry_that_does_more_than_connect_is_rejected_unquoted() {
        let token = "{token: canary}";
        let server = "{server: 'https://h:6443', ";
        for (from, to) in [
            (token, "{exec: {command: canary}}"),
            (token, "{auth-provider: {name: gcp, config: {cmd-path: canary}}}"),
            (token, "{token: canary, tokenFile: /canary}"),
            (token, "{client-certificate: /canary, client-key: /canary}"),
            (token, "{token: canary, as: canary}"),
            (token, "{token: \"canary\\n\"}"),
            (token, "{client-certificate-data: canary, client-key-data: canary}"),
            (token, "{'to\u{1b}[31m': canary}"),
            (server, "{certificate-authority: /canary, server: 'https://h:6443', "),
            (server, "{insecure-skip-tls-verify: true, server: 'https://h:6443', "),
            (server, "{proxy-url: 'http://canary', server: 'https://h:6443', "),
            (server, "{server: 'http://canary:6443', "),
            (server, "{server: 'https://canary@h:6443', "),
            (server, "{server: /canary, "),
            (server, "{"),
            ("certificate-authority-data", "certificate-authority-date"),
            ("name: u, ", "name: u, extensions: [canary], "),
            ("kind: Config", "kind: Config\npreferences: {canary: x}"),
            ("kind: Config", "kind: Config\nextensions: [{name: canary}]"),
            ("current-context: x", "current-context: canary"),
            ("apiVersion: v1", "[canary"),
            ("users: [", "users: [{name: u, user: {exec: canary}}, "),
        ] {
            let sent = sent();
            assert!(sent.contains(from), "{from}");
            let Err(error) = KubeconfigContext::parse(&sent.replacen(from, to, 1)) else {
                panic!("{to} passed")
            };
            assert!(!error.contains("canary") && !error.contains('\u{1b}'), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_not_a_kubeconfig_is_neither_changed_nor_quoted() {
        let new = KubeconfigContext::parse(&sent()).unwrap();
        for old in ["[1]", "canary: [", "clusters: {a: canary}"] {
            let Err(error) = new.merge_into(old, "n", false) else { panic!("{old} passed") };
            assert!(!error.contains("canary"), "{error}");
        }
    }
}
