//! API keys, roles, members: who may do what, and where.

use proptest::prelude::*;

use super::*;
use crate::emulator::world::mutate;

/// Returns the id of a built-in role.
fn role(cloud: &mut Cloud, slug: &str) -> String {
    let roles = cloud.get("/roles?limit=100");
    let found = roles.as_array().unwrap().iter().find(|role| role["slug"] == slug);
    found.unwrap()["id"].as_str().unwrap().to_owned()
}

/// Makes a key with a built-in role; returns its id and its secret.
fn key(cloud: &mut Cloud, slug: Option<&str>) -> (String, String) {
    let role = slug.map(|slug| role(cloud, slug));
    let made = cloud.ok("POST /api-keys", json!({"name": "ci", "role_id": role}));
    (made["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
}

impl Cloud {
    /// Runs a part of a test with another key.
    fn with_key<T>(&mut self, key: &str, part: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.key, key.to_owned());
        // The first use of a key is recorded; that must not count as a change made by a refused request.
        self.send("GET /permissions", Value::Null);
        let result = part(self);
        self.key = before;
        result
    }

    fn member(&mut self, project: &str, key: &str, slug: &str) -> String {
        let role = role(self, slug);
        self.make(&format!("/projects/{project}/members"), json!({"api_key_id": key, "role_id": role}))
    }

    fn set_account(&mut self, set: Value) {
        mutate(&mut self.world, "account", "", set.as_object().unwrap(), self.now).unwrap();
    }
}

#[test]
fn a_key_shows_its_secret_once_and_authenticates() {
    let mut cloud = Cloud::new();
    let owner = role(&mut cloud, "owner");
    let made = cloud.ok("POST /api-keys", json!({"name": "ci", "role_id": owner}));
    let secret = made["secret"].as_str().unwrap().to_owned();
    for (field, wanted) in [
        ("name", json!("ci")),
        ("key_prefix", json!(secret[..8])),
        ("is_active", json!(true)),
        ("rate_limit_tier", json!("standard")),
        ("scope", json!("account")),
        ("role_slug", json!("owner")),
        ("role_name", json!("Owner")),
        ("last_used_at", Value::Null),
        ("project_accesses", json!([])),
    ] {
        assert_eq!(made[field], wanted, "{field}");
    }
    assert!(made.get("expires_at").is_none());
    let path = format!("/api-keys/{}", made["id"].as_str().unwrap());
    let used = cloud.now.to_string();
    let vpc = cloud.with_key(&secret, Cloud::vpc);
    let shown = cloud.get(&path);
    assert_eq!(shown["last_used_at"], used);
    let listed = cloud.send("GET /api-keys", Value::Null).1;
    assert_eq!((&listed["total"], &listed["data"][0]["id"]), (&json!(1), &made["id"]));
    for text in [shown.to_string(), listed.to_string(), serde_json::to_string(&cloud.world).unwrap()] {
        assert!(!text.contains(&secret));
    }
    // It is listed among the made ones, unlike the first key, and says who made things.
    let (other, _) = cloud.with_key(&secret, |cloud| key(cloud, None));
    assert_eq!(cloud.get(&format!("/api-keys/{other}"))["created_by"], made["id"]);
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "API key");
    cloud.key = secret;
    cloud.refuses(&format!("GET /vpcs/{vpc}"), Value::Null, 401, "not valid");
}

