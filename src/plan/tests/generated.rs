//! Generated secrets, found again where they are.

use serde_json::json;

use super::World;
use super::world::KEY;
use crate::ledger::state::entry::GeneratedSecret;
use crate::model::address::Name;
use crate::model::live::snapshot::RefreshRequest;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;
use crate::plan::annotate::generated_secrets::{find_live_secrets, is_shown, look_for};

const TEXT: &str = "Zt4Yq8Lw2Rk6Nm1B";

/// Returns a test world whose ledger records a generated secret among the labels of `volume.media`.
fn world() -> World {
    let mut world = World::new();
    world.write("volume.media", json!({"size": 10}));
    world.settle();
    let print = Secret::new(TEXT).fingerprint(&KEY).unwrap();
    let generated = GeneratedSecret { fingerprint: print.clone(), length: 16 };
    world.ledger.generated.insert("session".into(), generated);
    let sealed = |print| Value::Secret(Secret::Fingerprint(Some(print)));
    let applied = Value::Map([("KEY".into(), sealed(print)), ("MODE".into(), "live".into())].into());
    world.ledger.entries.get_mut("volume.media").unwrap().applied.insert("labels".into(), applied);
    world
}

#[test]
fn a_generated_secret_is_recognized_by_its_fingerprint() {
    let mut world = world();
    assert!(find_live_secrets(&world.ledger, &world.snapshot()).is_empty(), "nothing shows it");
    world.mutate("volume.media", "labels", json!({"KEY": TEXT, "MODE": "live"}));
    let shown = find_live_secrets(&world.ledger, &world.snapshot());
    assert_eq!(shown.get("session").and_then(Secret::expose), Some(TEXT));
    assert!(is_shown(&world.ledger, &world.snapshot(), &Secret::new(TEXT)));
    assert!(!is_shown(&world.ledger, &world.snapshot(), &Secret::new("another")));
    world.mutate("volume.media", "labels", json!({"KEY": "edited", "MODE": TEXT}));
    assert!(
        find_live_secrets(&world.ledger, &world.snapshot()).is_empty(),
        "another text is not it, nor another place"
    );
}

#[test]
fn a_generated_secret_is_recognized_by_the_short_fingerprint() {
    for short_in_entry in [false, true] {
        let mut world = world();
        let shorten = |print: &mut Name| *print = print[..16].into();
        if short_in_entry {
            let applied = &mut world.ledger.entries.get_mut("volume.media").unwrap().applied;
            let Some(Value::Map(labels)) = applied.get_mut("labels") else { panic!("no labels") };
            let Some(Value::Secret(Secret::Fingerprint(Some(print)))) = labels.get_mut("KEY") else {
                panic!("no key")
            };
            shorten(print);
        } else {
            shorten(&mut world.ledger.generated.get_mut("session").unwrap().fingerprint);
        }
        world.mutate("volume.media", "labels", json!({"KEY": TEXT, "MODE": "live"}));
        let shown = find_live_secrets(&world.ledger, &world.snapshot());
        assert_eq!(shown.get("session").and_then(Secret::expose), Some(TEXT));
        let mut wanted = RefreshRequest::default();
        look_for(&mut wanted, crate::kinds::REGISTRY, &world.ledger);
        assert_eq!(wanted.details.len(), 1);
        world.ledger.generated.get_mut("session").unwrap().fingerprint = "0123456789abcdef".into();
        assert!(
            find_live_secrets(&world.ledger, &world.snapshot()).is_empty(),
            "the short one of another secret"
        );
    }
}

#[test]
fn objects_that_show_a_generated_secret_are_read_in_detail() {
    let mut world = world();
    let mut wanted = RefreshRequest::default();
    look_for(&mut wanted, crate::kinds::REGISTRY, &world.ledger);
    assert_eq!((wanted.details.len(), wanted.owned.len()), (1, 1));
    world.ledger.generated.clear();
    let mut wanted = RefreshRequest::default();
    look_for(&mut wanted, crate::kinds::REGISTRY, &world.ledger);
    assert_eq!(wanted.details.len(), 0);
}
