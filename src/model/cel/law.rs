//! Noninterference of values computed from secrets, tested over generated expressions: two runs that differ only in the
//! text of their secrets have the same result, except that one of them may fail.

use super::evaluate_program;
use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{CelObject, CelProgram, CelValue, ExpressionScope, bind_path};
use crate::model::address::{Address, Name};
use crate::model::expression::EvaluationError;
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::{Value, ValueMap};

/// Texts that the generated expressions compare with, so that all branches are taken.
const SAMPLE_TEXTS: &[&str] = &["Hunter2", "a", "", "7", "true", "Hu", "10.0.0.0/8"];

/// Writes an expression of random shape.
struct ExpressionGenerator(StdRng);

impl ExpressionGenerator {
    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.0.random_range(0..all.len())]
    }

    fn guess(&mut self) -> String {
        format!("'{}'", self.pick(SAMPLE_TEXTS))
    }

    fn write_text(&mut self, depth: u32) -> String {
        if depth == 0 {
            let leaf = self.pick(&[
                "vars.s",
                "vars.s",
                "vars.p",
                "vars.t",
                "vars.map.k",
                "vars.pair.s",
                "vars.local",
                "vm.web.ip",
                "''",
            ]);
            return if leaf == "''" { self.guess() } else { leaf.to_owned() };
        }
        let d = depth - 1;
        match self.0.random_range(0..14) {
            0 => format!("({} + {})", self.write_text(d), self.write_text(d)),
            1 => format!("({} ? {} : {})", self.write_condition(d), self.write_text(d), self.write_text(d)),
            2 => format!("upperAscii({})", self.write_text(d)),
            3 => format!("{}.replace({}, {})", self.write_text(d), self.guess(), self.write_text(d)),
            4 => format!("base64({})", self.write_text(d)),
            5 => format!("sha256({})", self.write_text(d)),
            6 => format!("string({})", self.write_number(d)),
            7 => format!("{}.join('-')", self.list(d)),
            8 => format!("get({}, 'k', {})", self.map(d), self.write_text(d)),
            9 => format!("{}[{}]", self.list(d), self.write_number(d)),
            10 => format!("{}[{}]", self.map(d), self.write_text(d)),
            11 => format!("'%s!'.format([{}])", self.write_text(d)),
            12 => format!("{}.k", self.map(d)),
            _ => self.write_text(0),
        }
    }

    fn write_number(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.pick(&["0", "1", "2", "vars.n"]).to_owned();
        }
        let d = depth - 1;
        match self.0.random_range(0..7) {
            0 => format!("size({})", self.write_text(d)),
            1 => format!("size({})", self.list(d)),
            2 => format!("size({})", self.map(d)),
            3 => format!("int({})", self.write_text(d)),
            4 => format!("({} / {})", self.write_number(d), self.write_number(d)),
            5 => format!(
                "({} ? {} : {})",
                self.write_condition(d),
                self.write_number(d),
                self.write_number(d)
            ),
            _ => self.write_number(0),
        }
    }

    fn write_condition(&mut self, depth: u32) -> String {
        if depth == 0 {
            return format!("vars.s == {}", self.guess());
        }
        let d = depth - 1;
        match self.0.random_range(0..11) {
            0 => format!("({} == {})", self.write_text(d), self.write_text(d)),
            1 => format!("{}.startsWith({})", self.write_text(d), self.guess()),
            2 => format!("({} < {})", self.write_text(d), self.write_text(d)),
            3 => format!("({} && {})", self.write_condition(d), self.write_condition(d)),
            4 => format!("({} || {})", self.write_condition(d), self.write_condition(d)),
            5 => format!("!{}", self.write_condition(d)),
            6 => format!("({} in {})", self.write_text(d), self.list(d)),
            7 => format!("({} in {})", self.write_text(d), self.map(d)),
            8 => format!("{}.exists(x, x == {})", self.list(d), self.write_text(d)),
            9 => format!("has({}.k)", self.map(d)),
            _ => format!("({} == {})", self.list(d), self.list(d)),
        }
    }

    fn list(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self
                .pick(&["vars.list", "vars.secrets", "[vars.s, 'a']", "keys(vars.pair)"])
                .to_owned();
        }
        let d = depth - 1;
        match self.0.random_range(0..7) {
            0 => format!("[{}, {}]", self.write_text(d), self.write_text(d)),
            1 => format!("{}.split({})", self.write_text(d), self.guess()),
            2 => format!("{}.map(x, x + {})", self.list(d), self.write_text(d)),
            3 => format!("{}.filter(x, x == {})", self.list(d), self.write_text(d)),
            4 => format!("keys({})", self.map(d)),
            5 => format!("values({})", self.map(d)),
            _ => format!("({} ? {} : {})", self.write_condition(d), self.list(d), self.list(d)),
        }
    }

    fn map(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.pick(&["vars.map", "vars.pair", "{'k': vars.s}", "{}"]).to_owned();
        }
        let d = depth - 1;
        match self.0.random_range(0..4) {
            0 => format!("{{'k': {}, 'l': {}}}", self.write_text(d), self.write_text(d)),
            1 => format!("{{{}: {}}}", self.write_text(d), self.write_text(d)),
            2 => format!("({} ? {} : {})", self.write_condition(d), self.map(d), self.map(d)),
            _ => self.map(0),
        }
    }

    fn expression(&mut self) -> String {
        let depth = self.0.random_range(1..5);
        match self.0.random_range(0..5) {
            0 => self.write_text(depth),
            1 => self.write_number(depth),
            2 => self.write_condition(depth),
            3 => self.list(depth),
            _ => self.map(depth),
        }
    }
}