#[test]
fn a_key_stops_working_when_it_expires_or_is_disabled() {
    let mut cloud = Cloud::new();
    let owner = role(&mut cloud, "owner");
    let body = json!({"name": "short", "role_id": owner, "expires_at": "2026-03-04T13:00:00Z"});
    let made = cloud.ok("POST /api-keys", body.clone());
    assert_eq!(made["expires_at"], "2026-03-04T13:00:00Z");
    let secret = made["secret"].as_str().unwrap().to_owned();
    let asks = |cloud: &mut Cloud| cloud.with_key(&secret, |cloud| cloud.send("GET /vms", Value::Null).0);
    let id = made["id"].as_str().unwrap();
    assert_eq!((asks(&mut cloud), cloud.world.tier_of(&secret)), (200, Some(RateTier::Standard)));
    cloud.wait(3_599);
    assert_eq!(asks(&mut cloud), 200);
    cloud.wait(1);
    assert_eq!((asks(&mut cloud), cloud.world.tier_of(&secret)), (401, None));
    assert_eq!(cloud.get(&format!("/api-keys/{id}"))["is_active"], false);
    cloud.refuses("POST /api-keys", body, 400, "future");

    let (id, secret) = key(&mut cloud, Some("owner"));
    let set = json!({"is_active": false});
    mutate(&mut cloud.world, "api_key", &id, set.as_object().unwrap(), cloud.now).unwrap();
    cloud.key = secret;
    cloud.refuses("GET /vms", Value::Null, 401, "not valid");
}

#[test]
fn an_invalid_key_is_rejected() {
    let mut cloud = Cloud::new();
    for (body, status, words) in [
        (json!({}), 400, "name is required"),
        (json!({"name": ""}), 400, "1 to 128"),
        (json!({"name": "x".repeat(129)}), 400, "1 to 128"),
        (json!({"name": "a", "rate_limit_tier": "fast"}), 400, "standard, high"),
        (json!({"name": "a", "rate_limit_tier": "high"}), 403, "approval"),
        (json!({"name": "a", "expires_at": "tomorrow"}), 400, "RFC 3339"),
        (json!({"name": "a", "expires_at": 3}), 400, "expires_at"),
        (json!({"name": "a", "role_id": "owner"}), 400, "role_id must be a UUID"),
        (json!({"name": "a", "role_id": NOBODY}), 404, "role"),
    ] {
        cloud.refuses("POST /api-keys", body, status, words);
    }
    for line in ["GET /api-keys/X", "DELETE /api-keys/X"] {
        cloud.refuses(&line.replace('X', NOBODY), Value::Null, 404, "API key");
    }
    cloud.ok("POST /api-keys", json!({"name": "x".repeat(128)}));
    cloud.set_account(json!({"high_tier": true}));
    let made = cloud.ok("POST /api-keys", json!({"name": "a", "rate_limit_tier": "high"}));
    assert_eq!(made["rate_limit_tier"], "high");
    assert_eq!(cloud.world.tier_of(made["secret"].as_str().unwrap()), Some(RateTier::High));
}

#[test]
fn the_role_of_a_key_determines_its_permissions() {
    let mut cloud = Cloud::new();
    let vm = cloud.vm();
    let database = cloud.database("main");
    let project = cloud.project.clone().unwrap();
    let stop = format!("POST /vms/{vm}/stop");
    let keys_of =
        |cloud: &mut Cloud| ["owner", "admin", "developer", "viewer"].map(|slug| key(cloud, Some(slug)).1);
    let keys = keys_of(&mut cloud);
    for (line, body, may) in [
        ("GET /vms", Value::Null, [true, true, true, true]),
        (&format!("GET /vms/{vm}"), Value::Null, [true, true, true, true]),
        ("POST /vpcs", json!({}), [true, true, true, false]),
        (&stop, Value::Null, [true, true, true, false]),
        (&format!("GET /databases/{database}"), Value::Null, [true, true, true, true]),
        (&format!("GET /databases/{database}/users"), Value::Null, [true, true, true, true]),
        (&format!("GET /databases/{database}/connection"), Value::Null, [true, true, true, false]),
        (&format!("PATCH /databases/{database}"), json!({}), [true, true, true, false]),
        ("GET /databases/plans", Value::Null, [true, true, true, true]),
        ("GET /ssh-keys", Value::Null, [true, true, true, true]),
        ("POST /ssh-keys", json!({}), [true, true, true, false]),
        ("GET /projects", Value::Null, [true, true, true, true]),
        ("POST /projects", json!({}), [true, true, false, false]),
        (&format!("PATCH /projects/{project}"), json!({"name": 1}), [true, true, false, false]),
        ("POST /api-keys", json!({}), [true, true, false, false]),
        ("GET /api-keys", Value::Null, [true, true, true, true]),
        ("POST /roles", json!({}), [true, true, false, false]),
        ("POST /invitations", json!({}), [true, true, false, false]),
        (&format!("POST /projects/{project}/members"), json!({}), [true, true, false, false]),
        ("GET /permissions", Value::Null, [true, true, true, true]),
    ] {
        for (key, may) in keys.iter().zip(may) {
            let (status, answer) = cloud.with_key(key, |cloud| cloud.send(line, body.clone()));
            assert_eq!(status != 403, may, "{line}: {answer}");
            if !may {
                assert!(answer["message"].as_str().unwrap().contains("access denied"), "{answer}");
            }
        }
    }
}

