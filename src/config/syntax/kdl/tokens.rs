//! KDL tokens with exact offsets. In: a source file; out: one token at a time, and the problems found so far.
//! Invalid source whose intention can be guessed is reported once and read as intended, so that one mistake
//! gives one message and the rest of the file is still checked.

use just_kdl::lexer::{Lexer, LexerError, Token as Lexed};

use super::{hints, strings};
use crate::config::syntax::limits::{MAX_PROBLEMS, byte_span, says_again};
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{SourceId, Span};

/// Type of a token. White space and comments are no tokens; line endings are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KdlTokenKind {
    /// A string; `bare` if it has no quotes.
    Text {
        /// The string, unescaped.
        text: Name,
        /// Whether it is written without quotes.
        bare: bool,
    },
    /// A number; its value is in the source.
    Number,
    /// The keyword `#true` or `#false`.
    Boolean(bool),
    Null,
    /// The marker `/-`, which comments out the next element.
    SlashDash,
    Semicolon,
    Equals,
    OpenParen,
    CloseParen,
    OpenBrace,
    CloseBrace,
    /// One or more line endings.
    Line,
    /// The end of the file.
    End,
}

/// A token with its byte range.
#[derive(Debug, Clone)]
pub(super) struct KdlToken {
    /// Type of the token.
    pub(super) kind: KdlTokenKind,
    /// Offset of the first byte.
    pub(super) start: usize,
    /// Offset after the last byte.
    pub(super) end: usize,
    /// Whether white space or a comment precedes it.
    pub(super) spaced: bool,
}

/// Parsing cannot continue; the reason is among the problems.
#[derive(Debug)]
pub(super) struct KdlParseError;

/// The tokens of one source, and the problems found so far.
pub(super) struct KdlTokenizer<'a> {
    /// The whole source.
    pub(super) text: &'a str,
    /// Every problem, in the order found.
    pub(super) problems: Vec<Diagnostic>,
    id: SourceId,
    lexer: Lexer<&'a [u8]>,
    /// Offset at which the lexer started, from which its offsets count: it is restarted after source that it rejects.
    base: usize,
    peeked: Option<KdlToken>,
    /// Offset of the last comma between values; `None` before the first.
    comma: Option<usize>,
}

impl<'a> KdlTokenizer<'a> {
    /// Returns the tokens of a file.
    pub(super) fn new(id: SourceId, text: &'a str) -> Self {
        Self {
            text,
            problems: Vec::new(),
            id,
            lexer: Lexer::new(text.as_bytes()),
            base: 0,
            peeked: None,
            comma: None,
        }
    }

