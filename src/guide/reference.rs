//! Reference pages that derive from the tables of the kinds and of the language: one page for each kind with all its
//! attributes, keyword, code of a diagnostic and code of a plan, one for the functions, and an index of each group.

use super::document::{Block, Definition, Inline, PageContent, parse_backticks};
use super::explained::{self, explain_address, explain_document};
use super::library::Page;
use crate::editor::explain::{self, ExplainPage, KeywordPage};
use crate::model::schema::{Attribute, Kind, Registry, Type};

/// Returns the reference pages of a registry and of the language.
#[must_use]
pub fn registry_pages(registry: &Registry) -> Vec<Page> {
    let index = explain::build_index(registry);
    let mut pages: Vec<Page> = registry.kinds.iter().filter_map(|kind| kind_page(registry, kind)).collect();
    pages.extend(index.words.iter().filter_map(|(word, _)| word_page(registry, word)));
    pages.extend(index.codes.iter().filter_map(|(code, _)| subject_page(registry, code)));
    let plan_codes: Vec<ExplainPage> =
        explain::plan_codes().iter().filter_map(|code| explain::explain_plan_code(code)).collect();
    pages.extend(plan_codes.iter().map(explained_page));
    pages.push(function_page(registry, &index.functions));
    pages.push(fact_page(registry));
    pages.extend(subject_page(registry, "exposure"));
    pages.push(index_page(
        "reference/kinds/index",
        "Kinds",
        "Every kind of resource, each with its attributes, rules, price, actions and requests.",
        kind_entries(&index.kinds),
    ));
    pages.push(index_page(
        "reference/language/index",
        "Keywords of the language",
        "Every keyword and block of a stack's files.",
        word_entries(registry, &index.words),
    ));
    pages.push(index_page(
        "reference/diagnostics/index",
        "Diagnostics",
        "Every code of a diagnostic: what it means, where it is found, and a wrong and a right configuration.",
        index.codes.iter().map(|(code, text)| Definition::linked(*code, &explained::code_address(code), text)).collect(),
    ));
    pages.push(plan_code_index(&plan_codes));
    pages
}

fn kind_entries(kinds: &[(&str, &str)]) -> Vec<Definition> {
    kinds
        .iter()
        .map(|(kind, text)| Definition::linked(*kind, &explained::kind_address(kind), text))
        .collect()
}

/// Returns the entries of keywords. A keyword that is also a kind is explained as the kind.
fn word_entries(registry: &Registry, words: &[(&str, &str)]) -> Vec<Definition> {
    let address = |word: &str| match explain::explain_subject(registry, word) {
        Ok(page) => explain_address(&page),
        Err(_) => explained::word_address(word),
    };
    words.iter().map(|(word, text)| Definition::linked(*word, &address(word), text)).collect()
}

/// Returns a page that lists other pages.
#[must_use]
pub fn index_page(address: &str, title: &str, summary: &str, entries: Vec<Definition>) -> Page {
    let document = PageContent {
        title: title.to_owned(),
        summary: parse_backticks(summary),
        blocks: vec![Block::Definitions(entries)],
        ..PageContent::default()
    };
    Page::derived(address, document)
}

/// Returns the page of one explanation; `None` if the subject is unknown, which a test excludes.
fn subject_page(registry: &Registry, subject: &str) -> Option<Page> {
    explain::explain_subject(registry, subject).ok().map(|page| explained_page(&page))
}

fn explained_page(page: &ExplainPage) -> Page {
    Page::derived(&explain_address(page), explain_document(page))
}

/// Returns the page of a kind: what `explain` says of the kind, and below it what it says of each attribute and of the
/// parts of each.
fn kind_page(registry: &Registry, kind: &'static Kind) -> Option<Page> {
    let mut page = subject_page(registry, kind.name)?;
    let blocks = &mut page.content.blocks;
    blocks.push(Block::heading(2, "Attributes in detail"));
    for attribute in kind.attributes {
        for path in attribute_paths(attribute) {
            push_attribute(registry, kind, &path, blocks);
        }
    }
    Some(page)
}

/// Returns the path of an attribute, and those of its parts.
fn attribute_paths(attribute: &Attribute) -> Vec<String> {
    let parts = match attribute.ty {
        Type::Record(fields) => {
            fields.iter().map(|(part, _)| format!("{}.{part}", attribute.name)).collect()
        }
        _ => Vec::new(),
    };
    std::iter::once(attribute.name.to_owned()).chain(parts).collect()
}