#[test]
fn a_key_without_role_or_membership_has_no_permissions() {
    let mut cloud = Cloud::new();
    let (_, secret) = key(&mut cloud, None);
    cloud.vm();
    cloud.with_key(&secret, |cloud| {
        for line in ["GET /vms", "GET /databases", "GET /projects", "GET /ssh-keys", "GET /members"] {
            cloud.refuses(line, Value::Null, 403, "lacks the permission");
        }
        cloud.get("/databases/plans");
    });
}

#[test]
fn a_key_with_memberships_is_limited_to_its_projects() {
    let mut cloud = Cloud::new();
    let default = cloud.project.clone().unwrap();
    let [one, two] = ["one", "two"].map(|name| cloud.make("/projects", json!({"name": name})));
    let mut vms = Vec::new();
    for project in [&default, &one, &two] {
        cloud.project = Some(project.clone());
        vms.push(cloud.vm());
    }
    let (id, secret) = key(&mut cloud, None);
    cloud.member(&one, &id, "developer");
    cloud.member(&two, &id, "viewer");
    let shown = cloud.get(&format!("/api-keys/{id}"));
    assert_eq!(
        (&shown["scope"], shown["project_accesses"].as_array().unwrap().len()),
        (&json!("project"), 2)
    );
    let refused = |cloud: &mut Cloud, project: Option<&String>, line: &str, status: u16, words: &str| {
        cloud.project = project.cloned();
        cloud.refuses(line, vm_body(), status, words);
    };
    cloud.with_key(&secret, |cloud| {
        cloud.project = None;
        let listed = cloud.send("GET /vms", Value::Null).1;
        let ids: Vec<_> =
            listed["data"].as_array().unwrap().iter().map(|vm| vm["id"].as_str().unwrap()).collect();
        assert_eq!((&listed["total"], ids), (&json!(2), vec![vms[2].as_str(), vms[1].as_str()]));
        assert_eq!(cloud.get("/vms?limit=1&offset=1")[0]["id"], json!(vms[1]));
        assert_eq!(cloud.send("GET /projects", Value::Null).1["total"], 2);
        cloud.get(&format!("/projects/{one}"));
        refused(cloud, None, &format!("GET /projects/{default}"), 404, "project");
        refused(cloud, None, &format!("GET /vms/{}", vms[0]), 404, "VM");
        refused(cloud, Some(&default), "POST /vms", 404, "project");
        refused(cloud, Some(&two), "POST /vms", 403, "compute:write");
        refused(cloud, Some(&two), &format!("DELETE /vms/{}", vms[2]), 403, "compute:write");
        refused(cloud, Some(&one), &format!("DELETE /vms/{}", vms[2]), 404, "VM");
        refused(cloud, Some(&one), &format!("PATCH /projects/{one}"), 403, "projects:write");
        // A body cannot name what the key does not see either.
        let volume = json!({"name": "a", "size": 1, "vm_id": vms[0]});
        cloud.refuses("POST /volumes", volume, 404, "VM");
        cloud.project = Some(default.clone());
        assert_eq!(cloud.send("GET /vms", Value::Null).1["total"], 0);
        // Without the header a database goes to the default project, which is not one of its own.
        refused(cloud, None, "POST /databases", 404, "project");
        cloud.project = Some(one.clone());
        let database = cloud.database("mine");
        cloud.project = None;
        cloud.ok(&format!("PATCH /databases/{database}"), json!({"name": "still mine"}));
        cloud.project = Some(one.clone());
        cloud.ok(&format!("DELETE /vms/{}", vms[1]), Value::Null);
    });
}