    /// Returns a span of this source.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        byte_span(self.id, start, end)
    }

    /// Adds a problem, unless it repeats the last one; `Err` stops the parser when there are too many.
    pub(super) fn report(&mut self, problem: Diagnostic) -> Result<(), KdlParseError> {
        if says_again(self.problems.last(), &problem) {
            return Ok(());
        }
        self.problems.push(problem);
        if self.problems.len() >= MAX_PROBLEMS { Err(KdlParseError) } else { Ok(()) }
    }

    /// Adds a problem after which parsing cannot continue.
    pub(super) fn report_fatal(&mut self, problem: Diagnostic) -> KdlParseError {
        self.problems.push(problem);
        KdlParseError
    }

    /// Consumes the next token.
    pub(super) fn next(&mut self) -> Result<KdlToken, KdlParseError> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.scan_token(),
        }
    }

    /// Returns the next token without consuming it.
    pub(super) fn peek(&mut self) -> Result<&KdlToken, KdlParseError> {
        let token = self.next()?;
        Ok(self.peeked.insert(token))
    }

    /// Puts a token back, to be returned next.
    pub(super) fn put_back(&mut self, token: KdlToken) {
        self.peeked = Some(token);
    }

    fn scan_token(&mut self) -> Result<KdlToken, KdlParseError> {
        let mut spaced = false;
        loop {
            let (lexed, at) = self.lexer.next_token(false);
            let start = self.base + at;
            let end = self.base + self.lexer.current_position();
            let token = match lexed {
                Ok(Lexed::Spaces) => None,
                Ok(Lexed::Lines) if self.splits_line_end(start) => {
                    self.restart_at(start + 1);
                    None
                }
                Ok(lexed) => self.accept_token(lexed, start, end, spaced)?,
                Err(error) => self.recover_from_error(&error, start, spaced)?,
            };
            if let Some(token) = token {
                return Ok(token);
            }
            spaced = true;
        }
    }

    /// Returns whether a line ending begins inside `\r\n`: after a backslash at the end of a line, the lexer
    /// consumes only the `\r`.
    fn splits_line_end(&self, start: usize) -> bool {
        self.text[start..].starts_with('\n') && self.text[..start].ends_with('\r')
    }

    /// Starts the lexer again at an offset.
    fn restart_at(&mut self, to: usize) {
        self.base = to;
        self.lexer = Lexer::new(&self.text.as_bytes()[to..]);
    }

    fn accept_token(
        &mut self,
        lexed: Lexed,
        start: usize,
        end: usize,
        spaced: bool,
    ) -> Result<Option<KdlToken>, KdlParseError> {
        let kind = match lexed {
            Lexed::String(_) if self.text[start..].starts_with(['"', '#']) => {
                KdlTokenKind::Text { text: strings::decode_string(&self.text[start..end]), bare: false }
            }
            Lexed::String(text) => return self.read_bare_word(&text, start, end, spaced),
            Lexed::Number(_) if hints::is_glued(self.text, start, end) => {
                return self.read_unquoted(start, spaced).map(Some);
            }
            Lexed::Number(_) => KdlTokenKind::Number,
            Lexed::Bool(value) => KdlTokenKind::Boolean(value),
            Lexed::Null => KdlTokenKind::Null,
            Lexed::SlashDash => KdlTokenKind::SlashDash,
            Lexed::SemiColon => KdlTokenKind::Semicolon,
            Lexed::Equals => KdlTokenKind::Equals,
            Lexed::OpenParen => KdlTokenKind::OpenParen,
            Lexed::CloseParen => KdlTokenKind::CloseParen,
            Lexed::OpenCurly => KdlTokenKind::OpenBrace,
            Lexed::CloseCurly => KdlTokenKind::CloseBrace,
            Lexed::Lines => KdlTokenKind::Line,
            Lexed::Eof => KdlTokenKind::End,
            Lexed::Spaces | Lexed::Bom | Lexed::SkippedString | Lexed::SkippedNumber => return Ok(None),
        };
        Ok(Some(KdlToken { kind, start, end, spaced }))
    }

    /// Returns the token of a word without quotes, and reports the common mistakes in one.
    fn read_bare_word(
        &mut self,
        text: &str,
        start: usize,
        end: usize,
        spaced: bool,
    ) -> Result<Option<KdlToken>, KdlParseError> {
        if hints::is_glued(self.text, start, end) {
            return self.read_unquoted(start, spaced).map(Some);
        }
        if text.starts_with(['“', '„', '”']) {
            self.report(hints::typographic_quotes(self.text, self.span(start, end), text))?;
        }
        if let Some(rest) = text.strip_prefix('\'') {
            return self.single_quoted(rest, start, end, spaced).map(Some);
        }
        let Some(word) = text.strip_suffix(',') else {
            let kind = KdlTokenKind::Text { text: text.into(), bare: true };
            return Ok(Some(KdlToken { kind, start, end, spaced }));
        };
        self.report_comma(start)?;
        let kind = KdlTokenKind::Text { text: word.into(), bare: true };
        Ok((!word.is_empty()).then_some(KdlToken { kind, start, end: end - 1, spaced }))
    }

    /// Reports commas between values, once per line.
    fn report_comma(&mut self, start: usize) -> Result<(), KdlParseError> {
        let again = self.comma.is_some_and(|last| !self.text[last..start].contains('\n'));
        self.comma = Some(start);
        if again { Ok(()) } else { self.report(hints::comma_separator(self.text, self.id, start)) }
    }

    fn single_quoted(
        &mut self,
        rest: &str,
        start: usize,
        end: usize,
        spaced: bool,
    ) -> Result<KdlToken, KdlParseError> {
        let line = self.text[start + 1..].lines().next().unwrap_or_default();
        let (word, end) = match line.find('\'') {
            Some(close) => (&line[..close], start + close + 2),
            None => (rest, end),
        };
        let written = hints::correct_word(self.text, start, word);
        self.report(hints::single_quotes(self.span(start, end), word, &written))?;
        self.restart_at(end);
        Ok(KdlToken { kind: KdlTokenKind::Text { text: word.into(), bare: false }, start, end, spaced })
    }

    /// Reports a word that is only valid in quotes (`10.0.0.0/16`, `/healthz`, `${a + b}`), and returns it as a string.
    fn read_unquoted(&mut self, start: usize, spaced: bool) -> Result<KdlToken, KdlParseError> {
        let end = hints::word_end(self.text, start);
        let word = &self.text[start..end];
        let written = hints::correct_word(self.text, start, word);
        self.report(hints::needs_quotes(self.span(start, end), word, &written))?;
        self.restart_at(end);
        Ok(KdlToken { kind: KdlTokenKind::Text { text: word.into(), bare: false }, start, end, spaced })
    }

    /// Continues after source that the lexer rejects, if the intention is clear; otherwise parsing stops.
    fn recover_from_error(
        &mut self,
        error: &LexerError,
        start: usize,
        spaced: bool,
    ) -> Result<Option<KdlToken>, KdlParseError> {
        let first = self.text.as_bytes().get(start).copied().unwrap_or_default();
        match error {
            LexerError::UnexpectedKeyword => self.read_keyword(start, spaced).map(Some),
            LexerError::InvalidNumber => self.read_number(start, spaced).map(Some),
            LexerError::InvalidOperator if first == b'/' => self.read_unquoted(start, spaced).map(Some),
            LexerError::BadRawString | LexerError::MissingText if first == b'#' => self.hash(start, spaced),
            _ => {
                let problem = hints::lexer_problem(self.text, error, start, self.base, self.id);
                Err(self.report_fatal(problem))
            }
        }
    }

    fn read_keyword(&mut self, start: usize, spaced: bool) -> Result<KdlToken, KdlParseError> {
        let end = hints::word_end(self.text, start);
        let word = &self.text[start..end];
        let kind = match word {
            "true" | "false" => KdlTokenKind::Boolean(word == "true"),
            "null" => KdlTokenKind::Null,
            _ => return self.read_unquoted(start, spaced),
        };
        let written = hints::correct_as(self.text, start, &format!("#{word}"));
        self.report(hints::bare_keyword(self.span(start, end), word, &written))?;
        self.restart_at(end);
        Ok(KdlToken { kind, start, end, spaced })
    }

    fn read_number(&mut self, start: usize, spaced: bool) -> Result<KdlToken, KdlParseError> {
        let end = hints::word_end(self.text, start);
        let word = &self.text[start..end];
        let Some(number) = word.strip_suffix(',').filter(|n| n.bytes().all(|b| b.is_ascii_digit())) else {
            return self.read_unquoted(start, spaced);
        };
        let end = start + number.len();
        self.report_comma(start)?;
        self.restart_at(end + 1);
        Ok(KdlToken { kind: KdlTokenKind::Number, start, end, spaced })
    }

    /// Handles a `#` that begins neither a keyword nor a raw string: a misspelled keyword, or a comment of
    /// another language, for which there is no token.
    fn hash(&mut self, start: usize, spaced: bool) -> Result<Option<KdlToken>, KdlParseError> {
        let end = hints::word_end(self.text, start);
        if let Some(value) = hints::boolean_of(&self.text[start..end]) {
            let written = hints::correct_as(self.text, start, if value { "#true" } else { "#false" });
            self.report(hints::wrong_keyword(self.span(start, end), value, &written))?;
            self.restart_at(end);
            return Ok(Some(KdlToken { kind: KdlTokenKind::Boolean(value), start, end, spaced }));
        }
        if self.text[..start].ends_with('=') {
            return self.read_unquoted(start, spaced).map(Some);
        }
        let line = self.text[start..].lines().next().unwrap_or_default();
        self.report(hints::hash_comment(self.span(start, start + 1), line))?;
        self.restart_at(start + line.len());
        Ok(None)
    }
}
