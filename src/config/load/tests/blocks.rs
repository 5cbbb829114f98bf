//! Blocks: instances, children, names and keywords.

use super::yaml;
use crate::model::address::Address;

#[test]
fn object_names_default_to_the_block_name() {
    insta::assert_snapshot!(yaml(
        "
vars: { nodes: { type: set(string), default: [b, a] } }
yard:
  main: { cidr: 10.0.0.0/16, gates: { north: {}, south: { crane: $crane.one.a } } }
crane:
  one: { for_each: $vars.nodes, yard: $yard.main, note: 'crane ${each.key} in ${env}' }
  two: { for_each: $crane.one, next: $each.value, note: '${each.value.address}!' }
  three: { for_each: { x: { t: 5 }, y: { t: $locals.seven } }, tons: $each.value.t }
  four: { when: '${env == \"prod\"}' }
  five: { for_each: [p, q], when: '${each.key == \"q\"}' }
locals: { seven: 7 }
outputs:
  notes: '${values(crane.two).map(c, c.address)}'
  first: $yard.main.fence
"
    )
    .resolved(), @r#"
    crane.five.q name=five-q
    crane.one.a name=one-a note=crane a in default yard=$yard.main
    crane.one.b name=one-b note=crane b in default yard=$yard.main
    crane.three.x name=three-x tons=5
    crane.three.y name=three-y tons=7
    crane.two.a name=two-a next=$crane.one.a note=text($crane.one.a:address, !)
    crane.two.b name=two-b next=$crane.one.b note=text($crane.one.b:address, !)
    yard.main cidr=10.0.0.0/16 name=main
    yard.main.gates.north name=north
    yard.main.gates.south crane=$crane.one.a name=south
    output first=$yard.main:fence
    output notes=cel(values(crane.two).map(c, c.address) |  | crane.two.a, crane.two.b)
    "#);
}

#[test]
fn exclusive_is_a_setting_of_an_open_map_and_quoted_a_key() {
    let config = yaml(
        "
crane:
  a: { labels: { exclusive: true, team: red } }
  b: { labels: { exclusive: false, team: red } }
  c: { labels: { exclusive: 'true', team: red } }
  d: { labels: { team: red } }
",
    )
    .file(
        "b.stead.kdl",
        "crane e { labels exclusive=#true team=red }\ncrane f { labels exclusive=\"true\" }\n",
    );
    let stack = config.stack();
    let told: Vec<String> = stack
        .resources
        .values()
        .map(|one| {
            let labels = &one.attributes["labels"];
            let value = labels.expression.known_value().unwrap();
            format!("{} {} {value}", one.address.last(), labels.exclusive)
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    a true { team: red }
    b false { team: red }
    c false { exclusive: true, team: red }
    d false { team: red }
    e true { team: red }
    f false { exclusive: true }
    ");
    let plain = yaml("crane: { a: { labels: { team: red } } }\n").stack().digest;
    let other = yaml("crane: { a: { labels: { team: red, exclusive: true } } }\n").stack().digest;
    assert_ne!(plain, other);
}

#[test]
fn an_excluded_instance_is_recorded_with_the_location_of_its_condition() {
    let stack = yaml(
        "
crane:
  one: { for_each: [a, b] }
  two: { when: false }
  three: { for_each: [p, q], when: '${each.key == \"q\"}' }
  four: {}
",
    )
    .stack();
    let told: Vec<String> = stack
        .left_out
        .iter()
        .map(|(address, left)| {
            let place = stack.sources.location_of(left.span).unwrap();
            format!("{address} {} {}:{}", left.keyed, place.line, place.column)
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    crane.one true 5:20
    crane.three true 7:22
    crane.three.p false 7:36
    crane.two false 6:16
    ");
}

#[test]
fn each_key_of_a_map_has_its_own_location_and_origin() {
    let stack = yaml(
        "
vars: { word: { type: string, default: red } }
crane:
  a:
    labels:
      team: $vars.word
      size: big
  b: { labels: '${{\"x\": vars.word}}' }
",
    )
    .var("word", "blue")
    .stack();
    let labels = |name: &str| &stack.resources[&Address::new("crane", name)].attributes["labels"];
    let told = |name: &str, path: &str| {
        let (span, set_by) = labels(name).origin(path);
        let place = stack.sources.location_of(span).unwrap();
        format!("{}:{} {}", place.line, place.column, set_by.map_or("-", |by| by.as_str()))
    };
    let all = [
        told("a", "labels.team"),
        told("a", "labels.size"),
        told("a", "labels.gone"),
        told("a", "labels"),
        told("b", "labels.x"),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    8:13 vars.word, set by --var
    9:13 -
    8:7 -
    8:7 -
    10:16 vars.word, set by --var
    ");
}
