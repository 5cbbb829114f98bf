//! Mutations of an input by a seeded random generator: bytes, lines, words of the formats, nesting.

/// Length limit of a mutated input in bytes, which bounds memory and time.
const LONGEST: usize = 64 * 1024;

/// Words that mean something to one of the formats.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "'",
    "\"\"\"",
    "#",
    "# ",
    "=",
    ":",
    ": ",
    ",",
    ";",
    "\\",
    "/",
    "//",
    "/-",
    "/*",
    "*/",
    "- ",
    "&a ",
    "*a",
    "<<: ",
    "!x ",
    "|\n",
    ">",
    "${",
    "}",
    "$",
    "$$",
    "#true",
    "#null",
    "true",
    "null",
    "~",
    "\n",
    "\t",
    "\r\n",
    "  ",
    "é",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "\u{1b}[31m",
    "\u{9b}",
    "::error::",
    "##[group]",
    "##vso[x]",
    "0",
    "-1",
    "9223372036854775807",
    "1e400",
    "0.1",
    "NaN",
    "0x7f",
    "\"id\":",
    "\"data\":",
    "\"total\":",
    "\"error\":",
    "\"message\":",
    "\"success\":false",
    "..",
    "../",
    "%2e",
    "https://",
    "s3://",
    "postgres://",
    "file:",
    "http://127.0.0.1",
    "@",
    "?",
    "vars.",
    "env",
    "stead: 1\n",
    "stead 1\n",
    "vm:\n",
    "vm ",
    "vpc.main",
    "for_each",
    "lifecycle",
    "size()",
    ".map(x, x)",
    "has(",
    " ? 1 : 2",
    " in ",
    "\"record\":",
    "\"op\":",
    "00000000-0000-0000-0000-000000000000",
    "[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":",
    "\u{0}",
    "\u{7f}",
    "\u{10ffff}",
];

/// A random generator that repeats for the same seed (SplitMix64).
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below a bound; 0 for the bound 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or_default()
    }
}

/// Returns an input of the corpus, mutated one to four times.
pub fn mutated(corpus: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = corpus[chance.below(corpus.len())].clone();
    for _ in 0..=chance.below(4) {
        change(&mut bytes, corpus, chance);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], chance: &mut Chance) {
    match chance.below(12) {
        0 | 1 if !bytes.is_empty() => {
            let at = chance.below(bytes.len());
            bytes[at] ^= 1 << chance.below(8);
        }
        2 if !bytes.is_empty() => {
            let at = chance.below(bytes.len());
            bytes[at] = u8::try_from(chance.below(256)).unwrap_or_default();
        }
        3 | 4 => {
            let word = WORDS[chance.below(WORDS.len())].as_bytes();
            replace(bytes, chance, word);
        }
        5 => {
            let range = some_range(bytes.len(), chance);
            bytes.drain(range);
        }
        6 => {
            let piece = bytes[some_range(bytes.len(), chance)].to_vec();
            let at = chance.below(bytes.len() + 1);
            bytes.splice(at..at, piece);
        }
        7 | 8 => lines(bytes, chance),
        9 => {
            let other = &corpus[chance.below(corpus.len())];
            let piece = other[some_range(other.len(), chance)].to_vec();
            replace(bytes, chance, &piece);
        }
        10 => {
            let opening: &[u8] = [&b"["[..], b"{\"a\":", b"(", b"{ a ", b"- ", b"!"][chance.below(6)];
            let nest = opening.repeat(1 + chance.below(200));
            replace(bytes, chance, &nest);
        }
        _ => {
            let cut = chance.below(bytes.len() + 1);
            bytes.truncate(cut);
        }
    }
}

/// Repeats, removes or swaps whole lines: a line is often a key, a record or a node.
fn lines(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (one, other) = (chance.below(lines.len()), chance.below(lines.len()));
    match chance.below(3) {
        0 => lines.insert(other, lines[one].clone()),
        1 => lines.swap(one, other),
        _ => _ = lines.remove(one),
    }
    *bytes = lines.concat();
}

/// Inserts a piece at a random offset, or replaces a few bytes by it.
fn replace(bytes: &mut Vec<u8>, chance: &mut Chance, piece: &[u8]) {
    let at = chance.below(bytes.len() + 1);
    let end = (at + [0, 0, 1, piece.len()][chance.below(4)]).min(bytes.len());
    bytes.splice(at..end, piece.iter().copied());
}

fn some_range(length: usize, chance: &mut Chance) -> std::ops::Range<usize> {
    let start = chance.below(length + 1);
    let most = if chance.below(4) == 0 { length } else { 16 };
    start..(start + chance.below(most + 1)).min(length)
}