/// The variables that an expression can name, with the texts of two secrets.
fn secret_vars(s: &str, p: &str) -> ValueMap {
    let secret =
        |name: &str, text: &str| Value::Secret(Secret::new(text).named_after(&format!("vars.{name}")));
    let (s, p) = (secret("s", s), secret("p", p));
    let mut vars = ValueMap::from([
        ("n".into(), Value::Integer(2)),
        ("t".into(), Value::text("Hunter2")),
        ("list".into(), Value::List(vec!["a".into(), "Hunter2".into()])),
        ("map".into(), Value::Map([("k".into(), "v".into())].into())),
        ("pair".into(), Value::Map([("k".into(), "v".into()), ("s".into(), s.clone())].into())),
        ("secrets".into(), Value::List(vec![s.clone(), "a".into(), p.clone()])),
        ("s".into(), s),
        ("p".into(), p),
    ]);
    let mut scope = ExpressionScope::default();
    scope.roots.insert("vars".into(), CelValue::of_map(&vars));
    let local = evaluate_program(&CelProgram::parse("vars.s + '/' + vars.p").unwrap(), &scope).unwrap();
    drop(scope);
    vars.insert("local".into(), local);
    vars
}

/// The observable part of a result: everything except the fingerprints of the secrets themselves.
fn observable_result(source: &str, vars: &ValueMap) -> Result<serde_json::Value, EvaluationError> {
    fn without_fingerprints(value: &Value) -> serde_json::Value {
        match value {
            Value::Secret(Secret::Derived(derived)) => {
                format!("computed {}", derived.id(&FingerprintKey::NONE)).into()
            }
            Value::Secret(secret) => format!("secret {:?}", secret.name()).into(),
            Value::List(items) => items.iter().map(without_fingerprints).collect::<Vec<_>>().into(),
            Value::Map(map) => serde_json::Value::Object(
                map.iter().map(|(key, part)| (key.to_string(), without_fingerprints(part))).collect(),
            ),
            other => other.to_string().into(),
        }
    }
    let object = CelObject {
        address: Address::new("vm", "web"),
        attributes: [("ip".into(), Value::text("10.0.0.1"))].into(),
        complete: true,
    };
    let mut scope = ExpressionScope::default();
    scope.roots.insert("vars".into(), CelValue::of_map(vars));
    bind_path(&mut scope.roots, ["vm", "web"].into_iter(), CelValue::of_object(&object));
    let program = CelProgram::parse(source).map_err(|error| EvaluationError::Failed(error.message))?;
    evaluate_program(&program, &scope).map(|value| without_fingerprints(&value))
}

#[test]
fn two_secrets_yield_equal_results_or_one_error() {
    // To run more expressions, build the tests with STEAD_EXPRESSIONS set.
    let count: u64 = option_env!("STEAD_EXPRESSIONS").and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let pairs: Vec<(ValueMap, ValueMap)> = [
        (("Hunter2", "x"), ("other", "longer than the first")),
        (("7", "a"), ("", "7")),
        (("true", "Hu"), ("a", "a")),
    ]
    .map(|((s, p), (t, q))| (secret_vars(s, p), secret_vars(t, q)))
    .into();
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..count {
        let source = ExpressionGenerator(StdRng::seed_from_u64(seed)).expression();
        let (one, other) = &pairs[usize::try_from(seed % 3).unwrap()];
        let name: Name = Name::new(&source);
        let outcome = match (observable_result(&source, one), observable_result(&source, other)) {
            (Err(EvaluationError::Sensitive), Err(EvaluationError::Sensitive)) => "both fail",
            (Err(EvaluationError::Sensitive), Ok(seen)) | (Ok(seen), Err(EvaluationError::Sensitive)) => {
                assert!(seen.as_str().is_some_and(|seen| seen.starts_with("computed ")), "{name}: {seen}");
                "one fails"
            }
            (one, other) => {
                assert_eq!(one, other, "{name}");
                match one {
                    Ok(seen) if seen.as_str().is_some_and(|seen| seen.starts_with("computed ")) => {
                        "computed"
                    }
                    Ok(_) => "plain",
                    Err(_) => "wrong",
                }
            }
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    println!("{outcomes:?}");
    // A generator with only one kind of outcome would prove nothing.
    for outcome in ["both fail", "one fails", "computed", "plain"] {
        assert!(outcomes.get(outcome).is_some_and(|times| *times > count / 200), "{outcomes:?}");
    }
}
