//! What a generated stack says: its text, and the table of what was written, attribute by attribute, in
//! the contract's terms. The laws judge by this table, never by what the client thinks of the stack.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use stead::model::schema::Method;

/// What an attribute stands at in the world's own record.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    Is(Json),
    /// A number, whatever its form.
    Number(i64),
    /// The id of the object of an address.
    IdOf(String),
    /// The ids of several, in any order.
    IdsOf(Vec<String>),
    /// The id of a row of a catalog's list, by its slug or version.
    Catalog(&'static str, &'static str),
    /// The same members, in any order.
    SetOf(Vec<&'static str>),
    /// A map has at least this.
    Has(Json),
    /// An instant.
    Instant(&'static str),
    /// No answer tells it: a source, a first script.
    Untold,
}

/// How somebody else changes an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// By a call of the API: the verb, what follows the object's path, the body.
    Call(Method, &'static str, Json),
    /// Directly in the service, as its support would.
    Inside(Json),
}

/// One attribute of one block.
#[derive(Debug, Clone)]
pub struct Attr {
    /// As the language calls it, and as it is written.
    pub name: &'static str,
    pub text: String,
    /// Where it stands in the world's record, and at what.
    pub field: &'static str,
    pub truth: Truth,
    /// How others change it in place, and what it stands at then.
    pub edit: Option<(Edit, Truth)>,
    /// It is in the table, but not in the text: nobody wrote it, and nobody else may take it amiss.
    pub unwritten: bool,
}

impl Attr {
    pub fn new(name: &'static str, text: impl Into<String>, truth: Truth) -> Self {
        Self { name, text: text.into(), field: name, truth, edit: None, unwritten: false }
    }

    pub fn field(mut self, field: &'static str) -> Self {
        self.field = field;
        self
    }

    /// Tells whether it names other objects of the stack.
    pub fn is_reference(&self) -> bool {
        matches!(self.truth, Truth::IdOf(_) | Truth::IdsOf(_))
    }

    /// Others set the field of the same name by a call.
    pub fn patched(self, tail: &'static str, to: Json) -> Self {
        let body = json!({ self.field: to });
        self.edited(Edit::Call(Method::Patch, tail, body), Truth::Is(to))
    }

    pub fn edited(mut self, edit: Edit, to: Truth) -> Self {
        self.edit = Some((edit, to));
        self
    }

    /// Others change it without a call.
    pub fn moved(self, to: Json) -> Self {
        self.edited(Edit::Inside(to.clone()), Truth::Is(to))
    }
}

/// One block.
#[derive(Debug, Clone)]
pub struct Block {
    pub address: String,
    pub kind: &'static str,
    /// The parent's address and the collection in it, for a child.
    pub parent: Option<(String, &'static str)>,
    pub attributes: Vec<Attr>,
    /// What is written besides: what no object stands at.
    pub besides: &'static str,
}

impl Block {
    pub fn attr(&self, name: &str) -> Option<&Attr> {
        self.attributes.iter().find(|attr| attr.name == name && !attr.unwritten)
    }

    fn name(&self) -> &str {
        self.address.rsplit('.').next().unwrap()
    }

    fn entry(&self, children: &[&Self]) -> String {
        let written = self.attributes.iter().filter(|attr| !attr.unwritten);
        let mut parts: Vec<String> = written.map(|attr| format!("{}: {}", attr.name, attr.text)).collect();
        if !self.besides.is_empty() {
            parts.push(self.besides.to_owned());
        }
        let mut collections: Vec<&str> = Vec::new();
        for (_, collection) in children.iter().filter_map(|child| child.parent.as_ref()) {
            if !collections.contains(collection) {
                collections.push(collection);
            }
        }
        for collection in collections {
            let of =
                children.iter().filter(|c| c.parent.as_ref().is_some_and(|(_, name)| *name == collection));
            let all: Vec<_> = of.map(|child| format!("{}: {}", child.name(), child.entry(&[]))).collect();
            parts.push(format!("{collection}: {{ {} }}", all.join(", ")));
        }
        format!("{{ {} }}", parts.join(", "))
    }
}

/// A stack, as it was written.
#[derive(Debug, Clone, Default)]
pub struct Written {
    pub blocks: Vec<Block>,
}

impl Written {
    pub fn block(&self, address: &str) -> Option<&Block> {
        self.blocks.iter().find(|block| block.address == address)
    }

    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().filter(move |block| block.kind == kind)
    }

    /// Returns the stack's text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut kinds: Vec<&str> = Vec::new();
        for block in self.blocks.iter().filter(|block| block.parent.is_none()) {
            if !kinds.contains(&block.kind) {
                kinds.push(block.kind);
            }
        }
        for kind in kinds {
            writeln!(text, "{kind}:").unwrap();
            for block in self.of_kind(kind).filter(|block| block.parent.is_none()) {
                let of = |child: &&Block| child.parent.as_ref().is_some_and(|(of, _)| *of == block.address);
                let children: Vec<&Block> = self.blocks.iter().filter(of).collect();
                writeln!(text, "  {}: {}", block.name(), block.entry(&children)).unwrap();
            }
        }
        text
    }
}
