//! The pages of `stead explain` as documents: kinds, attributes, keywords, functions and codes. The terminal and the site
//! show the same document, so that a code has one text. `explain_address` says where the site has a subject.

use super::document::{
    self, Block, Definition, ExampleKind, Inline, LabeledValue, PageContent, parse_backticks,
};
use crate::editor::explain::{
    AttributePage, AttributeRow, CodePage, ExplainPage, ExposurePage, ExposureRow, FactPage, FunctionPage,
    KeywordPage, KindPage, OperationRow, PlanCodePage,
};
use crate::model::cel::policy::find_fact;

/// Returns the document of an explanation.
#[must_use]
pub fn explain_document(page: &ExplainPage) -> PageContent {
    match page {
        ExplainPage::Kind(kind) => kind_document(kind),
        ExplainPage::Attribute(attribute) => attribute_document(attribute),
        ExplainPage::Code(code) => code_document(code),
        ExplainPage::Word(word) => word_document(word),
        ExplainPage::Function(function) => function_document(function),
        ExplainPage::PlanCode(code) => plan_code_document(code),
        ExplainPage::Exposures(page) => exposure_document(page),
        ExplainPage::Fact(fact) => fact_document(fact),
    }
}

/// Returns the address of an explanation in the documentation, with an anchor for a part of a page.
#[must_use]
pub fn explain_address(page: &ExplainPage) -> String {
    match page {
        ExplainPage::Kind(kind) => kind_address(kind.kind),
        ExplainPage::Attribute(attribute) => match attribute.path.split_once('.') {
            Some((kind, path)) => format!("{}#{path}", kind_address(kind)),
            None => kind_address(&attribute.path),
        },
        ExplainPage::Code(code) => code_address(code.code),
        ExplainPage::Word(word) => {
            // A word that several places allow is explained at the first.
            let full = word.places.first().map_or(word.word.as_str(), |(path, _)| path);
            word_address(full)
        }
        ExplainPage::Function(function) => format!("reference/functions#{}", function.function),
        ExplainPage::PlanCode(code) => format!("reference/plan-codes/{}", code.code),
        ExplainPage::Exposures(_) => "reference/exposures".to_owned(),
        ExplainPage::Fact(fact) => fact_address(&fact.fact),
    }
}

/// Returns the anchor of a fact on the page of all facts.
pub(super) fn fact_anchor(path: &str) -> String {
    path.replace("[]", "")
}

fn fact_address(path: &str) -> String {
    // An attribute has no place of its own there: that of what has it.
    let known = match (find_fact(path), path.rsplit_once('.')) {
        (None, Some((whole, _))) => whole,
        _ => path,
    };
    format!("reference/policy-facts#{}", fact_anchor(known))
}

/// Returns the address of a kind's page.
#[must_use]
pub fn kind_address(kind: &str) -> String {
    format!("reference/kinds/{kind}")
}

/// Returns the address of the page of a diagnostic's code.
#[must_use]
pub fn code_address(code: &str) -> String {
    format!("reference/diagnostics/{code}")
}

/// Returns the address of a keyword, by its full path.
#[must_use]
pub fn word_address(path: &str) -> String {
    match path.split_once('.') {
        Some((first, rest)) => format!("reference/language/{first}#{rest}"),
        None => format!("reference/language/{path}"),
    }
}

fn new_document(title: &str, summary: &str) -> PageContent {
    PageContent { title: title.to_owned(), summary: parse_backticks(summary), ..PageContent::default() }
}

fn snippet(text: &str, kind: ExampleKind) -> Block {
    let language = if kind == ExampleKind::Plain { "" } else { "yaml" };
    Block::code(language, text, kind)
}

/// Labeled values under construction; an empty value is left out.
#[derive(Default)]
struct ValueList(Vec<LabeledValue>);

impl ValueList {
    fn add(&mut self, label: &'static str, value: &str) {
        self.add_inlines(label, if value.is_empty() { Vec::new() } else { parse_backticks(value) });
    }