#[test]
fn a_membership_takes_effect_with_the_next_request() {
    let mut cloud = Cloud::new();
    let project = cloud.make("/projects", json!({"name": "one"}));
    let members = format!("/projects/{project}/members");
    cloud.project = Some(project.clone());
    let (vm, database) = (cloud.vm(), cloud.database("main"));
    let (id, secret) = key(&mut cloud, None);
    let member = cloud.member(&project, &id, "viewer");
    let delete = format!("DELETE /vms/{vm}");
    cloud.with_key(&secret, |cloud| cloud.refuses(&delete, Value::Null, 403, "compute:write"));
    let developer = role(&mut cloud, "developer");
    let patched = cloud.ok(&format!("PATCH {members}/{member}"), json!({"role_id": developer}));
    assert_eq!(patched["role_slug"], "developer");
    cloud.with_key(&secret, |cloud| {
        cloud.ok(&delete, Value::Null);
        cloud.project = None;
        cloud.ok(&format!("PATCH /databases/{database}"), json!({"name": "seen"}));
    });
    cloud.ok(&format!("DELETE {members}/{member}"), Value::Null);
    assert_eq!(cloud.send(&format!("GET {members}"), Value::Null).1, json!({"data": [], "total": 0}));
    cloud.with_key(&secret, |cloud| {
        cloud.refuses(&format!("GET /projects/{project}"), Value::Null, 404, "project");
    });
}

#[test]
fn deleting_a_vm_with_its_vpc_requires_both_permissions() {
    let mut cloud = Cloud::new();
    let vpc = cloud.vpc();
    let vm = cloud.make("/vms", with(vm_body(), json!({"vpc_id": vpc})));
    let compute = json!(["compute:read", "compute:write", "networks:read"]);
    let role = cloud.make("/roles", json!({"name": "compute", "permissions": compute}));
    let made = cloud.ok("POST /api-keys", json!({"name": "a", "role_id": role}));
    let delete = format!("DELETE /vms/{vm}");
    cloud.with_key(made["secret"].as_str().unwrap(), |cloud| {
        cloud.refuses(&delete, json!({"delete_vpc": true}), 403, "networks:write");
        cloud.ok(&delete, Value::Null);
    });
}

#[test]
fn a_key_cannot_grant_permissions_that_it_lacks() {
    let mut cloud = Cloud::new();
    let project = cloud.project.clone().unwrap();
    let (id, _) = key(&mut cloud, None);
    let [owner, viewer] = ["owner", "viewer"].map(|slug| role(&mut cloud, slug));
    let (_, admin) = key(&mut cloud, Some("admin"));
    cloud.with_key(&admin, |cloud| {
        for (line, body) in [
            ("POST /api-keys".to_owned(), json!({"name": "a", "role_id": owner})),
            ("POST /invitations".to_owned(), json!({"email": "a@b.example", "role_id": owner})),
            ("POST /roles".to_owned(), json!({"name": "a", "permissions": ["billing:write"]})),
            (format!("POST /projects/{project}/members"), json!({"api_key_id": id, "role_id": owner})),
        ] {
            cloud.refuses(&line, body, 403, "billing:write");
        }
        cloud.ok("POST /api-keys", json!({"name": "a", "role_id": viewer}));
    });
}

