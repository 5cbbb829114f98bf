//! Expressions: the text between `${` and `}`, and configuration values that contain such parts.

use stead::config::input::request::LoadRequest;
use stead::config::load::load;
use stead::kinds::REGISTRY;
use stead::model::address::{Address, Name};
use stead::model::cel::{CelObject, CelProgram, CelValue, ExpressionScope, bind_path, evaluate_program};
use stead::model::expression::EvaluationError;
use stead::model::source::{Source, Sources};
use stead::model::values::secret::Secret;
use stead::model::values::value::{Attributes, Value};

/// A secret's value, which no other value of the scope contains.
const CANARY: &str = "Zq7-canary";

pub fn expression(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    template(text);
    let program = match CelProgram::parse(text) {
        Ok(program) => program,
        Err(error) => {
            assert!(error.offset.is_none_or(|at| at <= text.len()), "{error:?} of {text:?}");
            return;
        }
    };
    let _ = (program.as_path(), program.paths(), program.calls_function("file"));
    let first = evaluate(&program);
    assert_eq!(shown(&first), shown(&evaluate(&program)), "the same expression has one value");
    if let Ok(value) = &first {
        // A secret marks whatever it touches, so no open value holds its text.
        assert!(text.contains("canary") || !shown(&first).contains("canary"), "{value:?} of {text:?}");
    }
}

fn shown(result: &Result<Value, EvaluationError>) -> String {
    match result {
        Ok(value) => serde_json::to_string(value).expect("a value can be written"),
        Err(error) => error.to_string(),
    }
}

fn evaluate(program: &CelProgram) -> Result<Value, EvaluationError> {
    let secret = Value::Secret(Secret::new(CANARY));
    let list = Value::List(vec![Value::Integer(3), Value::text("b"), Value::Null]);
    let vars = Value::Map(
        [
            ("name", Value::text("shop")),
            ("count", Value::Integer(i64::MAX)),
            ("share", Value::Decimal("0.1".parse().unwrap())),
            ("on", Value::Bool(true)),
            ("key", secret),
            ("list", list),
            ("later", Value::unknown(vec![Address::new("vm", "web")])),
        ]
        .into_iter()
        .map(|(name, value)| (Name::new_static(name), value))
        .collect(),
    );
    let (env, id) = (Value::text("prod"), Value::text("5b1e09c2"));
    let attributes = Attributes::from([("id".into(), id), ("name".into(), Value::text("web-1"))]);
    let vm = CelObject { address: Address::new("vm", "web"), attributes, complete: false };
    let read = |path: &str| match path {
        "a" => Ok("text of a\n".to_owned()),
        _ => Err(format!("`{path}` cannot be read")),
    };
    let mut scope = ExpressionScope { read: Some(&read), ..ExpressionScope::default() };
    scope.roots.insert("vars".into(), CelValue::from_borrowed(&vars));
    scope.roots.insert("env".into(), CelValue::from_borrowed(&env));
    bind_path(&mut scope.roots, ["vm", "web"].into_iter(), CelValue::of_object(&vm));
    evaluate_program(program, &scope)
}

/// Loads the same text as a value of a configuration.
fn template(text: &str) {
    let quoted = serde_json::to_string(text).expect("a text can be written");
    let yaml = format!(
        "stead: 1\nstack: fuzz\nvars:\n  name: {{ type: string, default: a }}\nlocals:\n  x: {quoted}\n\
         vm:\n  web: {{ template: ubuntu-24.04, plan: std-1c-1g, name: {quoted} }}\noutputs:\n  y: {quoted}\n"
    );
    let mut sources = Sources::default();
    sources.add(Source::new("stead.yaml", yaml));
    let read = |_: &std::path::Path| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    match load(REGISTRY, sources, &LoadRequest::default(), &read) {
        Ok((stack, _)) => assert!(stack.outputs.contains_key("y")),
        Err(rejected) => assert!(!rejected.diagnostics.is_empty()),
    }
}