    fn add_all(&mut self, label: &'static str, values: impl IntoIterator<Item = impl AsRef<str>>) {
        let values: Vec<_> = values.into_iter().map(|value| parse_backticks(value.as_ref())).collect();
        if !values.is_empty() {
            self.0.push(LabeledValue { label, values });
        }
    }

    fn add_inlines(&mut self, label: &'static str, value: Vec<Inline>) {
        if !value.is_empty() {
            self.0.push(LabeledValue { label, values: vec![value] });
        }
    }

    fn push_to(self, blocks: &mut Vec<Block>) {
        if !self.0.is_empty() {
            blocks.push(Block::Values(self.0));
        }
    }
}

fn push_entries(blocks: &mut Vec<Block>, title: &str, entries: Vec<Definition>) {
    if !entries.is_empty() {
        blocks.push(Block::heading(2, title));
        blocks.push(Block::Definitions(entries));
    }
}

fn rule_entries(rules: &[(&str, &str)]) -> Vec<Definition> {
    rules.iter().map(|(code, says)| Definition::linked(*code, &code_address(code), says)).collect()
}

fn kind_document(kind: &KindPage) -> PageContent {
    let mut page = new_document(kind.kind, kind.summary);
    let mut facts = ValueList::default();
    facts.add_inlines("written", vec![Inline::code(kind.written.as_str())]);
    facts.add("belongs to", &kind.belongs_to);
    facts.add_all("costs a month", &kind.price);
    facts.add("replacement", &kind.replacement);
    facts.add_all("deletion", &kind.deletion);
    let [create, update, delete] = kind.seconds;
    facts.add("takes", &format!("about {create} s to create, {update} s to change, {delete} s to delete"));
    facts.push_to(&mut page.blocks);
    let address = kind_address(kind.kind);
    let rows = |rows: &[AttributeRow]| rows.iter().map(|row| attribute_entry(&address, row)).collect();
    push_entries(&mut page.blocks, "Attributes", rows(&kind.attributes));
    let children = kind.children.iter();
    let children = children
        .map(|child| Definition::linked(child.collection, &kind_address(child.kind), child.summary));
    push_entries(&mut page.blocks, "Children", children.collect());
    push_entries(&mut page.blocks, "Set by the service", rows(&kind.computed));
    push_entries(&mut page.blocks, "Rules", rule_entries(&kind.rules));
    push_entries(&mut page.blocks, "Actions (stead do)", operation_entries(&kind.actions));
    push_entries(&mut page.blocks, "Requests", operation_entries(&kind.requests));
    page
}

fn attribute_entry(address: &str, row: &AttributeRow) -> Definition {
    let mut text = parse_backticks(row.summary);
    let mut parts = vec![(false, row.ty.clone())];
    parts.extend(row.required.then(|| (true, "required".to_owned())));
    parts.extend(row.default.as_ref().map(|default| (false, format!("default {default}"))));
    parts.extend(row.replaces.then(|| (true, "a change replaces".to_owned())));
    let last = parts.len() - 1;
    for (at, (is_notable, part)) in parts.into_iter().enumerate() {
        let part = format!(" {part}{}", if at < last { "," } else { "" });
        text.push(if is_notable { Inline::Notable(part) } else { Inline::Faint(part) });
    }
    Definition { text, ..Definition::linked(row.name, &format!("{address}#{}", row.name), "") }
}

fn operation_entries(rows: &[OperationRow]) -> Vec<Definition> {
    let line = |row: &OperationRow| {
        let mut text = parse_backticks(row.summary);
        if !text.is_empty() {
            text.push(Inline::text(" "));
        }
        let assumed = if row.assumed { " (assumed)" } else { "" };
        text.push(Inline::Faint(format!("{}{assumed}", row.request)));
        Definition { text, ..Definition::new(row.name, "") }
    };
    rows.iter().map(line).collect()
}

