//! `FaultPlan`: which requests fail and how, chosen by route and by probability or count, from a seed. It only
//! decides; the server carries the faults out. The same requests in the same order fail in the same way.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::seeded_rng;
use crate::model::schema::Method;

/// How an injected fault changes the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request is not handled; the response has this status and the service's error envelope.
    Status(u16),
    /// The connection is reset before the request is handled.
    ResetBefore,
    /// The request is handled, and the connection is reset before the answer.
    ResetAfter,
    /// The request is handled at once; its response is delayed by this duration.
    Delay(Duration),
    /// The request is handled; the connection breaks after half of the response body.
    Truncate,
    /// The request is handled; the response body is not valid JSON.
    Malformed,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "{status}"),
            Self::ResetBefore => f.write_str("reset-before"),
            Self::ResetAfter => f.write_str("reset-after"),
            Self::Delay(time) => write!(f, "delay-{}ms", time.as_millis()),
            Self::Truncate => f.write_str("truncate"),
            Self::Malformed => f.write_str("malformed"),
        }
    }
}

/// How many of the matching requests fail.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FaultAmount {
    /// This fraction of the matching requests, from 0 to 1, chosen at random.
    Share(f64),
    /// The next matching requests; the number decreases with each, and at 0 the rule has no effect.
    Next(u64),
}

/// One rule of the plan, written as `POST /vms=503:10%`.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultRule {
    method: Option<Method>,
    path: String,
    fault: Fault,
    amount: FaultAmount,
}

/// Why a string is not a rule; the message shows the string and the syntax.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not a fault: {reason}. Write [METHOD] PATH=FAULT[:AMOUNT], such as `POST /vms=503:10%`, `GET *=delay-200ms` or `POST /databases=reset-after:1`"
)]
pub struct FaultRuleError {
    text: String,
    reason: &'static str,
}

/// Longest delay: ten minutes.
const MAX_DELAY_MILLIS: u64 = 600_000;

impl FromStr for FaultRule {
    type Err = FaultRuleError;

    fn from_str(text: &str) -> Result<Self, FaultRuleError> {
        let wrong = |reason| FaultRuleError { text: text.to_owned(), reason };
        let (route, what) = text.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
        let (method, path) = match route.trim().split_once(char::is_whitespace) {
            Some((word, path)) => (parse_method(word).map_err(wrong)?, path.trim()),
            None => (None, route.trim()),
        };
        let path = match path {
            "*" => "*".to_owned(),
            _ if path.starts_with("/api/") || path.starts_with("/health") || path.starts_with("/ready") => {
                path.to_owned()
            }
            _ if path.starts_with('/') => format!("/api/v1{path}"),
            _ => return Err(wrong("its path must begin with `/`, or be `*`")),
        };
        let (fault, amount) = what.trim().split_once(':').unwrap_or((what.trim(), "100%"));
        Ok(Self {
            method,
            path,
            fault: fault_of(fault).map_err(wrong)?,
            amount: amount_of(amount).map_err(wrong)?,
        })
    }
}

fn parse_method(word: &str) -> Result<Option<Method>, &'static str> {
    let known = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
    match known.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(word)) {
        None if word != "*" => Err("its method must be GET, POST, PUT, PATCH, DELETE or *"),
        found => Ok(found),
    }
}

fn fault_of(word: &str) -> Result<Fault, &'static str> {
    match word {
        "402" => Ok(Fault::Status(402)),
        "403" => Ok(Fault::Status(403)),
        "412" => Ok(Fault::Status(412)),
        "429" => Ok(Fault::Status(429)),
        "500" => Ok(Fault::Status(500)),
        "503" => Ok(Fault::Status(503)),
        "reset-before" => Ok(Fault::ResetBefore),
        "reset-after" => Ok(Fault::ResetAfter),
        "truncate" => Ok(Fault::Truncate),
        "malformed" => Ok(Fault::Malformed),
        _ => {
            let time = word.strip_prefix("delay-").ok_or(
                "the fault must be one of 402, 403, 412, 429, 500, 503, reset-before, reset-after, truncate, malformed or delay-…",
            )?;
            let millis = match (time.strip_suffix("ms"), time.strip_suffix('s')) {
                (Some(number), _) => number.parse().ok(),
                (None, Some(number)) => number.parse::<u64>().ok().and_then(|n| n.checked_mul(1_000)),
                (None, None) => None,
            };
            let millis = millis.filter(|millis| *millis <= MAX_DELAY_MILLIS);
            millis
                .map(|millis| Fault::Delay(Duration::from_millis(millis)))
                .ok_or("a delay is a whole number of ms or s, at most 600s, such as delay-200ms")
        }
    }
}

fn amount_of(word: &str) -> Result<FaultAmount, &'static str> {
    let reason = "its amount must be a percentage from 0% to 100%, or how many requests";
    match word.strip_suffix('%') {
        Some(number) => match number.trim().parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(FaultAmount::Share(percent / 100.0)),
            _ => Err(reason),
        },
        None => word.trim().parse().map(FaultAmount::Next).map_err(|_| reason),
    }
}

impl fmt::Display for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = self.method.map_or("*", Method::as_str);
        write!(f, "{method} {}={}:", self.path, self.fault)?;
        match self.amount {
            FaultAmount::Share(share) => write!(f, "{}%", share * 100.0),
            FaultAmount::Next(count) => write!(f, "{count}"),
        }
    }
}

