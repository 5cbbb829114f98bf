//! `environments.X.set` for values that several resources share: instances of `for_each`, and modules.

use super::{Config, yaml};

/// Returns a stack of instances and modules whose environment `e` replaces these paths.
fn with(set: &str) -> Config {
    let text = format!(
        "environments: {{ e: {{ default: true, set: {{ {set} }} }}, other: {{}} }}
crane: {{ a: {{ for_each: [x, y], tons: 1, labels: {{ k: v }}, lifecycle: {{ protect: false }} }}, gone: {{ when: false, tons: 1 }} }}
yard: {{ y: {{ cidr: 10.0.0.0/16, gates: {{ g: {{ for_each: [p, q], name: $each.key, crane: $crane.a.x }} }} }} }}
use:
  m: {{ source: ../../m }}
  many: {{ source: ../../m, for_each: [n, s] }}
  none: {{ source: ../../m, when: false }}
"
    );
    yaml(&text)
        .shared(
            "m/stead.yaml",
            "crane: { c: { tons: 1 }, d: { for_each: [k, l], tons: 1 } }\nuse: { in: { source: ../in } }\n",
        )
        .shared("in/stead.yaml", "crane: { e: { tons: 1 } }\n")
}

/// Returns the addresses of the cranes whose `tons` is not 1, with its value.
fn changed(set: &str) -> String {
    let stack = with(set).stack();
    let tons = stack.resources.values().filter_map(|resource| {
        let tons = resource.attributes.get("tons")?.expression.known_value()?.to_string();
        (tons != "1").then(|| format!("{}={tons}", resource.address))
    });
    tons.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_set_path_addresses_one_instance_or_all() {
    for (set, wanted) in [
        ("crane.a.tons: 2", "crane.a.x=2 crane.a.y=2"),
        ("crane.a.x.tons: 2", "crane.a.x=2"),
        ("crane.a.tons: 2, crane.a.y.tons: 3", "crane.a.x=2 crane.a.y=3"),
        ("use.m.crane.c.tons: 2", "m.crane.c=2"),
        ("m.crane.c.tons: 2", "m.crane.c=2"),
        ("use.m.crane.d.tons: 2", "m.crane.d.k=2 m.crane.d.l=2"),
        ("use.m.crane.d.l.tons: 2", "m.crane.d.l=2"),
        ("use.m.in.crane.e.tons: 2", "m.in.crane.e=2"),
        ("use.many.crane.c.tons: 2", "many.n.crane.c=2 many.s.crane.c=2"),
        ("use.many.s.crane.c.tons: 2", "many.s.crane.c=2"),
        ("use.many.in.crane.e.tons: 2", "many.n.in.crane.e=2 many.s.in.crane.e=2"),
        (
            "many.crane.d.tons: 2, many.s.crane.d.tons: 3, many.s.crane.d.k.tons: 4",
            "many.n.crane.d.k=2 many.n.crane.d.l=2 many.s.crane.d.k=4 many.s.crane.d.l=3",
        ),
    ] {
        assert_eq!(changed(set), wanted, "{set}");
    }
    let stack = with("crane.a.x.tons: 2, crane.a.x.labels.k: w, crane.a.y.lifecycle.protect: true, yard.y.gates.g.p.crane: $crane.a.y").stack();
    let x = &stack.resources["crane.a.x"];
    assert_eq!(x.attributes["tons"].set_by.as_ref().map(|by| by.as_str()), Some("environments.e.set"));
    assert_eq!(x.attributes["labels"].expression.known_value().unwrap().to_string(), "{ k: w }");
    assert!(stack.resources["crane.a.y"].lifecycle.protect && !x.lifecycle.protect);
    let gates = ["p", "q"].map(|key| {
        super::expression(
            &stack.resources[&*format!("yard.y.gates.g.{key}")].attributes["crane"].expression,
        )
    });
    assert_eq!(gates, ["$crane.a.y", "$crane.a.x"]);
}

#[test]
fn a_set_path_to_an_excluded_instance_is_not_an_error() {
    assert_eq!(changed("crane.gone.tons: 2, use.none.crane.c.tons: 2"), "");
}

#[test]
fn a_set_path_to_nothing_is_an_error() {
    let problems = |set: &str| with(set).problems();
    let paths = [
        "crane.a.z.tons: 2",
        "crane.a.x.ton: 2",
        "crane.a.x.labels.j: 2",
        "use.m.crane.f.tons: 2",
        "use.manyy.crane.c.tons: 2",
        "use.m.crane.c.tonss: 2",
        "use.m.crane.d.for_each: [z]",
        "use.m.crane.c: 2",
        "many.x.crane.c.tons: 2",
    ];
    insta::assert_snapshot!(paths.map(problems).join("\n"), @r#"
    S0318 3:44 there is nothing at this path | This environment has no resource there. | did you mean `crane.a.x.tons`?
    S0318 3:44 there is nothing at this path | crane.a.x has no `ton`, and `set` replaces only existing values. | did you mean `crane.a.x.tons`?
    S0318 3:44 there is nothing at this path | crane.a.x.labels has no `j`, and `set` replaces only existing values. | write `j` there, with the value for the other environments
    S0318 3:44 there is nothing at this path | This environment has no resource there. | did you mean `m.crane.c.tons`?
    S0318 3:44 there is nothing at this path | use has no `manyy`, and `set` replaces only existing values. | did you mean `use.many.crane.c.tons`?
    S0318 3:44 there is nothing at this path | m.crane.c has no `tonss`, and `set` replaces only existing values. | did you mean `use.m.crane.c.tons`?
    S0318 3:44 this path cannot be replaced | `for_each` determines which instances exist, and only the block can set it. | use a variable for it in the block, and give that another value
    S0318 3:44 this path cannot be replaced | `set` replaces only values of a block or of the `with` of a module. | write the path of one value: `database.main.storage_gb`, `use.shop.with.size`, or `use.shop.vm.web.plan`
    S0318 3:44 there is nothing at this path | This environment has no resource there. | did you mean `many.n.crane.c.tons`?
    "#);
    let other = yaml(
        "environments: { e: { default: true }, other: { vars: { siz: 1 }, set: { crane.aa.tons: 2 } } }
vars: { size: { default: x } }
crane: { a: { tons: 1 } }",
    );
    let told = other.problems();
    assert_eq!(told.lines().count(), 2, "{told}");
    assert!(told.contains("environments.other gives a value to `siz`"), "{told}");
    assert!(told.contains("crane has no `aa`"), "{told}");
}

#[test]
fn a_computed_list_entry_is_addressed_by_its_value() {
    let with = |set: &str| {
        yaml(&format!(
            "locals: {{ host: shop.example.com }}
environments: {{ e: {{ default: true, set: {{ {set} }} }} }}
app:
  web: {{ type: web, repo: a/b, branch: main, domains: [$locals.host, b.example.com] }}
"
        ))
        .registry(crate::kinds::REGISTRY)
    };
    let domains = |set: &str| {
        let stack = with(set).stack();
        let says = stack.resources.values().filter_map(|resource| {
            let domain = resource.attributes.get("domain")?.expression.known_value()?.to_string();
            Some(format!("{}={domain}", resource.address.last()))
        });
        says.collect::<Vec<_>>().join(" ")
    };
    for (set, wanted) in [
        (
            "app.web.domains.shop-example-com.domain: z.example.com",
            "b-example-com=b.example.com shop-example-com=z.example.com",
        ),
        (
            "app.web.domains.b-example-com.domain: z.example.com",
            "b-example-com=z.example.com shop-example-com=shop.example.com",
        ),
        ("app.web.domains: [x.example.com]", "x-example-com=x.example.com"),
        (
            "app.web.domains: [$locals.host, y.example.com]",
            "shop-example-com=shop.example.com y-example-com=y.example.com",
        ),
    ] {
        assert_eq!(domains(set), wanted, "{set}");
    }
    let problems = with("app.web.domains.locals-host.domain: z.example.com").problems();
    assert!(problems.contains("This environment has no resource there"), "{problems}");
}
