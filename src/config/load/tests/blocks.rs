//! Blocks: instances, children, names, words.

use super::yaml;

#[test]
fn names_default_to_the_blocks_own() {
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