fn push_attribute(registry: &Registry, kind: &Kind, path: &str, blocks: &mut Vec<Block>) {
    let subject = format!("{}.{path}", kind.name);
    if let Ok(ExplainPage::Attribute(attribute)) = explain::explain_subject(registry, &subject) {
        let text = vec![Inline::code(path)];
        blocks.push(Block::Heading { level: 3, text, anchor: path.to_owned() });
        blocks.push(Block::Paragraph(parse_backticks(attribute.summary)));
        blocks.extend(explained::attribute_blocks(&attribute));
        if !attribute.rules.is_empty() {
            let mut line = vec![Inline::text("Rules: ")];
            for (at, (code, _)) in attribute.rules.iter().enumerate() {
                line.extend((at > 0).then(|| Inline::text(", ")));
                line.push(Inline::link(&explained::code_address(code), *code));
            }
            blocks.push(Block::Paragraph(line));
        }
    }
}

/// Returns the page of a keyword, and below it the keywords that are allowed inside; `None` if it is also a kind.
fn word_page(registry: &Registry, word: &str) -> Option<Page> {
    let explained = explain::explain_subject(registry, word).ok()?;
    let ExplainPage::Word(keyword) = &explained else { return None };
    let mut page = explained_page(&explained);
    push_inner_words(registry, word, keyword, &mut page.content.blocks);
    Some(page)
}

/// Adds the keywords inside a keyword, each with its summary, and those inside of them.
fn push_inner_words(registry: &Registry, top: &str, word: &KeywordPage, blocks: &mut Vec<Block>) {
    for (name, _) in &word.words {
        let path = format!("{}.{name}", word.word);
        let Ok(ExplainPage::Word(inner)) = explain::explain_subject(registry, &path) else { continue };
        let anchor = path[top.len() + 1..].to_owned();
        blocks.push(Block::Heading { level: 3, text: vec![Inline::code(path.as_str())], anchor });
        blocks.push(Block::Paragraph(parse_backticks(&inner.summary)));
        push_inner_words(registry, top, &inner, blocks);
    }
}

fn function_page(registry: &Registry, functions: &[(&'static str, &'static str)]) -> Page {
    let mut blocks = Vec::new();
    for (name, summary) in functions {
        // The brackets tell a function from a code of the same name.
        let call = format!("{name}()");
        let Ok(ExplainPage::Function(function)) = explain::explain_subject(registry, &call) else {
            continue;
        };
        blocks.push(Block::Heading {
            level: 2,
            text: vec![Inline::code(*name)],
            anchor: (*name).to_owned(),
        });
        blocks.push(Block::Paragraph(parse_backticks(summary)));
        let facts = explained::function_blocks(&function);
        blocks.extend(facts.into_iter().filter(|block| !matches!(block, Block::Heading { .. })));
    }
    let document = PageContent {
        title: "Functions of expressions".to_owned(),
        summary: parse_backticks(
            "Functions and macros of the expressions between `${` and `}`, each with an example and its result.",
        ),
        keywords: "CEL string list map regex date network math".to_owned(),
        blocks,
    };
    Page::derived("reference/functions", document)
}

fn fact_page(registry: &Registry) -> Page {
    let mut blocks = Vec::new();
    for subject in explain::policy_facts() {
        let Ok(ExplainPage::Fact(fact)) = explain::explain_subject(registry, &subject) else { continue };
        let text = vec![Inline::code(&*fact.fact)];
        blocks.push(Block::Heading { level: 2, text, anchor: explained::fact_anchor(&fact.fact) });
        blocks.push(Block::Paragraph(parse_backticks(&fact.summary)));
        blocks.extend(explained::fact_blocks(&fact));
    }
    let document = PageContent {
        title: "Facts of policies".to_owned(),
        summary: parse_backticks(
            "Everything that the condition of a `policy` can read: each fact with its type, and when it is known.",
        ),
        keywords: "policy as code deny condition time actor branch cost effects before after".to_owned(),
        blocks,
    };
    Page::derived("reference/policy-facts", document)
}

fn plan_code_index(codes: &[ExplainPage]) -> Page {
    let entries = codes.iter().filter_map(|code| match code {
        ExplainPage::PlanCode(page) => {
            Some(Definition::linked(&page.code, &explain_address(code), &page.meaning))
        }
        _ => None,
    });
    index_page(
        "reference/plan-codes/index",
        "Codes of plans",
        "Every blocker, which keeps a plan from being applied, and every effect of a change.",
        entries.collect(),
    )
}
