//! Decoded forms of a text: JSON, HTML and URL escapes, hexadecimal digits, base64.
//!
//! Decoding is lenient: a part that is not an escape stays as it is, because an encoded part may be anywhere. Each
//! decoded byte has the range of the text that it was decoded from, so that a match can be replaced there.

/// Minimum length of a run of hexadecimal digits that is decoded.
const MIN_HEX_DIGITS: usize = 12;

/// Minimum length of a run of base64 digits that is decoded.
const MIN_BASE64_DIGITS: usize = 8;

/// The text itself, or a part of it decoded from one encoding.
pub(super) struct EncodedForm<'a> {
    /// The bytes after decoding, or the text itself.
    pub(super) bytes: &'a [u8],
    /// The range of the text for each byte; `None` where the form is the text itself.
    origin: Option<&'a [(usize, usize)]>,
}

impl EncodedForm<'_> {
    /// Returns the range of the text that corresponds to a non-empty range of the form.
    pub(super) fn source_range(&self, start: usize, end: usize) -> (usize, usize) {
        match self.origin {
            None => (start, end),
            Some(origin) => (origin[start].0, origin[end - 1].1),
        }
    }
}

/// The output of a decoder: bytes, and the range that each was decoded from.
#[derive(Default)]
struct DecodedText {
    bytes: Vec<u8>,
    origin: Vec<(usize, usize)>,
}

impl DecodedText {
    fn push(&mut self, byte: u8, start: usize, end: usize) {
        self.bytes.push(byte);
        self.origin.push((start, end));
    }

    fn push_char(&mut self, c: char, start: usize, end: usize) {
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            self.push(byte, start, end);
        }
    }
}

/// Passes the text itself and all its decoded forms to `see`, up to `depth` nested encodings; 0 passes only the text.
pub(super) fn visit_forms(text: &[u8], depth: usize, see: &mut dyn FnMut(&EncodedForm<'_>)) {
    visit_nested(&EncodedForm { bytes: text, origin: None }, depth, see);
}

fn visit_nested(form: &EncodedForm<'_>, depth: usize, see: &mut dyn FnMut(&EncodedForm<'_>)) {
    see(form);
    if depth == 0 {
        return;
    }
    let mut deeper = |decoded: DecodedText| {
        if decoded.bytes.is_empty() {
            return;
        }
        let origin: Vec<_> =
            decoded.origin.iter().map(|(start, end)| form.source_range(*start, *end)).collect();
        visit_nested(&EncodedForm { bytes: &decoded.bytes, origin: Some(&origin) }, depth - 1, see);
    };
    let has = |byte: u8| form.bytes.contains(&byte);
    if has(b'\\') {
        deeper(decode_escapes(form.bytes, parse_backslash));
    }
    if has(b'&') {
        deeper(decode_escapes(form.bytes, parse_entity));
    }
    if has(b'%') {
        deeper(decode_escapes(form.bytes, parse_percent));
    }
    if has(b'+') {
        deeper(decode_escapes(form.bytes, form_field));
    }
    find_digit_runs(form.bytes, MIN_HEX_DIGITS, |byte| byte.is_ascii_hexdigit(), &mut |digits| {
        // The secret may begin after other digits of the run, so every alignment is decoded.
        for phase in 0..2 {
            deeper(pack_digits(&digits[phase..], 4));
        }
    });
    find_digit_runs(form.bytes, MIN_BASE64_DIGITS, |byte| base64_value(byte).is_some(), &mut |digits| {
        for phase in 0..4 {
            deeper(pack_digits(&digits[phase..], 6));
        }
    });
}

/// A decoder of one escape: returns the character and the length of the escape in bytes; `None` where the text does
/// not begin with one.
type EscapeParser = fn(&[u8]) -> Option<(char, usize)>;

/// Decodes the escapes of one kind. An escape of a single byte (`%C3`) becomes that byte.
fn decode_escapes(text: &[u8], escape: EscapeParser) -> DecodedText {
    let mut decoded = DecodedText::default();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        if let Some((c, length)) = escape(&text[at..]) {
            let end = at + length;
            match u8::try_from(u32::from(c)) {
                Ok(byte) if text[at] == b'%' => decoded.push(byte, at, end),
                _ => decoded.push_char(c, at, end),
            }
            at = end;
        } else {
            decoded.push(*byte, at, at + 1);
            at += 1;
        }
    }
    decoded
}

fn parse_digits(digits: Option<&[u8]>, radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits?).ok()?, radix).ok()
}

