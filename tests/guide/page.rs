//! The fenced blocks of a page, with the line of each, and the comments that a reader does not see.
//!
//! The info string of a block is its language and what a test does with it:
//!
//! | info string | the test |
//! |---|---|
//! | `console` | runs each line that begins with `$ ` and compares what it prints; `…` alone on a line stands for any lines. `exit=4` asks for that exit code of the block's last command, `background` leaves a server running |
//! | `yaml file=PATH`, any language | writes the block to this file before what follows |
//! | `diff file=PATH` | applies the difference to this file |
//! | `yaml`, `kdl` | validates the block as a stack, or as a part of one |
//! | `yaml in=DIR` | validates the block as one more file of the stack in this directory |
//! | `yaml wrong=CODE` | expects this diagnostic |
//! | `json` | parses the block |
//! | `text`, `hcl`, `typescript`, … | nothing: what other programs read, and excerpts |
//!
//! A comment `<!-- run` … `-->` is a script that runs in its place, for what a reader has and the test has not.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// Languages of blocks that stead does not read.
const FOREIGN: &[&str] =
    &["text", "hcl", "typescript", "python", "lua", "sql", "dockerfile", "ini", "html"];

/// A page, and what a test does with its blocks, in order.
pub struct Page {
    pub name: String,
    pub steps: Vec<Step>,
    pub problems: Vec<String>,
}

/// A block or comment of a page.
pub struct Step {
    /// Line of the page on which the block's text begins.
    pub line: usize,
    /// Range of the block's text in the page.
    pub range: std::ops::Range<usize>,
    pub text: String,
    pub action: Action,
}

/// What a test does with a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Console { exit: i32, background: bool },
    Script,
    Write(String),
    Patch(String),
    Validate { kdl: bool, inside: Option<String>, wrong: Option<String> },
    Json,
    Nothing,
}

impl Page {
    pub fn parse(name: &str, text: &str) -> Self {
        let mut page = Self { name: name.to_owned(), steps: Vec::new(), problems: Vec::new() };
        let mut open: Option<(String, Option<std::ops::Range<usize>>, String)> = None;
        let mut comment: Option<std::ops::Range<usize>> = None;
        for (event, range) in Parser::new(text).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    open = Some((info.to_string(), None, String::new()));
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                    page.problems.push(format!("{name}: an indented code block; use a fence"));
                }
                Event::Text(part) => {
                    if let Some((_, seen, code)) = &mut open {
                        code.push_str(&part);
                        let start = seen.as_ref().map_or(range.start, |seen| seen.start);
                        *seen = Some(start..range.end);
                    }
                }
                Event::End(TagEnd::CodeBlock) => {
                    if let Some((info, seen, code)) = open.take() {
                        page.add_block(text, &info, seen.unwrap_or(range), code);
                    }
                }
                Event::Start(Tag::HtmlBlock) => comment = Some(range.clone()),
                Event::End(TagEnd::HtmlBlock) => {
                    if let Some(range) = comment.take() {
                        page.add_comment(text, range);
                    }
                }
                Event::InlineHtml(html) => {
                    page.problems.push(format!("{name}: {html} is HTML; put it in backticks"));
                }
                _ => {}
            }
        }
        page
    }

    fn add_block(&mut self, page: &str, info: &str, range: std::ops::Range<usize>, code: String) {
        let line = page[..range.start].lines().count() + 1;
        let mut words = info.split_whitespace();
        let language = words.next().unwrap_or_default().to_owned();
        let words: Vec<&str> = words.collect();
        let value = |key: &str| {
            words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('=').map(str::to_owned))
        };
        let file = value("file");
        let action = match (language.as_str(), file) {
            ("console", _) => Action::Console {
                exit: value("exit").map_or(0, |code| code.parse().unwrap()),
                background: words.contains(&"background"),
            },
            ("diff", Some(path)) => Action::Patch(path),
            (_, Some(path)) => Action::Write(path),
            ("yaml" | "kdl", None) => {
                Action::Validate { kdl: language == "kdl", inside: value("in"), wrong: value("wrong") }
            }
            ("json", None) => Action::Json,
            (other, None) if FOREIGN.contains(&other) => Action::Nothing,
            (other, None) => {
                self.problems.push(format!(
                    "{}:{line}: a block of the language {other:?} that no test can try",
                    self.name
                ));
                Action::Nothing
            }
        };
        self.steps.push(Step { line, range, text: code, action });
    }

    fn add_comment(&mut self, page: &str, range: std::ops::Range<usize>) {
        let line = page[..range.start].lines().count() + 1;
        let text = page[range.clone()].trim();
        let Some(text) = text.strip_prefix("<!--").and_then(|text| text.strip_suffix("-->")) else {
            self.problems.push(format!("{}:{line}: HTML in a page", self.name));
            return;
        };
        let (word, rest) = text.trim_start().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let action = match word {
            "run" => Action::Script,
            "search:" => return,
            other => {
                self.problems.push(format!("{}:{line}: a comment that begins with {other:?}", self.name));
                return;
            }
        };
        self.steps.push(Step { line, range, text: rest.to_owned(), action });
    }
}
