//! People in the account: they edit, delete, rename and make things, and in the end they answer the
//! questions that only they can.

use serde_json::{Value as Json, json};
use stead::cloud::http::message::HttpRequest;
use stead::kinds::REGISTRY;
use stead::model::schema::Method;

use super::oracle::{Key, payload};
use super::schedule::Deed;
use super::universe::Universe;

/// What someone does.
pub enum Act {
    /// To an object that the number picks.
    Deed(Deed, u64),
    /// Makes an object as a request of ours would.
    Make { kind: &'static str, request: HttpRequest },
}

impl Universe {
    pub fn act(&self, act: &Act) {
        if self.calm.get() {
            return;
        }
        match act {
            Act::Deed(Deed::Stranger, which) => {
                let body = json!({"name": format!("theirs-{which}"), "description": ""});
                self.make("project", "/api/v1/projects", None, &body, "");
            }
            Act::Deed(deed, which) => self.meddle(*deed, *which),
            Act::Make { kind, request } => {
                let project = request.project.as_ref().map(ToString::to_string);
                let parent =
                    request.path.split("/databases/").nth(1).and_then(|rest| rest.split('/').next());
                let parent = parent.filter(|_| *kind == "database_user").unwrap_or_default().to_owned();
                let body = request.body.clone().unwrap_or_default();
                self.make(kind, &request.path, project.as_deref(), &body, &parent);
            }
        }
    }

    fn make(&self, kind: &'static str, path: &str, project: Option<&str>, body: &Json, parent: &str) {
        let (status, json) = self.ask(Method::Post, path, project, Some(body.clone()));
        let id_key = REGISTRY.kind(kind).map_or("id", |kind| kind.api.id);
        let id = payload(&json).and_then(|data| data.get(id_key)?.as_str()).unwrap_or_default().to_owned();
        self.note(|| format!("someone makes {kind} {id}: {status}"), 60);
        if status < 300 {
            let key = (kind, parent.to_owned(), id);
            let mut oracle = self.oracle.borrow_mut();
            // What has its name for an id is another one than ours of before.
            oracle.made.remove(&key);
            oracle.strangers.insert(key, self.now());
        }
    }

    fn meddle(&self, deed: Deed, which: u64) {
        // What is not bound yet can be told by nothing but its looks: whoever changes those hides it.
        let live: Vec<Key> = self.oracle.borrow().owned().into_iter().collect();
        let live: Vec<Key> = live.into_iter().filter(|key| self.is_live(key)).collect();
        let Some(key) = live.get((which % live.len().max(1) as u64) as usize) else { return };
        let Some(kind) = REGISTRY.kind(key.0) else { return };
        let item = |path: &str| path.replace("{id}", &key.2).replace("{parent}", &key.1);
        let project = self.project_of(key);
        let project = project.as_deref();
        let status = match (deed, kind.name) {
            (Deed::Delete, _) => {
                let body = (kind.name == "vm").then(|| json!({"volume_action": "detach"}));
                self.ask(Method::Delete, &item(kind.api.delete.path), project, body).0
            }
            (Deed::Rename, "project" | "database") => {
                self.ask(
                    Method::Patch,
                    &item(kind.api.read.unwrap().path),
                    project,
                    Some(json!({"name": "renamed"})),
                )
                .0
            }
            (_, "project") => {
                self.ask(
                    Method::Patch,
                    &item("/api/v1/projects/{id}"),
                    None,
                    Some(json!({"description": "theirs"})),
                )
                .0
            }
            (_, "volume") => self.ask(Method::Post, &item("/api/v1/volumes/{id}/detach"), project, None).0,
            (_, "backup_schedule") => {
                let path = item("/api/v1/backup-schedules/{id}");
                self.ask(Method::Patch, &path, project, Some(json!({"hour": 5}))).0
            }
            (_, "vm") => {
                let path = item("/api/v1/vms/{id}/console-policy");
                self.ask(Method::Patch, &path, project, Some(json!({"console_require_mfa": true}))).0
            }
            _ => 0,
        };
        self.note(|| format!("someone: {deed:?} {key:?}: {status}"), 61);
    }

    fn project_of(&self, key: &Key) -> Option<String> {
        let read = REGISTRY.kind(key.0)?.api.read?;
        let (_, json) = self.ask(Method::Get, &read.path.replace("{id}", &key.2), None, None);
        payload(&json).and_then(|data| data.get("project_id")?.as_str()).map(str::to_owned)
    }

    /// Someone takes an object of their own away.
    pub fn take_away(&self, key: &Key) {
        let Some(kind) = REGISTRY.kind(key.0) else { return };
        let path = kind.api.delete.path.replace("{id}", &key.2).replace("{parent}", &key.1);
        let project = self.project_of(key);
        self.detach(key);
        let (status, _) = self.ask(Method::Delete, &path, project.as_deref(), None);
        self.note(|| format!("someone takes {key:?} away: {status}"), 62);
    }

    /// Someone detaches a volume, if it is one.
    pub fn detach(&self, key: &Key) {
        if key.0 == "volume" {
            let path = format!("/api/v1/volumes/{}/detach", key.2);
            self.ask(Method::Post, &path, self.project_of(key).as_deref(), None);
        }
    }
}