/// Returns the facts of an attribute and the rules about it.
pub(super) fn attribute_blocks(attribute: &AttributePage) -> Vec<Block> {
    let mut facts = ValueList::default();
    facts.add("type", &attribute.ty);
    facts.add("takes", attribute.limits.as_deref().unwrap_or_default());
    facts.add("presence", attribute.presence);
    facts.add_inlines("default", attribute.default.iter().map(Inline::code).collect());
    facts.add("change", attribute.change.as_deref().unwrap_or_default());
    facts.add_all("calls", &attribute.calls);
    facts.add_inlines("API's name", vec![Inline::code(attribute.wire)]);
    let secret = if attribute.secret { "yes: never shown, recorded by its fingerprint" } else { "" };
    facts.add("secret", secret);
    facts.add_all("price", &attribute.price);
    facts.add_inlines("names", attribute.listed_by.iter().map(Inline::code).collect());
    let known = if attribute.assumed {
        "assumed: the service's document does not specify it"
    } else {
        "documented"
    };
    facts.add("known", known);
    let mut blocks = Vec::new();
    facts.push_to(&mut blocks);
    blocks
}

fn attribute_document(attribute: &AttributePage) -> PageContent {
    let mut page = new_document(&attribute.path, attribute.summary);
    page.blocks = attribute_blocks(attribute);
    push_entries(&mut page.blocks, "Rules", rule_entries(&attribute.rules));
    page
}

fn code_document(code: &CodePage) -> PageContent {
    let mut page = new_document(code.code, code.meaning);
    let mut facts = ValueList::default();
    facts.add("found", code.found);
    facts.add_inlines(
        "kind",
        code.kind.iter().map(|kind| Inline::link(&kind_address(kind), *kind)).collect(),
    );
    facts.add("specified in", code.place.unwrap_or_default());
    facts.add("what to do", code.remedy.unwrap_or_default());
    facts.push_to(&mut page.blocks);
    for example in &code.examples {
        if let Some(before) = example.before {
            page.blocks.extend([Block::heading(2, "Before"), snippet(before, ExampleKind::Plain)]);
        }
        page.blocks
            .extend([Block::heading(2, "Wrong"), snippet(example.wrong, ExampleKind::Rejected(None))]);
        page.blocks.extend([Block::heading(2, "Right"), snippet(example.right, ExampleKind::Accepted)]);
    }
    document::number_repeated_anchors(&mut page.blocks);
    page
}

/// Returns the entries and the example of a keyword.
pub(super) fn word_blocks(word: &KeywordPage) -> Vec<Block> {
    let mut blocks = Vec::new();
    let inner = word.words.iter().map(|(name, text)| {
        let address = word_address(&format!("{}.{name}", word.word));
        Definition::linked(*name, &address, text)
    });
    push_entries(&mut blocks, "Keywords inside", inner.collect());
    push_entries(&mut blocks, "Facts in its condition", fact_definitions(&word.facts));
    if !word.places.is_empty() {
        let places = word.places.iter();
        let places =
            places.map(|(path, text)| Definition::linked(path.as_str(), &word_address(path), text));
        blocks.push(Block::Definitions(places.collect()));
        return blocks;
    }
    blocks.extend([Block::heading(2, "Example"), snippet(&word.example, ExampleKind::Accepted)]);
    blocks
}

fn word_document(word: &KeywordPage) -> PageContent {
    let mut page = new_document(&word.word, &word.summary);
    page.blocks = word_blocks(word);
    page
}

/// Returns the usage and the example of a function.
pub(super) fn function_blocks(function: &FunctionPage) -> Vec<Block> {
    let mut usage = ValueList::default();
    usage.add_inlines("written", vec![Inline::code(function.usage)]);
    let mut blocks = Vec::new();
    usage.push_to(&mut blocks);
    blocks.extend([Block::heading(2, "Example"), snippet(&function.example, ExampleKind::Accepted)]);
    let mut result = ValueList::default();
    if !function.gives.is_empty() {
        result.add_inlines("gives", vec![Inline::code(function.gives)]);
    }
    result.push_to(&mut blocks);
    blocks
}

