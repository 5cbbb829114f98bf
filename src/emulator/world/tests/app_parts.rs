//! What belongs to an app: domains, database links, previews; catalogs and usage.

use super::*;

#[test]
fn a_domain_is_unique_across_the_service() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/apps/services", web());
    let path = format!("/apps/services/{id}/domains");
    let body = json!({"domain": "Shop.example.com"});
    cloud.refuses(&format!("POST {path}"), body.clone(), 409, "building");
    cloud.wait(25);
    let made = cloud.ok(&format!("POST {path}"), body.clone());
    assert_eq!((&made["status"], &made["domain"]), (&json!("pending"), &json!("Shop.example.com")));
    let url = cloud.get(&format!("/apps/services/{id}"))["url"].as_str().unwrap().to_owned();
    assert_eq!(format!("https://{}", made["dns_target"].as_str().unwrap()), url);
    cloud.wait(10);
    assert_eq!(cloud.get(&path)[0]["status"], "active");
    let other = cloud.make("/projects", json!({"name": "other"}));
    cloud.project = Some(other);
    let second = cloud.app(json!({}));
    for name in ["Shop.example.com", "shop.EXAMPLE.com"] {
        cloud.refuses(
            &format!("POST /apps/services/{second}/domains"),
            json!({"domain": name}),
            409,
            "taken",
        );
    }
    cloud.project = None;
    for bad in ["", "localhost", "a..b", "-a.com", "a_b.com", "a.com.", "http://a.com", "é.com"] {
        cloud.refuses(&format!("POST {path}"), json!({"domain": bad}), 400, "domain");
    }
    let domain = made["id"].as_str().unwrap();
    cloud.refuses(&format!("DELETE /apps/services/{second}/domains/{domain}"), Value::Null, 404, "domain");
    cloud.ok(&format!("DELETE {path}/{domain}"), Value::Null);
    cloud.refuses(&format!("DELETE {path}/{domain}"), Value::Null, 404, "domain");
    cloud.ok(&format!("POST /apps/services/{second}/domains"), body.clone());
    // It is free again when its app is gone, and not before.
    cloud.ok(&format!("DELETE /apps/services/{second}"), Value::Null);
    cloud.refuses(&format!("POST {path}"), body.clone(), 409, "taken");
    cloud.wait(5);
    cloud.ok(&format!("POST {path}"), body);
}

#[test]
fn a_database_is_linked_once() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({}));
    let path = format!("/apps/services/{id}/database-links");
    let database = cloud.make("/databases", json!({"name": "main", "plan_id": 102}));
    let body = json!({"database_id": database});
    cloud.refuses(&format!("POST {path}"), body.clone(), 409, "pending");
    cloud.refuses(
        "POST /apps/services",
        with(web(), json!({"name": "b", "link_database_id": database})),
        409,
        "pending",
    );
    cloud.wait(47);
    cloud.refuses(&format!("POST {path}"), json!({}), 400, "database_id is required");
    cloud.refuses(&format!("POST {path}"), json!({"database_id": NOBODY}), 404, "database");
    let link = cloud.ok(&format!("POST {path}"), body.clone());
    assert!(link["user"].as_str().unwrap().starts_with("app_"));
    let names = link["variables"].as_array().unwrap();
    assert!(names.contains(&json!("DATABASE_URL")) && names.contains(&json!("DATABASE_CA_CERT")));
    cloud.refuses(&format!("POST {path}"), body.clone(), 409, "already");
    let link = link["id"].as_str().unwrap();
    cloud.wait(1);
    let rotated = cloud.ok(&format!("POST {path}/{link}/rotate"), Value::Null);
    assert_ne!(rotated["updated_at"], rotated["created_at"]);
    cloud.ok(&format!("DELETE {path}/{link}"), Value::Null);
    cloud.refuses(&format!("POST {path}/{link}/rotate"), Value::Null, 404, "link");
    cloud.refuses(&format!("DELETE {path}/{link}"), Value::Null, 404, "link");
    // A link ends with its database, and can be made with the app.
    cloud.ok(&format!("POST {path}"), body);
    let second = cloud.app(json!({"name": "b", "link_database_id": database}));
    let links = format!("/apps/services/{second}/database-links");
    assert_eq!(cloud.get(&links)[0]["database_id"], database);
    cloud.ok(&format!("DELETE /databases/{database}"), Value::Null);
    cloud.wait(10);
    assert_eq!((cloud.get(&links), cloud.get(&path)), (json!([]), json!([])));
}

