//! Data model of generated configuration: blocks and entries to write, and the resulting file with the
//! mark of each line.

/// Opaque id that the caller assigns to a block or entry, to find its lines in the file again; `usize::MAX` for none.
pub type LineMarker = usize;

/// A top-level block: `vm web`.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedBlock {
    /// Top-level keyword: the kind of the resource, or a block of the language.
    pub word: String,
    /// Name of the block below its keyword.
    pub name: String,
    /// Entries of the body, in the order to write them.
    pub entries: Vec<PrintedEntry>,
    /// Marker with which the caller finds the lines of this block in the printed file.
    pub mark: LineMarker,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedEntry {
    /// Key of the entry, not quoted.
    pub key: String,
    /// Value of the entry, not yet in any syntax.
    pub value: PrintedValue,
    /// Marker with which the caller finds the lines of this entry in the printed file.
    pub mark: LineMarker,
}

/// A value to write, independent of the syntax.
#[derive(Debug, Clone, PartialEq)]
pub enum PrintedValue {
    /// A literal string: the writer quotes it where necessary and doubles each `$`.
    Text(String),
    /// `$vm.web`, or an expression.
    Reference(String),
    /// A number in decimal digits.
    Number(String),
    /// A boolean: `true` or `false`.
    Bool(bool),
    /// `null`: the service's default applies.
    Null,
    /// Values of a list, in order.
    List(Vec<PrintedValue>),
    /// Entries of a map, in order.
    Map(Vec<PrintedEntry>),
}

/// Generated content of a file, with the mark of each line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarkedText {
    /// Complete content of the file.
    pub text: String,
    /// Mark of each line; the first line has index 0.
    pub marks: Vec<LineMarker>,
}

impl MarkedText {
    /// Appends a line with its mark, indented by two spaces for each level of `depth`.
    pub(super) fn push_line(&mut self, depth: usize, text: &str, mark: LineMarker) {
        for _ in 0..depth {
            self.text.push_str("  ");
        }
        self.text.push_str(text);
        self.text.push('\n');
        self.marks.push(mark);
    }

    /// Returns the content with the lines of `head` before everything else, without marks; `head` ends with a newline.
    #[must_use]
    pub fn prepend_header(mut self, head: &str) -> Self {
        let lines = head.lines().count();
        self.text.insert_str(0, head);
        self.marks.splice(0..0, std::iter::repeat_n(LineMarker::MAX, lines));
        self
    }
}
