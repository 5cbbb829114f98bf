//! A declaration that nothing uses is a warning, once the stack has no errors.

use super::yaml;

#[test]
fn unused_declarations_are_warnings() {
    insta::assert_snapshot!(yaml("vars: { a: { default: x }, b-c: { default: y }, d: { default: z } }
locals: { e: $vars.a, f: 1, g: { h: 2 } }
crane:
outputs: { x: \"${locals.e}\", y: $vars.b-c }
").problems(), @"
    S0298 3:49 nothing uses this variable | No expression and no reference names vars.d. | use it, as in `$vars.d`, or remove it
    S0298 4:23 nothing uses this local | No expression and no reference names locals.f. | use it, as in `$locals.f`, or remove it
    S0298 4:29 nothing uses this local | No expression and no reference names locals.g. | use it, as in `$locals.g`, or remove it
    S0298 5:1 this block is empty | `crane` has no entries. | indent below it what belongs to it, or remove it
    ");
    for (what, text) in [
        (
            "a guard",
            "vars: { a: { type: bool, default: false } }\ncrane: { c: { when: $vars.a, tons: 1 } }\n",
        ),
        (
            "a key",
            "vars: { a: { default: x } }\nlocals: { m: { x: 1 } }\noutputs: { y: \"${locals.m[vars.a]}\" }\n",
        ),
        ("all", "vars: { a: { default: x } }\noutputs: { y: \"${values(vars)}\" }\n"),
        (
            "a module",
            "vars: { a: { default: x } }\nlocals: { b: 1 }\noutputs: { y: \"a ${ vars . a } ${locals['b']}\" }\n",
        ),
    ] {
        assert_eq!(yaml(text).problems(), "", "{what}");
    }
    let error = yaml("vars: { a: { default: x } }\ncrane: { c: { tuns: 1 } }\n").problems();
    assert!(!error.contains("nothing uses"), "an error may be why: {error}");
}