fn exposure_document(exposures: &ExposurePage) -> PageContent {
    let mut page = new_document("Exposures", exposures.summary);
    let entry = |row: &ExposureRow| {
        let text = format!("{} ({})", row.meaning.trim_end_matches('.'), row.kinds.join(", "));
        Definition::linked(row.code, &code_address(row.code), &text)
    };
    page.blocks.push(Block::Definitions(exposures.exposures.iter().map(entry).collect()));
    page.blocks.push(Block::heading(2, "Not checked"));
    page.blocks.push(Block::Paragraph(parse_backticks(exposures.not_checked)));
    page.blocks.extend([Block::heading(2, "Allow one"), snippet(exposures.example, ExampleKind::Accepted)]);
    page
}

/// Returns the type of a fact and when it is known.
pub(super) fn fact_blocks(fact: &FactPage) -> Vec<Block> {
    let mut values = ValueList::default();
    values.add("type", &fact.ty);
    values.add("known", fact.known);
    let mut blocks = Vec::new();
    values.push_to(&mut blocks);
    blocks
}

fn fact_document(fact: &FactPage) -> PageContent {
    let mut page = new_document(&format!("policy.{}", fact.fact), &fact.summary);
    page.blocks = fact_blocks(fact);
    push_entries(&mut page.blocks, "Facts inside", fact_definitions(&fact.facts));
    page
}

fn fact_definitions(facts: &[(&'static str, &'static str)]) -> Vec<Definition> {
    let definition = |(path, summary): &(&'static str, &'static str)| {
        Definition::linked(*path, &fact_address(path), summary)
    };
    facts.iter().map(definition).collect()
}

fn function_document(function: &FunctionPage) -> PageContent {
    let mut page = new_document(function.function, function.summary);
    page.blocks = function_blocks(function);
    page
}

/// Guides for codes of plans: what to do is more than a sentence.
pub(super) const CODE_GUIDES: &[(&str, &str)] = &[
    ("adopt", "how-to/import-one-object"),
    ("data_loss", "how-to/delete-data"),
    ("deletion_budget", "how-to/delete-data"),
    ("exists", "how-to/import-one-object"),
    ("failed", "how-to/replace-safely"),
    ("grow_only", "how-to/replace-safely"),
    ("holds_data", "how-to/delete-data"),
    ("late_effect", "how-to/survive-an-outage"),
    ("ledger_lost", "how-to/recover-a-lost-ledger"),
    ("moved", "how-to/rename-without-replacement"),
    ("other_directory", "how-to/move-a-ledger"),
    ("policy", "how-to/budgets-and-freezes"),
    ("protected", "how-to/delete-data"),
    ("provisional", "how-to/survive-an-outage"),
    ("question", "how-to/survive-an-outage"),
    ("recipient_refused", "how-to/keep-secrets-in-the-ledger"),
    ("recipients_changed", "how-to/keep-secrets-in-the-ledger"),
    ("replace_never", "how-to/replace-safely"),
    ("secret_lost", "how-to/keep-secrets-in-the-ledger"),
    ("sink_occupied", "how-to/secrets-from-a-vault"),
];

fn plan_code_document(code: &PlanCodePage) -> PageContent {
    let mut page = new_document(&code.code, &code.meaning);
    let mut facts = ValueList::default();
    facts.add("appears in", code.stands);
    facts.add("what to do", code.remedy);
    if let Some((_, guide)) = CODE_GUIDES.iter().find(|(known, _)| *known == code.code) {
        let name = guide.rsplit('/').next().unwrap_or_default();
        facts.add_inlines("guide", vec![Inline::link(guide, format!("stead docs {name}"))]);
    }
    facts.push_to(&mut page.blocks);
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::explain;

    #[test]
    fn every_guide_is_for_a_code_of_plans() {
        let codes = explain::plan_codes();
        for (code, _) in CODE_GUIDES {
            assert!(codes.iter().any(|known| known == code), "{code}");
        }
        assert!(CODE_GUIDES.is_sorted());
    }
}