#[test]
fn roles_are_created_changed_and_deleted() {
    let mut cloud = Cloud::new();
    let built_in = cloud.send("GET /roles", Value::Null).1;
    let slugs: Vec<_> = built_in["data"].as_array().unwrap().iter().map(|role| &role["slug"]).collect();
    assert_eq!((&built_in["total"], slugs.len(), slugs[3]), (&json!(4), 4, &json!("owner")));
    let made = cloud
        .ok("POST /roles", json!({"name": "Site Ops", "permissions": ["compute:write", "compute:read"]}));
    let path = format!("/roles/{}", made["id"].as_str().unwrap());
    assert_eq!(
        (&made["slug"], &made["permissions"], &made["is_builtin"]),
        (&json!("site-ops"), &json!(["compute:read", "compute:write"]), &json!(false))
    );
    for (offset, slug) in ["site-ops", "viewer", "developer", "admin", "owner"].iter().enumerate() {
        let page = cloud.send(&format!("GET /roles?limit=1&offset={offset}"), Value::Null).1;
        assert_eq!((&page["total"], &page["data"][0]["slug"]), (&json!(5), &json!(slug)));
    }
    let patched = cloud.ok(&format!("PATCH {path}"), json!({"name": "Ops", "permissions": ["apps:read"]}));
    assert_eq!((&patched["name"], &patched["slug"]), (&json!("Ops"), &json!("site-ops")));
    assert_eq!(cloud.get(&path)["permissions"], json!(["apps:read"]));
    for (body, status, words) in [
        (json!({}), 400, "name is required"),
        (json!({"name": "x".repeat(65)}), 400, "1 to 64"),
        (json!({"name": "!"}), 400, "letter or a digit"),
        (json!({"name": "a", "permissions": "all"}), 400, "permissions must be a list"),
        (json!({"name": "a", "permissions": [1]}), 400, "permissions must be"),
        (json!({"name": "a", "permissions": ["compute:reed"]}), 400, "Did you mean compute:read?"),
    ] {
        cloud.refuses("POST /roles", body, status, words);
    }
    // Names may repeat, short names do not.
    for (name, slug) in [("site ops", "site-ops-"), ("OWNER", "owner-")] {
        let second = cloud.ok("POST /roles", json!({"name": name}));
        assert_eq!(second["name"], name);
        assert!(
            second["slug"]
                .as_str()
                .is_some_and(|found| found.len() == slug.len() + 8 && found.starts_with(slug))
        );
        cloud.ok(&format!("DELETE /roles/{}", second["id"].as_str().unwrap()), Value::Null);
    }
    let owner = role(&mut cloud, "owner");
    assert_eq!(cloud.get(&format!("/roles/{owner}"))["is_builtin"], true);
    cloud.refuses(&format!("PATCH /roles/{owner}"), json!({"name": "a"}), 403, "built in");
    cloud.refuses(&format!("DELETE /roles/{owner}"), Value::Null, 403, "built in");
    for line in ["GET /roles/X", "PATCH /roles/X", "DELETE /roles/X"] {
        cloud.refuses(&line.replace('X', NOBODY), json!({}), 404, "role");
    }
    let id = made["id"].as_str().unwrap();
    let key = cloud.make("/api-keys", json!({"name": "a", "role_id": id}));
    cloud.refuses(&format!("DELETE {path}"), Value::Null, 409, "in use");
    cloud.ok(&format!("DELETE /api-keys/{key}"), Value::Null);
    cloud.ok(&format!("DELETE {path}"), Value::Null);
    cloud.refuses(&format!("GET {path}"), Value::Null, 404, "role");
}

#[test]
fn permissions_are_listed() {
    let mut cloud = Cloud::new();
    let listed = cloud.send("GET /permissions?limit=100", Value::Null).1;
    let names: Vec<_> = listed["data"].as_array().unwrap().iter().map(|item| &item["name"]).collect();
    assert_eq!(listed["total"], names.len());
    assert!(names.contains(&&json!("databases:write")) && names.contains(&&json!("billing:read")));
}