impl Serialize for FaultRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FaultRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FaultRule {
    /// Returns whether the rule is about this request. A path without a wildcard must match in full.
    fn matches_request(&self, method: Method, path: &str) -> bool {
        if self.method.is_some_and(|wanted| wanted != method) {
            return false;
        }
        if self.path == "*" {
            return true;
        }
        let mut parts = path.split('/');
        for wanted in self.path.split('/') {
            match (wanted, parts.next()) {
                ("**", Some(_)) => return true,
                ("*", Some(_)) => {}
                (wanted, Some(_)) if wanted.starts_with('{') => {}
                (wanted, Some(part)) if wanted == part => {}
                _ => return false,
            }
        }
        parts.next().is_none()
    }
}

/// The faults to inject. In a rule's path `*` and `{…}` match one segment, `**` matches the rest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    /// Seed of the pseudo-random choices.
    #[serde(default)]
    pub seed: u64,
    /// The rules, in order; the first matching rule that causes a fault wins.
    #[serde(default)]
    pub rules: Vec<FaultRule>,
    /// How many pseudo-random numbers were drawn; a plan that is read or exported starts again at 0.
    #[serde(skip)]
    drawn: u64,
}

impl FaultPlan {
    /// Returns a plan that applies these rules with this seed.
    #[must_use]
    pub fn new(seed: u64, rules: Vec<FaultRule>) -> Self {
        Self { seed, rules, drawn: 0 }
    }

    /// Decides whether one request fails, and how; `None` if it succeeds. `path` is the request's path, without its
    /// query. The result depends on the seed, the rules and the earlier requests only.
    pub fn decide_fault(&mut self, method: Method, path: &str) -> Option<Fault> {
        for rule in self.rules.iter_mut().filter(|rule| rule.matches_request(method, path)) {
            match &mut rule.amount {
                FaultAmount::Next(0) => {}
                FaultAmount::Next(left) => {
                    *left -= 1;
                    return Some(rule.fault);
                }
                FaultAmount::Share(share) => {
                    self.drawn += 1;
                    if seeded_rng::nth_fraction(self.seed, self.drawn) < *share {
                        return Some(rule.fault);
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rules: &[&str]) -> FaultPlan {
        FaultPlan::new(7, rules.iter().map(|rule| rule.parse().unwrap()).collect())
    }

    #[test]
    fn fault_rules_are_parsed_and_formatted() {
        for (text, shown) in [
            ("POST /vms=503:10%", "POST /api/v1/vms=503:10%"),
            ("POST /backups=402:1", "POST /api/v1/backups=402:1"),
            ("*=reset-before", "* *=reset-before:100%"),
            ("get /vms/{id}=delay-2s:3", "GET /api/v1/vms/{id}=delay-2000ms:3"),
            ("/api/v1/volumes/**=malformed:0%", "* /api/v1/volumes/**=malformed:0%"),
        ] {
            let rule: FaultRule = text.parse().unwrap();
            assert_eq!(rule.to_string(), shown);
            assert_eq!(rule.to_string().parse::<FaultRule>().unwrap(), rule);
        }
    }

    #[test]
    fn an_invalid_fault_rule_is_rejected_with_a_reason() {
        for (text, reason) in [
            ("POST /vms", "no `=`"),
            ("FETCH /vms=500", "method"),
            ("vms=500", "begin with `/`"),
            ("/vms=404", "must be one of 402"),
            ("/vms=401", "must be one of 402"),
            ("/vms=500:101%", "percentage"),
            ("/vms=500:NaN%", "percentage"),
            ("/vms=500:-1", "percentage"),
            ("/vms=delay-5", "whole number"),
            ("/vms=delay-9999999s", "at most 600s"),
        ] {
            let error = text.parse::<FaultRule>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(text), "{error}");
        }
    }

    #[test]
    fn a_counted_fault_applies_to_the_next_matching_requests() {
        let mut plan = plan(&["POST /vms=500:2"]);
        assert_eq!(plan.decide_fault(Method::Get, "/api/v1/vms"), None);
        assert_eq!(plan.decide_fault(Method::Post, "/api/v1/vms/x"), None);
        let struck: Vec<_> = (0..3).map(|_| plan.decide_fault(Method::Post, "/api/v1/vms")).collect();
        assert_eq!(struck, [Some(Fault::Status(500)), Some(Fault::Status(500)), None]);
    }

    #[test]
    fn a_percentage_fault_applies_to_a_reproducible_share() {
        let run = || {
            let mut plan = plan(&["*=503:25%"]);
            (0..4_000).map(|_| plan.decide_fault(Method::Get, "/health").is_some()).collect::<Vec<_>>()
        };
        let struck = run().into_iter().filter(|struck| *struck).count();
        assert!((900..1_100).contains(&struck), "{struck}");
        assert_eq!(run(), run());
        assert_eq!(plan(&["*=503:0%"]).decide_fault(Method::Get, "/"), None);
        assert!(plan(&["*=503:100%"]).decide_fault(Method::Get, "/").is_some());
    }

    #[test]
    fn wildcards_match_path_segments() {
        let mut plan = plan(&["/vms/{id}/start=500", "/volumes/**=503", "/databases/*=429"]);
        let mut decide = |path| plan.decide_fault(Method::Post, path);
        assert_eq!(decide("/api/v1/vms/1/start"), Some(Fault::Status(500)));
        assert_eq!(decide("/api/v1/vms/1/stop"), None);
        assert_eq!(decide("/api/v1/volumes/1/attach"), Some(Fault::Status(503)));
        assert_eq!(decide("/api/v1/databases/1"), Some(Fault::Status(429)));
        assert_eq!(decide("/api/v1/databases"), None);
    }
}