#[test]
fn a_preview_opens_when_previews_are_enabled() {
    let mut cloud = Cloud::new();
    let body = json!({"image": null, "repo": "acme/shop", "branch": "main"});
    let id = cloud.app(body);
    let path = format!("/apps/services/{id}");
    assert_eq!(cloud.get(&format!("{path}/previews")), json!([]));
    cloud.ok(&format!("PATCH {path}"), json!({"previews_enabled": true}));
    cloud.ok(&format!("PATCH {path}"), json!({"previews_enabled": true}));
    let list = cloud.get(&format!("{path}/previews"));
    assert_eq!((list.as_array().unwrap().len(), &list[0]["status"]), (1, &json!("building")));
    let preview = list[0]["id"].as_str().unwrap();
    cloud.wait(25);
    assert_eq!(cloud.get(&format!("{path}/previews"))[0]["status"], "live");
    let again = cloud.ok(&format!("POST /apps/previews/{preview}/redeploy"), Value::Null);
    assert_eq!(again["status"], "building");
    let deleted = cloud.ok(&format!("DELETE /apps/previews/{preview}"), Value::Null);
    assert_eq!((&deleted["success"], &deleted["accepted"]), (&json!(true), &json!(true)));
    cloud.refuses(&format!("DELETE /apps/previews/{preview}"), Value::Null, 409, "deleting");
    cloud.refuses(&format!("POST /apps/previews/{preview}/redeploy"), Value::Null, 409, "deleting");
    assert_eq!(cloud.get(&format!("{path}/previews"))[0]["status"], "deleting");
    cloud.wait(5);
    assert_eq!(cloud.get(&format!("{path}/previews")), json!([]));
    cloud.refuses(&format!("DELETE /apps/previews/{preview}"), Value::Null, 404, "preview");
    let image = cloud.app(json!({"name": "image", "previews_enabled": true}));
    assert_eq!(cloud.get(&format!("/apps/services/{image}/previews")), json!([]));
}

#[test]
fn app_catalogs_have_the_documented_shapes() {
    let mut cloud = Cloud::new();
    assert_eq!(
        cloud.get("/apps/sizes")[0],
        json!({"slug": "app-xs", "cpu": 0.25, "ram": 256, "price_per_hour": 0.0041, "monthly_price": 3})
    );
    assert!(cloud.get("/apps/templates")[0]["slug"].is_string());
    assert!(cloud.get("/apps/github/connections")[0]["installation_id"].is_i64());
}

#[test]
fn only_running_instances_are_listed() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/apps/services", with(web(), json!({"instances": 3})));
    let path = format!("/apps/services/{id}/instances");
    assert_eq!(cloud.get(&path), json!([]));
    cloud.wait(25);
    let list = cloud.get(&path);
    assert_eq!(list.as_array().unwrap().len(), 3);
    assert_eq!((&list[2]["status"], &list[2]["size"]), (&json!("running"), &json!("app-xs")));
    cloud.ok(&format!("POST /apps/services/{id}/scale"), json!({"min_replicas": 0, "max_replicas": 3}));
    assert_eq!(cloud.get(&path), json!([]));
}

