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
    .resolved(), @"");
}
