//! KDL tokens with exact places. What cannot be a token but can be guessed is reported once and read
//! as what was meant, so that one slip gives one message and the rest of the file is still checked.

use just_kdl::lexer::{Lexer, LexerError, Token as Lexed};

use super::{hints, strings};
use crate::config::syntax::limits::{MAX_PROBLEMS, byte_span, says_again};
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{SourceId, Span};

/// What a token is. White space and comments are no tokens; line ends are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KdlTokenKind {
    /// Text; `bare` without quotes.
    Text {
        /// The text, unescaped.
        text: Name,
        /// Written without quotes.
        bare: bool,
    },
    /// A number; its text is the source's.
    Number,
    /// `#true`, `#false`.
    Boolean(bool),
    /// `#null`.
    Null,
    /// `/-`.
    SlashDash,
    /// `;`.
    Semicolon,
    /// `=`.
    Equals,
    /// `(`.
    OpenParen,
    /// `)`.
    CloseParen,
    /// `{`.
    OpenBrace,
    /// `}`.
    CloseBrace,
    /// One or more line ends.
    Line,
    /// The end of the file.
    End,
}

/// A token and its place.
#[derive(Debug, Clone)]
pub(super) struct KdlToken {
    /// What it is.
    pub(super) kind: KdlTokenKind,
    /// First byte.
    pub(super) start: usize,
    /// One past the last byte.
    pub(super) end: usize,
    /// White space or a comment stands before it.
    pub(super) spaced: bool,
}

/// Reading cannot go on; the reason is among the problems.
#[derive(Debug)]
pub(super) struct KdlParseError;

/// The tokens of one source, and the problems found so far.
pub(super) struct KdlTokenizer<'a> {
    /// The whole text.
    pub(super) text: &'a str,
    /// Every problem, in the order found.
    pub(super) problems: Vec<Diagnostic>,
    id: SourceId,
    lexer: Lexer<&'a [u8]>,
    /// Where the lexer began: it is started again behind what it does not understand.
    base: usize,
    peeked: Option<KdlToken>,
    /// Where the last comma was met.
    comma: Option<usize>,
}

impl<'a> KdlTokenizer<'a> {
    /// Returns the tokens of a text.
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

    /// Keeps a problem; with too many, reading stops.
    pub(super) fn report(&mut self, problem: Diagnostic) -> Result<(), KdlParseError> {
        if says_again(self.problems.last(), &problem) {
            return Ok(());
        }
        self.problems.push(problem);
        if self.problems.len() >= MAX_PROBLEMS { Err(KdlParseError) } else { Ok(()) }
    }

    /// Keeps a problem behind which nothing can be understood.
    pub(super) fn report_fatal(&mut self, problem: Diagnostic) -> KdlParseError {
        self.problems.push(problem);
        KdlParseError
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Result<KdlToken, KdlParseError> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.scan_token(),
        }
    }

    /// Looks at the next token.
    pub(super) fn peek(&mut self) -> Result<&KdlToken, KdlParseError> {
        let token = self.next()?;
        Ok(self.peeked.insert(token))
    }

    /// Puts a token back.
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

    /// Tells whether a line end begins inside `\r\n`: behind a backslash at the end of a line, the
    /// lexer takes the `\r` alone.
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

    /// A word without quotes, which is where most slips show.
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

    /// Says once for each line that its values have commas.
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

    /// A word that is text only with quotes: `10.0.0.0/16`, `/healthz`, `${a + b}`.
    fn read_unquoted(&mut self, start: usize, spaced: bool) -> Result<KdlToken, KdlParseError> {
        let end = hints::word_end(self.text, start);
        let word = &self.text[start..end];
        let written = hints::correct_word(self.text, start, word);
        self.report(hints::needs_quotes(self.span(start, end), word, &written))?;
        self.restart_at(end);
        Ok(KdlToken { kind: KdlTokenKind::Text { text: word.into(), bare: false }, start, end, spaced })
    }

    /// Reads on behind what the lexer refuses, where it is clear what was meant.
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

    /// A `#` that begins neither a keyword nor raw text: a keyword in other words, or a comment.
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