#[test]
fn usage_is_grouped_by_service_and_month() {
    let mut cloud = Cloud::new();
    // 4 March, noon: 27.5 days of 24 hours to the end of the month.
    let one = cloud.make("/apps/services", with(web(), json!({"instances": 2})));
    let two = cloud.make("/apps/services", with(web(), json!({"name": "two", "size": "app-s"})));
    cloud.wait(3_600);
    let usage = cloud.get("/apps/usage");
    assert_eq!((&usage["period"], &usage["total_usd"]), (&json!("current"), &json!(0.0164)));
    let of = |usage: &Value, id: &str| -> Value {
        let list = usage["services"].as_array().unwrap();
        list.iter().find(|one| one["service_id"] == id).unwrap().clone()
    };
    assert_eq!(of(&usage, &one), json!({"service_id": one, "instance_hours": 2, "usd": 0.0082}));
    assert_eq!(of(&usage, &two), json!({"service_id": two, "instance_hours": 1, "usd": 0.0082}));
    let only = cloud.get(&format!("/apps/usage?period=current&service_id={two}"));
    assert_eq!((&only["total_usd"], only["services"].as_array().unwrap().len()), (&json!(0.0082), 1));
    cloud.ok(&format!("POST /apps/services/{two}/pause"), Value::Null);
    cloud.wait(28 * 24 * 3_600);
    let usage = cloud.get("/apps/usage?period=previous");
    assert_eq!(of(&usage, &one)["instance_hours"], 2 * 660);
    assert_eq!(of(&usage, &two)["instance_hours"], 1);
    let usage = cloud.get("/apps/usage?period=current");
    assert_eq!(of(&usage, &one)["instance_hours"], 2 * 13);
    for bad in ["next", "", "Current"] {
        cloud.refuses(&format!("GET /apps/usage?period={bad}"), Value::Null, 400, "current or previous");
    }
    cloud.refuses(&format!("GET /apps/usage?service_id={NOBODY}"), Value::Null, 404, "app service");
    // What a deleted app used stays in the account's total.
    cloud.project = None;
    let total = cloud.get("/apps/usage")["total_usd"].clone();
    cloud.ok(&format!("DELETE /apps/services/{one}"), Value::Null);
    cloud.wait(5);
    let usage = cloud.get("/apps/usage");
    assert_eq!((&usage["total_usd"], usage["services"].as_array().unwrap().len()), (&total, 0));
}

#[test]
fn apps_are_billed_by_instance_and_stopped_ones_are_free() {
    let mut cloud = Cloud::new();
    for (name, body, month, hour) in [
        ("a", json!({"size": "app-m"}), 12.0, 0.0164),
        ("b", json!({"size": "app-m", "instances": 3}), 36.0, 0.0493),
        ("c", json!({"size": "app-m", "min_replicas": 2, "max_replicas": 6}), 24.0, 0.0329),
        ("d", json!({"size": "app-m", "min_replicas": 0, "max_replicas": 6}), 0.0, 0.0),
        ("e", json!({"type": "cron", "cron_schedule": "* * * * *"}), 0.0, 0.0),
        ("f", json!({"type": "job"}), 0.0, 0.0),
    ] {
        let made = cloud.ok("POST /apps/services", with(web(), with(body, json!({"name": name}))));
        assert_eq!(
            (made["monthly_price"].as_f64(), made["price_per_hour"].as_f64()),
            (Some(month), Some(hour)),
            "{name}"
        );
    }
    let rate = |cloud: &Cloud| cloud.world.bill(cloud.now).rate_per_hour.to_string();
    assert_eq!(rate(&cloud), "0.0986");
    let list = cloud.get("/apps/services");
    let first = list.as_array().unwrap().iter().find(|app| app["name"] == "a").unwrap();
    let id = first["id"].as_str().unwrap();
    cloud.wait(25);
    cloud.ok(&format!("POST /apps/services/{id}/pause"), Value::Null);
    assert_eq!(rate(&cloud), "0.0822");
}

