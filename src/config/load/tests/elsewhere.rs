//! Lookups and outputs of other stacks: known offline by name and type, and replaced by their values
//! once they are read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Config, expression, shown, yaml};
use crate::config::resolve::late_binding::{LateBindingInputs, bind_lookups};
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::{Object, Snapshot};
use crate::model::values::secret::Secret;
use crate::model::values::value::{Attributes, Value};

const LOOKUPS: &str = "data: { yard: { far: { cidr: 10.9.0.0/16 }, named: { name: $locals.n } } }
stacks: { net: ../net }
locals: { n: deep, later: $data.yard.far.fence }
crane: { a: { yard: $data.yard.far, note: \"at ${data.yard.named.cidr + stacks.net.zone}\" }, b: { tons: $stacks.net.tons, note: $locals.later } }
outputs: { id: $data.yard.named, zone: $stacks.net.zone }
";

fn config() -> Config {
    yaml(LOOKUPS).shared("stacks/net/stead.yaml", "")
}

fn yard(id: &str, name: &str, cidr: &str) -> Object {
    let attributes = [("name", name), ("cidr", cidr), ("fence", "hedge")];
    Object {
        kind: "yard".into(),
        id: id.into(),
        parent: None,
        project: None,
        created_at: None,
        attributes: attributes.map(|(name, value)| (Name::new_static(name), Value::text(value))).into(),
        detailed: false,
    }
}

fn snapshot(objects: &[Object]) -> Snapshot {
    let objects = objects.iter().map(|object| (object.key(), object.clone())).collect();
    Snapshot { objects, ..Snapshot::default() }
}

fn outputs() -> BTreeMap<Name, Attributes> {
    let given = [("tons".into(), Value::Integer(7)), ("zone".into(), Value::text("z1"))];
    [("net".into(), Attributes::from(given))].into()
}

/// Returns every attribute after the references to `snapshot` and `outputs` were replaced, or every problem. `own`
/// holds the ids of the objects that the stack manages.
fn settled(
    config: &Config,
    snapshot: &Snapshot,
    outputs: BTreeMap<Name, Attributes>,
    own: &[&str],
) -> String {
    let stack = config.stack();
    let owned = snapshot.objects.keys().filter(|key| own.contains(&key.id.as_str()));
    let owned = owned.map(|key| (key.clone(), Address::new("yard", "mine"))).collect();
    match bind_lookups(
        &stack,
        &LateBindingInputs { snapshot, owned, outputs, apply_commands: BTreeMap::new() },
    ) {
        Err(problems) => shown(&problems, &stack.sources),
        Ok(settled) => {
            let resources = settled.resources.values().flat_map(|resource| {
                resource.attributes.iter().map(move |(name, setting)| {
                    format!("{}.{name}={}", resource.address, expression(&setting.expression))
                })
            });
            let outputs =
                settled.outputs.iter().map(|(name, o)| format!("{name}={}", expression(&o.expression)));
            resources.chain(outputs).collect::<Vec<_>>().join("\n")
        }
    }
}

#[test]
fn lookups_are_unknown_offline_and_become_values_online() {
    insta::assert_snapshot!(config().resolved(), @r#"
    crane.a name=a note=text(at , cel(data.yard.named.cidr + stacks.net.zone |  |  data.yard.named.cidr=$data.yard.named:cidr stacks.net.zone=$stacks.net:zone)) yard=$data.yard.far
    crane.b name=b note=$data.yard.far:fence tons=$stacks.net:tons
    output id=$data.yard.named
    output zone=$stacks.net:zone
    "#);
    let world = snapshot(&[yard("1", "deep", "10.1.0.0/16"), yard("2", "far", "10.9.0.0/16")]);
    insta::assert_snapshot!(settled(&config(), &world, outputs(), &[]), @r#"
    crane.a.name=a
    crane.a.note=at 10.1.0.0/16z1
    crane.a.yard=2
    crane.b.name=b
    crane.b.note=hedge
    crane.b.tons=7
    id=1
    zone=z1
    "#);
    let stack = yaml("crane: { a: {} }").stack();
    let read = LateBindingInputs {
        snapshot: &world,
        owned: BTreeMap::new(),
        outputs: BTreeMap::new(),
        apply_commands: BTreeMap::new(),
    };
    assert!(matches!(bind_lookups(&stack, &read), Ok(Cow::Borrowed(_))));
}

#[test]
fn the_digest_of_reads_covers_every_lookup() {
    let reads = |tons: i64, id: &str| {
        let world = snapshot(&[yard("1", "deep", "10.1.0.0/16"), yard(id, "far", "10.9.0.0/16")]);
        let mut outputs = outputs();
        outputs.get_mut("net").unwrap().insert("tons".into(), Value::Integer(tons));
        let stack = config().stack();
        bind_lookups(
            &stack,
            &LateBindingInputs {
                snapshot: &world,
                owned: BTreeMap::new(),
                outputs,
                apply_commands: BTreeMap::new(),
            },
        )
        .unwrap()
        .reads
        .clone()
    };
    assert_eq!(reads(1, "2"), reads(1, "2"));
    assert_ne!(reads(1, "2"), reads(2, "2"));
    assert_ne!(reads(1, "2"), reads(1, "3"));
}

#[test]
fn every_failed_lookup_describes_the_live_objects() {
    let two = [yard("1", "deep", "10.1.0.0/16"), yard("2", "far", "10.9.0.0/16")];
    let three = [two[0].clone(), two[1].clone(), yard("3", "deep", "10.2.0.0/16")];
    let with = |change: &dyn Fn(&mut Attributes)| {
        let mut outputs = outputs();
        change(outputs.get_mut("net").unwrap());
        outputs
    };
    insta::assert_snapshot!(
        [
            settled(&config(), &snapshot(&[]), outputs(), &[]),
            settled(&config(), &snapshot(&two[..1]), outputs(), &[]),
            settled(&config(), &snapshot(&three), outputs(), &[]),
            settled(&config(), &snapshot(&two), outputs(), &["1"]),
            settled(&config(), &snapshot(&two), BTreeMap::new(), &[]),
            settled(&config(), &snapshot(&two), with(&|net| drop(net.remove("zone"))), &[]),
            settled(&config(), &snapshot(&two), with(&|net| drop(net.insert("zone".into(), Value::Secret(Secret::Fingerprint(None))))), &[]),
            settled(&config(), &snapshot(&two), with(&|net| drop(net.insert("tons".into(), Value::text("many")))), &[]),
        ]
        .join("\n--\n"), @"
    S0321 3:17 a lookup finds nothing | data.yard.far: there is no yard with cidr `10.9.0.0/16`. No yard was found at all. | create it first, correct the attributes of the lookup, or search another project or account
    S0321 3:45 a lookup finds nothing | data.yard.named: there is no yard with name `deep`. No yard was found at all. | create it first, correct the attributes of the lookup, or search another project or account
    --
    S0321 3:17 a lookup finds nothing | data.yard.far: there is no yard with cidr `10.9.0.0/16`. Found: deep (1). | create it first, correct the attributes of the lookup, or search another project or account
    --
    S0321 3:45 a lookup finds several objects | data.yard.named: 2 objects of kind yard have name `deep`. Found: deep (1), deep (3). | add more of its attributes, or its `id`, to the lookup
    --
    S0321 3:45 a lookup finds an object that this stack manages | The yard with name `deep` is yard.mine. | refer to the block itself: `$yard.mine`
    --
    S0321 6:104 another stack was not applied yet [4:16 named here] | The stack in `../net` has no outputs in its ledger. | apply that stack first: stead apply, in its directory; a command with `--all` can select it, too
    --
    S0321 6:43 another stack has no such output | The last apply of the stack in `../net` did not record an output `zone`. | did you mean `$stacks.net.tons`?
    --
    S0321 6:43 an output of another stack is secret | The ledger of that stack stores only a fingerprint of `net.zone`. | keep it there: add `secrets: { recipients: [age1…] }` to that stack, and apply it; or pass the secret to this stack, too, as a variable
    --
    S0222 6:104 this value has the wrong type | It takes a whole number (t), and this is a text. | write `${int(…)}` around the expression
    ");
}

#[test]
fn every_mistake_of_a_lookup_has_one_message() {
    insta::assert_snapshot!(
        [
            "data: { yrd: { a: { name: x } } }",
            "data: { yard: { a: { nam: x } } }",
            "data: { yard: { a: {} } }",
            "data: { yard: { a: { for_each: [x, y], name: $each.key } } }",
            "data: { yard: { a: { name: $crane.c.address } } }\ncrane: { c: {} }",
            "data: { yard: { a: { name: x } } }\noutputs: { o: $data.yard.b, p: $data.yard, q: $data.yard.a.nothing }",
            "data: { yard: { a: { name: x } } }\ncrane: { c: { next: $data.yard.a } }",
            "data: { yard: { a: { name: x } } }\ncrane: { c: { for_each: [$data.yard.a.name] } }",
            "stacks: { net: 3, far: /etc, up: ../../../x, odd: { sauce: y } }",
            "stacks: { net: ../net }\noutputs: { o: $stacks.nat.x, p: $stacks.net }",
        ]
        .map(|text| yaml(text).shared("stacks/net/stead.yaml", "").problems())
        .join("\n--\n"), @"
    S0319 3:9 objects of this kind cannot be looked up | `data` contains lookups by kind, and `yrd` is not such a kind. | did you mean `yard`? | fix: yard
    --
    S0319 3:22 a lookup names an unknown attribute | A yard has no attribute `nam` to search by. | did you mean `name`? | fix: name
    --
    S0319 3:17 a lookup has no attributes to search by | write the attributes to search by: `{ name: … }` or `{ id: … }`
    --
    S0319 3:22 a lookup has no `for_each` | A lookup finds one object. | write a lookup for each object
    --
    S0208 3:28 this must be known before any resource exists | a lookup is evaluated while the configuration is loaded, and attributes of a crane are known only later. | use a variable, or a local that refers to no resource
    --
    S0201 4:15 there is no lookup of this name | No block declares data.yard.b. | did you mean `$data.yard.a`?
    S0319 4:32 a reference is incomplete | name a lookup: `$data.KIND.NAME`
    S0202 4:60 there is no attribute of this name | A yard has no `nothing`.
    --
    S0203 4:21 a reference has the wrong kind or type | It takes a reference to a crane, and data.yard.a is a yard.
    --
    S0208 4:26 this must be known before any resource exists | `for_each` is evaluated while the configuration is loaded, and attributes of a looked up object are known only later. | use a variable, or a local that refers to no resource
    --
    S0320 3:24 this does not name another stack | It takes a relative path with `/` between its parts. | write `stacks: { net: ../network }`, or `{ net: { source: ../network, env: prod } }`
    S0320 3:34 this does not name another stack | The path is outside of the root directory for shared configuration, the nearest with `.git`, else the stack's own; `git init` in the directory above both stacks makes it the root, and `--allow-outside` permits any path. | write `stacks: { net: ../network }`, or `{ net: { source: ../network, env: prod } }`
    S0320 3:51 this does not name another stack | It takes the directory of a stack, as a literal. | write `stacks: { net: ../network }`, or `{ net: { source: ../network, env: prod } }`
    S0220 3:53 this key is not known | There is no `sauce` here. | did you mean `source`? | fix, unsure: source
    --
    S0201 4:15 there is no lookup of this name | No block declares stacks.nat. | did you mean `$stacks.net`?
    S0320 4:33 a reference is incomplete | name an output of a stack: `$stacks.NAME.OUTPUT`
    ");
}

#[test]
fn both_syntaxes_resolve_the_same_lookups() {
    let kdl = yaml("").without_yaml().shared("stacks/net/stead.yaml", "").file(
        "a.stead.kdl",
        "stead 1\nstack test\ndata {\n yard {\n  far cidr=\"10.9.0.0/16\"\n  named name=$locals.n\n }\n}\nstacks net=\"../net\"\nlocals {\n n deep\n later $data.yard.far.fence\n}\ncrane a yard=$data.yard.far note=\"at ${data.yard.named.cidr + stacks.net.zone}\"\ncrane b tons=$stacks.net.tons note=$locals.later\noutputs {\n id $data.yard.named\n zone $stacks.net.zone\n}\n",
    );
    assert_eq!(config().stack().digest, kdl.stack().digest);
    let lookups = |config: &Config| {
        let stack = config.stack();
        let data = stack.data.iter().map(|(address, lookup)| format!("{address} {:?}", lookup.fields));
        let stacks = stack.stacks.iter().map(|(name, other)| {
            format!("{name} {} {:?}", other.directory, other.reads.keys().collect::<Vec<_>>())
        });
        data.chain(stacks).collect::<Vec<_>>()
    };
    assert_eq!(lookups(&config()), lookups(&kdl));
}
