//! What the world of these tests sells, and for how much.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::model::live::catalog::{Catalog, CatalogRecord};
use crate::model::values::value::Value;

/// Returns a catalog with prices for the tests.
pub fn catalog() -> Catalog {
    let record = |id: Json, slug: &str, fields: Json| {
        let Value::Map(fields) = Value::from_json(&fields) else { panic!("no map") };
        CatalogRecord { id: Value::from_json(&id), slug: slug.into(), fields }
    };
    let vm = |id: u32, slug: &str, storage: u32, price: &str| {
        record(json!(id), slug, json!({"storage": storage, "monthly_price": price}))
    };
    let db = |id: u32, slug: &str, engine: &str, price: f64, free: bool| {
        let fields = json!({"engine": engine, "monthly_price": price, "included_storage_gb": 10,
            "storage_price_per_gb_month": "0.125", "is_free": free});
        record(json!(id), slug, fields)
    };
    let tables = BTreeMap::from([
        (
            "vm".into(),
            vec![vm(1, "small", 20, "6.00"), vm(2, "large", 80, "24.00"), vm(3, "flat", 10, "30.00")],
        ),
        (
            "template".into(),
            vec![
                record(json!("t-22"), "ubuntu-22.04", json!({})),
                record(json!("t-24"), "ubuntu-24.04", json!({})),
            ],
        ),
        (
            "database".into(),
            vec![
                db(11, "pg-1", "postgres", 15.0, false),
                db(12, "pg-4", "postgres", 60.0, false),
                db(13, "pg-free", "postgres", 0.0, true),
                db(21, "my-1", "mysql", 20.0, false),
            ],
        ),
        ("volume".into(), vec![record(json!(1), "volume", json!({"price_per_gb_month": "0.10"}))]),
        (
            "role".into(),
            vec![
                record(json!("r-1"), "admin", json!({})),
                record(json!("r-2"), "reader", json!({})),
                record(json!("r-3"), "deployer", json!({})),
            ],
        ),
        ("snapshot".into(), vec![record(json!(1), "snapshot", json!({"price_per_gb_month": "0.05"}))]),
    ]);
    Catalog { read_at: None, tables }
}