#[test]
fn invalid_project_members_are_rejected() {
    let mut cloud = Cloud::new();
    let project = cloud.make("/projects", json!({"name": "other"}));
    let members = format!("/projects/{project}/members");
    let post = format!("POST {members}");
    let (id, _) = key(&mut cloud, None);
    let viewer = role(&mut cloud, "viewer");
    let owner = cloud.get("/members")[0]["id"].as_str().unwrap().to_owned();
    for (body, status, words) in [
        (json!({"role_id": viewer}), 400, "one of api_key_id and member_id"),
        (json!({"api_key_id": id}), 400, "role_id is required"),
        (json!({"api_key_id": id, "member_id": owner, "role_id": viewer}), 400, "leave"),
        (json!({"api_key_id": "x", "role_id": viewer}), 400, "api_key_id must be a UUID"),
        (json!({"api_key_id": NOBODY, "role_id": viewer}), 404, "API key"),
        (json!({"member_id": NOBODY, "role_id": viewer}), 404, "member"),
        (json!({"api_key_id": id, "role_id": NOBODY}), 404, "role"),
    ] {
        cloud.refuses(&post, body, status, words);
    }
    let made = cloud.ok(&post, json!({"api_key_id": id, "role_id": viewer}));
    assert_eq!(
        (&made["api_key_id"], &made["member_id"], &made["role_slug"], &made["project_name"]),
        (&json!(id), &Value::Null, &json!("viewer"), &json!("other"))
    );
    cloud.refuses(&post, json!({"api_key_id": id, "role_id": viewer}), 409, "already");
    cloud.ok(&post, json!({"member_id": owner, "role_id": viewer}));
    let path = format!("{members}/{}", made["id"].as_str().unwrap());
    cloud.refuses(&format!("PATCH {path}"), json!({}), 400, "role_id is required");
    let elsewhere = path.replace(&project, &cloud.world.default_project().to_string());
    cloud.refuses(&format!("DELETE {elsewhere}"), Value::Null, 404, "project member");
    cloud.refuses(&format!("DELETE {members}/{NOBODY}"), Value::Null, 404, "project member");
    cloud.refuses(&format!("GET /projects/{NOBODY}/members"), Value::Null, 404, "project");
    // Memberships do not hold a project back, and go with it, or with the key.
    cloud.ok(&format!("DELETE /api-keys/{id}"), Value::Null);
    assert_eq!(cloud.send(&format!("GET {members}"), Value::Null).1["total"], 1);
    cloud.ok(&format!("DELETE /projects/{project}"), Value::Null);
    assert!(!serde_json::to_string(&cloud.world).unwrap().contains(&project));
}

#[test]
fn a_person_is_invited_accepts_and_is_removed() {
    let mut cloud = Cloud::new();
    let viewer = role(&mut cloud, "viewer");
    let body = json!({"email": "Ann@Example.com", "role_id": viewer});
    let other_case = with(body.clone(), json!({"email": "ann@example.com"}));
    let made = cloud.ok("POST /invitations", body.clone());
    let id = made["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (&made["email"], &made["status"], &made["role_slug"], &made["expires_at"]),
        (&json!("Ann@Example.com"), &json!("pending"), &json!("viewer"), &json!("2026-03-11T12:00:00Z"))
    );
    let asked_twice = cloud.make("/invitations", other_case.clone());
    cloud.ok(&format!("DELETE /invitations/{asked_twice}"), Value::Null);
    for (changes, status, words) in [
        (json!({"email": null}), 400, "email is required"),
        (json!({"email": "ann"}), 400, "address"),
        (json!({"email": "a@b"}), 400, "address"),
        (json!({"email": "a b@c.de"}), 400, "address"),
        (json!({"email": "a@b@c.de"}), 400, "address"),
        (json!({"email": "b@c.de", "role_id": null}), 400, "role_id is required"),
        (json!({"email": "b@c.de", "role_id": NOBODY}), 404, "role"),
    ] {
        cloud.refuses("POST /invitations", with(body.clone(), changes), status, words);
    }
    cloud.wait(7 * 24 * 3_600);
    assert_eq!(cloud.get("/invitations")[0]["status"], "expired");
    let again = cloud.make("/invitations", body.clone());
    assert_eq!(cloud.get("/members").as_array().unwrap().len(), 1);
    let set = json!({"status": "accepted"});
    mutate(&mut cloud.world, "invitation", &again, set.as_object().unwrap(), cloud.now).unwrap();
    let members = cloud.send("GET /members", Value::Null).1;
    assert_eq!((&members["total"], &members["data"][0]["email"]), (&json!(2), &json!("Ann@Example.com")));
    assert_eq!(members["data"][1]["role_slug"], "owner");
    cloud.refuses("POST /invitations", other_case, 409, "member already");
    cloud.refuses(&format!("DELETE /invitations/{again}"), Value::Null, 409, "accepted");
    cloud.ok(&format!("DELETE /invitations/{id}"), Value::Null);
    cloud.refuses(&format!("DELETE /invitations/{id}"), Value::Null, 404, "invitation");
    let project = cloud.make("/projects", json!({"name": "other"}));
    cloud.make(&format!("/projects/{project}/members"), json!({"member_id": again, "role_id": viewer}));
    cloud.ok(&format!("DELETE /members/{again}"), Value::Null);
    cloud.refuses(&format!("DELETE /members/{again}"), Value::Null, 404, "member");
    assert_eq!(cloud.get(&format!("/projects/{project}/members")), json!([]));
    let owner = cloud.get("/members")[0]["id"].as_str().unwrap().to_owned();
    cloud.refuses(&format!("DELETE /members/{owner}"), Value::Null, 403, "owner");
}

