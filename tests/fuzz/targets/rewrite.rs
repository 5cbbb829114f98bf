//! Rewriting: a file keeps its meaning when it is formatted, converted to the other syntax, or edited, except for what
//! the edit changes.

use stead::config;
use stead::config::convert::SourceFormat;
use stead::config::edit::{ConfigLiteral, Edit, EditPath, EditableFile, apply_edits};
use stead::config::format::{convert_file, format_file};
use stead::config::syntax::decode::decode_utf8;
use stead::config::syntax::document::Syntax;
use stead::kinds::REGISTRY;
use stead::model::source::{Source, SourceId};

pub fn yaml(bytes: &[u8]) {
    rewrite("stead.yaml", bytes, Syntax::Kdl);
    let Ok(text) = decode_utf8(SourceId(0), bytes.to_vec()) else { return };
    let source = Source::new("other.yaml", text);
    for origin in [SourceFormat::Compose, SourceFormat::Render, SourceFormat::AppSpec] {
        let _ = config::convert::convert_foreign_file(&source, origin, "stack", Syntax::Kdl, &REGISTRY);
    }
}

pub fn kdl(bytes: &[u8]) {
    rewrite("stead.kdl", bytes, Syntax::Yaml);
}

fn rewrite(path: &str, bytes: &[u8], to: Syntax) {
    let Ok(text) = decode_utf8(SourceId(0), bytes.to_vec()) else { return };
    let source = Source::new(path, text.as_str());
    let file = EditableFile { source: &source, registry: &REGISTRY };
    if let Ok(once) = format_file(&file) {
        let source = Source::new(path, once.as_str());
        let twice = format_file(&EditableFile { source: &source, registry: &REGISTRY });
        assert_eq!(twice.as_deref(), Ok(once.as_str()), "the canonical form settles");
    }
    let _ = convert_file(&file, to);
    let word =
        text.split(|c: char| !c.is_ascii_alphanumeric()).find(|word| !word.is_empty()).unwrap_or("a");
    let path = || EditPath::from_text(word);
    for one in [
        Edit::Set(path(), ConfigLiteral::text("a b")),
        Edit::Set(path().with_key("k"), ConfigLiteral::Number("1".into())),
        Edit::Append(path(), ConfigLiteral::Boolean(true)),
        Edit::Remove(path()),
        Edit::Rename(path(), "renamed".into()),
        Edit::Redirect(vec![(format!("{word}.a").into(), "vpc.b-c".into())]),
    ] {
        let _ = apply_edits(&file, &[one]);
    }
}