/// Decodes escapes of JSON and of shells: `\n`, `\"`, `\u00e9`, surrogate pairs and `\x41`.
fn parse_backslash(text: &[u8]) -> Option<(char, usize)> {
    let (b'\\', rest) = text.split_first()? else { return None };
    let unit = |rest: &[u8]| parse_digits(rest.get(..4), 16);
    Some(match *rest.first()? {
        b'n' => ('\n', 2),
        b't' => ('\t', 2),
        b'r' => ('\r', 2),
        b'b' => ('\u{8}', 2),
        b'f' => ('\u{c}', 2),
        quoted @ (b'"' | b'\'' | b'\\' | b'/') => (char::from(quoted), 2),
        b'x' => (char::from_u32(parse_digits(rest.get(1..3), 16)?)?, 4),
        b'u' => match unit(&rest[1..])? {
            high @ 0xd800..0xdc00 if rest.get(5..7) == Some(b"\\u") => {
                let low = unit(&rest[7..])?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                (char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + low)?, 12)
            }
            code => (char::from_u32(code)?, 6),
        },
        _ => return None,
    })
}

/// Decodes character references of HTML: `&quot;`, `&#39;` and `&#x27;`.
fn parse_entity(text: &[u8]) -> Option<(char, usize)> {
    const NAMED: &[(&[u8], char)] =
        &[(b"&amp;", '&'), (b"&lt;", '<'), (b"&gt;", '>'), (b"&quot;", '"'), (b"&apos;", '\'')];
    if let Some((name, c)) = NAMED.iter().find(|(name, _)| text.starts_with(name)) {
        return Some((*c, name.len()));
    }
    let rest = text.strip_prefix(b"&#")?;
    let length = rest.iter().take(10).position(|byte| *byte == b';')?;
    let (digits, radix) = match rest.first()? {
        b'x' | b'X' => (rest.get(1..length), 16),
        _ => (rest.get(..length), 10),
    };
    Some((char::from_u32(parse_digits(digits, radix)?)?, length + 3))
}

/// Decodes percent escapes such as `%41`.
fn parse_percent(text: &[u8]) -> Option<(char, usize)> {
    let rest = text.strip_prefix(b"%")?;
    Some((char::from_u32(parse_digits(rest.get(..2), 16)?)?, 3))
}

/// Decodes the first character of form-urlencoded text, in which `+` is a space. Returns it with the number of bytes
/// read; `None` if the text begins with neither `+` nor `%XX`.
fn form_field(text: &[u8]) -> Option<(char, usize)> {
    if text.starts_with(b"+") { Some((' ', 1)) } else { parse_percent(text) }
}

/// The digits of one run, each with its offset.
type DigitRun = Vec<(u8, usize)>;

/// Passes each run of at least `shortest` digits to `see`. A line break between two digits does not end a run:
/// encoders wrap long lines.
fn find_digit_runs(text: &[u8], shortest: usize, is_digit: fn(u8) -> bool, see: &mut dyn FnMut(&DigitRun)) {
    let mut run: DigitRun = Vec::new();
    for (at, byte) in text.iter().enumerate() {
        if is_digit(*byte) {
            run.push((*byte, at));
            continue;
        }
        let wraps = match byte {
            b'\n' => text.get(at + 1).is_some_and(|next| is_digit(*next)),
            b'\r' => text.get(at + 1) == Some(&b'\n'),
            _ => false,
        };
        if !wraps {
            if run.len() >= shortest {
                see(&run);
            }
            run.clear();
        }
    }
    if run.len() >= shortest {
        see(&run);
    }
}

/// Packs digits of `bits` bits (4: hexadecimal, 6: base64) into bytes; an incomplete byte at the end is dropped.
fn pack_digits(digits: &[(u8, usize)], bits: u32) -> DecodedText {
    let mut decoded = DecodedText::default();
    let (mut word, mut held, mut start) = (0u32, 0u32, 0usize);
    for (digit, at) in digits {
        let value =
            if bits == 4 { char::from(*digit).to_digit(16) } else { base64_value(*digit).map(u32::from) };
        if held == 0 {
            start = *at;
        }
        word = (word << bits | value.unwrap_or_default()) & 0xffff;
        held += bits;
        if held >= 8 {
            held -= 8;
            let [_, _, _, byte] = (word >> held).to_be_bytes();
            decoded.push(byte, start, at + 1);
            // The next byte begins inside this digit.
            start = *at;
        }
    }
    decoded
}

fn base64_value(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}