#[test]
fn a_monthly_app_is_charged_in_advance_and_refunded() {
    let mut cloud = Cloud::new();
    let body = json!({"billing_type": "subscription", "size": "app-m"});
    let id = cloud.app(body);
    assert_eq!(cloud.balance(), "988.00");
    cloud.wait(365 * 3_600 - 25);
    cloud.ok(&format!("POST /apps/services/{id}/scale"), json!({"instances": 2}));
    assert_eq!(cloud.balance(), "982.00");
    cloud.ok(&format!("PATCH /apps/services/{id}"), json!({"size": "app-xs"}));
    assert_eq!(cloud.balance(), "991.00");
    cloud.mutate("account", "", json!({"balance": 1}));
    cloud.refuses(&format!("PATCH /apps/services/{id}"), json!({"size": "app-xl"}), 402, "balance");
    cloud.refuses(&format!("POST /apps/services/{id}/scale"), json!({"instances": 6}), 402, "balance");
    cloud.refuses(
        "POST /apps/services",
        with(web(), json!({"name": "b", "billing_type": "subscription"})),
        402,
        "balance",
    );
    cloud.ok(&format!("DELETE /apps/services/{id}"), Value::Null);
    assert_eq!(cloud.balance(), "4.00");
}

#[test]
fn a_banned_account_cannot_create_apps() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({}));
    cloud.mutate("account", "", json!({"banned": true}));
    for (line, body) in [
        ("POST /apps/services".to_owned(), with(web(), json!({"name": "b"}))),
        (format!("POST /apps/services/{id}/scale"), json!({"instances": 2})),
        (format!("POST /apps/services/{id}/deployments"), json!({})),
        (format!("PATCH /apps/services/{id}"), json!({"size": "app-m"})),
        ("POST /functions".to_owned(), json!({"name": "f", "runtime": "rust", "handler": "main"})),
    ] {
        cloud.refuses(&line, body, 403, "payment method");
    }
}

#[test]
fn a_project_with_an_app_or_a_function_is_not_empty() {
    let mut cloud = Cloud::new();
    for (collection, body) in [
        ("/apps/services", web()),
        ("/functions", json!({"name": "f", "runtime": "rust", "handler": "main"})),
    ] {
        let project = cloud.make("/projects", json!({"name": "other"}));
        cloud.project = Some(project.clone());
        let id = cloud.make(collection, body);
        cloud.refuses(&format!("DELETE /projects/{project}"), Value::Null, 409, "still holds");
        cloud.ok(&format!("DELETE {collection}/{id}"), Value::Null);
        cloud.wait(5);
        cloud.ok(&format!("DELETE /projects/{project}"), Value::Null);
    }
}

#[test]
fn apps_of_another_project_cannot_be_changed() {
    let mut cloud = Cloud::new();
    let id = cloud.app(json!({"image": null, "repo": "a/b", "branch": "main", "previews_enabled": true}));
    let preview = cloud.get(&format!("/apps/services/{id}/previews"))[0]["id"].as_str().unwrap().to_owned();
    cloud.project = Some(cloud.make("/projects", json!({"name": "other"})));
    for line in [
        format!("PATCH /apps/services/{id}"),
        format!("DELETE /apps/services/{id}"),
        format!("POST /apps/services/{id}/scale"),
        format!("POST /apps/services/{id}/deployments"),
        format!("POST /apps/services/{id}/source-upload"),
        format!("POST /apps/services/{id}/pause"),
        format!("POST /apps/services/{id}/resume"),
        format!("POST /apps/services/{id}/jobs/run"),
        format!("POST /apps/services/{id}/domains"),
        format!("POST /apps/services/{id}/database-links"),
        format!("DELETE /apps/previews/{preview}"),
        format!("POST /apps/previews/{preview}/redeploy"),
    ] {
        cloud.refuses(&line, json!({}), 404, "not found");
    }
    assert_eq!(cloud.send("GET /apps/services", Value::Null).1["total"], 0);
    assert_eq!(cloud.get("/apps/usage")["services"], json!([]));
}
