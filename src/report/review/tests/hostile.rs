//! Texts that would act: on a forge, in a browser, on a runner.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::{format, reviewed};
use crate::model::cel::policy::PolicyLevel;
use crate::model::values::value::Value;
use crate::plan::model::change::{Plan, PolicyResult, PolicyStatus};
use crate::report::tests::plans;
use crate::report::text::escape;

/// Texts of many trades.
const EVIL: &[&str] = &[
    "@team please ![x](https://evil.example/beacon.png) [click](javascript:alert(1))",
    "```\n</details><script>alert(1)</script>\n```",
    "`````\n# Heading\n",
    "| a | b |\n|---|---|",
    "<img src=x onerror=alert(1)> <!-- --> --> <b>",
    "</script><script>alert(2)</script>",
    "https://evil.example www.evil.example mailto:a@evil.example WWW.evil.example",
    "#1 GH-1 owner/repo#1 !1 :tada: &#64;team &lt;b&gt;",
    "a\u{1b}[31m\r\n::error::owned\u{202e}##[group]x\u{200b}",
    "::set-output name=x::y ##vso[task.setvariable]z",
    "  ::add-mask::\u{2066}x\u{9b}31m##[command]",
    "*a* _b_ ~~c~~ \\`d` `` ` `` [ref]: x",
    "\" onmouseover=\"alert(3)",
];

/// A plan in which every text is this one.
fn plan(evil: &str) -> Plan {
    let mut plan = plans::hostile();
    plan.base.stack = evil.into();
    plan.fingerprint = evil.into();
    for change in &mut plan.changes {
        change.reason = Some(evil.into());
        change.id = Some(evil.into());
        for effect in &mut change.effects {
            effect.text = evil.into();
        }
        for attribute in &mut change.attributes {
            attribute.path = evil.into();
            attribute.before = Value::text(evil);
            attribute.after = Value::text(format!("{evil} {evil}"));
            attribute.set_by = Some(Box::new(evil.into()));
        }
        if let Some(place) = &mut change.source {
            place.file = evil.into();
        }
    }
    for block in &mut plan.blocks {
        (block.text, block.help, block.code) = (evil.into(), evil.into(), evil.into());
    }
    for drift in &mut plan.drift {
        drift.path = Some(evil.into());
        (drift.live, drift.last_applied) = (Value::text(evil), Value::text(evil));
    }
    plan.policy.push(PolicyResult {
        name: evil.into(),
        address: None,
        level: PolicyLevel::Overridable,
        verdict: PolicyStatus::Deny,
        message: evil.into(),
        is_default: false,
        context: [("actor".into(), evil.into())].into(),
        source: None,
    });
    plan
}

#[test]
fn markdown_in_values_is_escaped() {
    for evil in EVIL {
        let text = format("md").render_plan(&reviewed(&plan(evil)));
        assert!(!text.chars().any(|c| c != '\n' && escape::acts_or_hides(c)), "{text}");
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let (mut code, mut headings) = (false, 0);
        for event in Parser::new_ext(&text, options) {
            match event {
                Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Emphasis | Tag::Strikethrough) => {
                    panic!("{evil}: {event:?}\n{text}")
                }
                Event::Start(Tag::Heading { .. }) => headings += 1,
                Event::Start(Tag::CodeBlock(kind)) => {
                    let known = ["diff", "mermaid"];
                    assert!(
                        matches!(&kind, CodeBlockKind::Fenced(name) if known.contains(&&**name)),
                        "{evil}: {kind:?}"
                    );
                    code = true;
                }
                Event::End(TagEnd::CodeBlock) => code = false,
                Event::Html(html) | Event::InlineHtml(html) => own(&html, evil),
                Event::Text(said) if !code => calls_nobody(&said, evil, &text),
                _ => {}
            }
        }
        assert_eq!(headings, 1, "{evil}\n{text}");
    }
}

/// The page's own HTML, and nothing else.
fn own(html: &str, evil: &str) {
    let html = html.trim();
    let known =
        ["<details>", "</details>", "<sub>", "</sub>", "<code>", "</code>", "<summary>", "</summary>"];
    let is_own = html.is_empty()
        || known.contains(&html)
        || html.starts_with("<!-- stead:") && html.matches("--").count() == 2
        || html.starts_with("<details><summary>")
            && html.ends_with("</summary>")
            && html.matches('<').count() == 3;
    assert!(is_own, "{evil}: {html}");
}

/// Text that is not code names nobody and links nowhere.
fn calls_nobody(said: &str, evil: &str, page: &str) {
    for sign in ["://", "www.", "WWW."] {
        assert!(!said.contains(sign), "{evil}: {said}");
    }
    // Within `<code>` a forge reads no names; the page writes them nowhere else.
    if said.contains('@') {
        assert!(page.contains("<code>"), "{evil}: {said}");
    }
}

#[test]
fn html_in_values_is_escaped() {
    for evil in EVIL {
        let text = format("html").render_plan(&reviewed(&plan(evil)));
        assert!(!text.chars().any(|c| c != '\n' && escape::acts_or_hides(c)), "{evil}");
        // Two scripts of its own, one style, and nothing that loads anything.
        assert_eq!(text.matches("<script").count(), 2, "{evil}");
        assert_eq!(text.matches("</script").count(), 2, "{evil}");
        for word in ["<img", "<link", "<iframe", "<b>", "url(", "@import", "<!--"] {
            assert!(!text.contains(word), "{evil}: {word}");
        }
        let tags =
            text.split('<').filter(|tag| !tag.starts_with('/')).map(|tag| tag.split('>').next().unwrap());
        for tag in tags {
            for word in [" onmouseover=", " onerror=", " src=", "href=\"http", "href=\"javascript"] {
                assert!(!tag.contains(word), "{evil}: <{tag}>");
            }
        }
        assert!(text.contains("default-src 'none'"));
    }
}

#[test]
fn hostile_values_leave_the_documents_valid() {
    for evil in EVIL {
        let plan = plan(evil);
        let of = reviewed(&plan);
        for format in ["json", "tfjson", "sarif", "gitlab", "codequality"].map(format) {
            let text = format.render_plan(&of);
            serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|e| panic!("{format}: {e}"));
            assert!(!text.contains("##[") && !text.chars().any(|c| c != '\n' && escape::acts_or_hides(c)));
        }
        let xml = format("junit").render_plan(&of);
        let unescaped =
            xml.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        assert!(!unescaped.chars().any(|c| c != '\n' && escape::acts_or_hides(c)), "{unescaped}");
        assert!(!unescaped.contains("##[") && !unescaped.contains("##vso["), "{unescaped}");
        // Quotes of the texts are entities: these begin an attribute or an element.
        assert!(!xml.contains("\"::") && !xml.contains(">::"), "{xml}");
        let mut reader = quick_xml::Reader::from_str(&xml);
        loop {
            match reader.read_event() {
                Ok(quick_xml::events::Event::Eof) => break,
                Ok(_) => {}
                Err(error) => panic!("{evil}: {error}"),
            }
        }
        for line in format("prom").render_plan(&of).lines() {
            let is_metric = line.starts_with('#') || line.starts_with("stead_");
            assert!(is_metric, "{evil}: {line}");
        }
    }
}
