//! The law: whatever can be written, and whatever code can be shown, can be explained.

use super::*;
use crate::kinds::REGISTRY;
use crate::model::schema::Type;

fn help(subject: &str) -> String {
    explain_subject(&REGISTRY, subject).unwrap_err().help
}

#[test]
fn every_kind_and_attribute_can_be_explained() {
    let mut count = 0;
    for kind in REGISTRY.kinds {
        assert!(
            matches!(explain_subject(&REGISTRY, kind.name), Ok(ExplainPage::Kind(page)) if page.kind == kind.name)
        );
        for attribute in kind.attributes {
            let path = format!("{}.{}", kind.name, attribute.name);
            let Ok(ExplainPage::Attribute(page)) = explain_subject(&REGISTRY, &path) else {
                panic!("{path}")
            };
            assert!(page.path == path && page.summary.ends_with('.') && !page.ty.is_empty(), "{page:?}");
            assert_eq!(page.change.is_some(), attribute.is_writable(), "{path}");
            if let Type::Record(parts) = attribute.ty {
                for (part, _) in parts {
                    assert!(explain_subject(&REGISTRY, &format!("{path}.{part}")).is_ok(), "{path}.{part}");
                }
            }
            count += 1;
        }
        if let Some((of, collection)) = kind.child_of() {
            let inside = explain_subject(&REGISTRY, &format!("{of}.{collection}"));
            assert!(matches!(inside, Ok(ExplainPage::Kind(page)) if page.kind == kind.name));
        }
    }
    assert!(count > 200, "{count}");
}

#[test]
fn every_code_can_be_explained() {
    let codes = all_codes(&REGISTRY);
    assert!(codes.len() > 150 && codes.is_sorted_by(|a, b| a < b), "{}", codes.len());
    for code in codes {
        let Ok(ExplainPage::Code(page)) = explain_subject(&REGISTRY, code) else { panic!("{code}") };
        assert!(page.meaning.ends_with('.') || page.meaning.ends_with('`'), "{page:?}");
        assert_eq!(page.place.is_some(), code.starts_with('R'), "{code}");
        assert!(!page.examples.is_empty(), "{code} has no example: codes.txt, or the corpus of rules");
    }
}

#[test]
fn a_misspelled_subject_gets_a_suggestion() {
    assert_eq!(help("databse.plan"), "Did you mean database.plan?");
    assert_eq!(help("database.storage"), "Did you mean database.storage_gb?");
    assert_eq!(help("app.autoscaling.min_replica"), "Did you mean app.autoscaling.min_replicas?");
    assert_eq!(help("lifecycl"), "Did you mean lifecycle?");
    assert_eq!(help("lifecycle.x"), "lifecycle exists, but has no `x`: stead explain lifecycle");
    assert_eq!(help("policies"), "Did you mean policy?");
    let paths =
        "Give its full path: policy.plan.changes[].due_now, policy.plan.due_now, policy.self.due_now";
    for subject in ["policy.due_now", "plan.due_now", "$policy.due_now"] {
        let paths =
            if subject == "plan.due_now" { "Give its full path: policy.plan.due_now" } else { paths };
        assert_eq!(help(subject), paths, "{subject}");
    }
    assert_eq!(help("self.action"), "Give its full path: policy.self.action");
    assert_eq!(help("cidrsubnet"), "Did you mean cidr_subnet?");
    assert_eq!(help("R0399"), "Did you mean R0301?");
    assert!(help("storage_gb").contains("database.storage_gb"));
    assert!(help("zzzzzz").contains("stead explain"));
    assert!(matches!(explain_subject(&REGISTRY, "r0301"), Ok(ExplainPage::Code(_))));
    assert!(
        matches!(explain_subject(&REGISTRY, "vm.vpc_id"), Ok(ExplainPage::Attribute(page)) if page.path == "vm.vpc")
    );
    assert!(matches!(explain_subject(&REGISTRY, "vm.lifecycle"), Ok(ExplainPage::Word(_))));
    assert!(matches!(explain_subject(&REGISTRY, "vm.lifecycle.protect"), Ok(ExplainPage::Word(_))));
    assert!(matches!(explain_subject(&REGISTRY, "$each.key"), Ok(ExplainPage::Word(_))));
    for (subject, word) in
        [("app.env_vars.exclusive", "exclusive"), ("exclusive", "exclusive"), ("set", "environments.set")]
    {
        assert!(
            matches!(explain_subject(&REGISTRY, subject), Ok(ExplainPage::Word(page)) if page.word == word)
        );
    }
    assert!(help("type").contains("app.type") && help("type").contains("vars.type"));
    assert!(matches!(explain_subject(&REGISTRY, "cidr_subnet"), Ok(ExplainPage::Function(_))));
    assert!(matches!(explain_subject(&REGISTRY, "protected"), Ok(ExplainPage::PlanCode(_))));
}

#[test]
fn an_attribute_page_matches_the_table() {
    let Ok(ExplainPage::Attribute(page)) = explain_subject(&REGISTRY, "database.plan") else { panic!() };
    assert_eq!(page.listed_by.as_deref(), Some("stead catalog database"));
    assert!(page.price.iter().any(|term| term.starts_with("monthly_price of its plan")), "{page:?}");
    assert!(page.rules.iter().any(|(code, _)| *code == "R0301"), "{page:?}");
    let Ok(ExplainPage::Kind(page)) = explain_subject(&REGISTRY, "database") else { panic!() };
    assert!(page.children.iter().any(|child| child.collection == "users"));
    assert!(page.actions.iter().any(|action| action.name == "restore"));
    assert!(
        page.requests
            .iter()
            .any(|one| one.name == "create" && one.request == "POST /api/v1/databases" && !one.assumed)
    );
}
