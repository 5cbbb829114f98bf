//! Pages of lists.

use proptest::prelude::*;

use super::*;

#[test]
fn limit_and_offset_have_defaults_and_a_maximum() {
    let mut cloud = Cloud::new();
    (0..130).for_each(|n| drop(cloud.make("/ssh-keys", key(n))));
    for (query, count) in [
        ("", 20),
        ("?limit=1", 1),
        ("?limit=100", 100),
        ("?limit=1000", 100),
        ("?offset=125", 5),
        ("?offset=130", 0),
        ("?offset=99999999999", 0),
        ("?limit=100&offset=100", 30),
    ] {
        let answer = cloud.send(&format!("GET /ssh-keys{query}"), Value::Null).1;
        assert_eq!(
            (answer["data"].as_array().unwrap().len(), &answer["total"]),
            (count, &json!(130)),
            "{query}"
        );
    }
    for query in ["limit=0", "limit=-1", "limit=ten", "offset=-1", "offset=", "limit=1.5"] {
        cloud.refuses(&format!("GET /ssh-keys?{query}"), Value::Null, 400, "must be a whole number");
    }
}

fn key(n: usize) -> Value {
    json!({
        "name": format!("key-{n}"),
        "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn pages_concatenate_to_the_list_newest_first(
        gaps in prop::collection::vec(0i64..3, 1..60),
        deleted in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        limit in 1usize..30,
    ) {
        let mut cloud = Cloud::new();
        let mut alive = Vec::new();
        for (n, gap) in gaps.iter().enumerate() {
            cloud.wait(*gap);
            let made = cloud.ok("POST /ssh-keys", key(n));
            alive.push((made["created_at"].as_str().unwrap().to_owned(), made["id"].as_str().unwrap().to_owned()));
        }
        for index in deleted {
            if alive.len() > 1 {
                let (_, id) = alive.remove(index.index(alive.len()));
                cloud.ok(&format!("DELETE /ssh-keys/{id}"), Value::Null);
            }
        }
        alive.sort();
        alive.reverse();
        let mut seen = Vec::new();
        while seen.len() < alive.len() {
            let page = cloud.get(&format!("/ssh-keys?limit={limit}&offset={}", seen.len()));
            let page = page.as_array().unwrap();
            prop_assert!(!page.is_empty());
            seen.extend(page.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        }
        let wanted: Vec<_> = alive.into_iter().map(|(_, id)| id).collect();
        prop_assert_eq!(seen, wanted);
    }
}