#[test]
fn a_key_survives_a_restart() {
    let mut cloud = Cloud::new();
    let project = cloud.project.clone().unwrap();
    let (id, secret) = key(&mut cloud, None);
    cloud.member(&project, &id, "viewer");
    let rows = cloud.world.take_rows().into_iter().filter_map(|row| Some((row.key, row.value?)));
    cloud.world = World::from_rows(rows.collect::<Vec<_>>()).unwrap();
    assert_eq!(cloud.world.tier_of(&secret), Some(RateTier::Standard));
    cloud.with_key(&secret, |cloud| {
        cloud.get("/vms");
        cloud.refuses("POST /vms", vm_body(), 403, "compute:write");
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn lists_reads_and_changes_enforce_the_same_permissions(
        roles in prop::collection::vec(prop::option::of(prop::sample::select(vec!["viewer", "developer"])), 1..5),
        account in prop::option::of(prop::sample::select(vec!["viewer", "developer", "admin"])),
        limit in 1usize..4,
    ) {
        let mut cloud = Cloud::new();
        let (id, secret) = key(&mut cloud, account);
        let limited = roles.iter().any(Option::is_some);
        let mut vms = Vec::new();
        for (index, role) in roles.iter().enumerate() {
            let project = cloud.make("/projects", json!({"name": format!("p{index}")}));
            if let Some(role) = role {
                cloud.member(&project, &id, role);
            }
            cloud.project = Some(project.clone());
            let role = if limited { *role } else { account };
            vms.extend([(); 2].map(|()| (cloud.vm(), project.clone(), role)));
        }
        cloud.with_key(&secret, |cloud| {
            cloud.project = None;
            let mut listed = Vec::new();
            loop {
                let (status, page) = cloud.send(&format!("GET /vms?limit={limit}&offset={}", listed.len()), Value::Null);
                let ids = page["data"].as_array().into_iter().flatten();
                let before = listed.len();
                listed.extend(ids.map(|vm| vm["id"].as_str().unwrap().to_owned()));
                if status != 200 || listed.len() == before {
                    break;
                }
            }
            let visible: Vec<_> =
                vms.iter().rev().filter(|(.., role)| role.is_some()).map(|(vm, ..)| vm.clone()).collect();
            assert_eq!(listed, visible);
            for (vm, project, role) in &vms {
                cloud.project = None;
                let read = cloud.send(&format!("GET /vms/{vm}"), Value::Null).0;
                cloud.project = Some(project.clone());
                let changed = cloud.send(&format!("DELETE /vms/{vm}"), Value::Null).0;
                let wanted = match role {
                    None => [[404, 404], [404, 403], [403, 403]].contains(&[read, changed]),
                    Some("viewer") => [read, changed] == [200, 403],
                    Some(_) => [read, changed] == [200, 200],
                };
                assert!(wanted, "{role:?}: {read} {changed}");
            }
        });
    }
}
