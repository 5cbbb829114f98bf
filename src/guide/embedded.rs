//! Texts that the build script compresses into the program: the written pages of the documentation and the schemas,
//! two megabytes that few runs read. In: a packed set, as `.cargo/build.rs` writes it. Out: each text
//! by the path of its file. A set is unpacked when its first text is asked for, and stays in memory.

use std::io::Read;
use std::sync::OnceLock;

use flate2::read::ZlibDecoder;

/// The written pages, by address.
pub(super) static PAGES: EmbeddedTexts =
    EmbeddedTexts::new(include_bytes!(concat!(env!("OUT_DIR"), "/pages.zlib")));

/// The schemas of configuration, of the API and of the documents that commands print, by the names of their files
/// without the ending.
pub static SCHEMAS: EmbeddedTexts =
    EmbeddedTexts::new(include_bytes!(concat!(env!("OUT_DIR"), "/schemas.zlib")));

/// A set of named texts, compressed as one.
#[derive(Debug)]
pub struct EmbeddedTexts {
    /// Names and texts in turn, each ended by a zero byte, in the format of zlib.
    packed: &'static [u8],
    unpacked: OnceLock<String>,
}

impl EmbeddedTexts {
    const fn new(packed: &'static [u8]) -> Self {
        Self { packed, unpacked: OnceLock::new() }
    }

    /// Returns the text of a name; empty if there is none.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.entries().find(|(found, _)| *found == name).map_or("", |(_, text)| text)
    }

    /// Returns each name with its text.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest = self.unpacked.get_or_init(|| self.unpack()).as_str();
        std::iter::from_fn(move || {
            let (name, after) = rest.split_once('\0')?;
            let (text, after) = after.split_once('\0')?;
            rest = after;
            Some((name, text))
        })
    }

    /// Unpacks the set. What the build script wrote is whole, which tests of its readers prove.
    fn unpack(&self) -> String {
        let mut text = String::new();
        let read = ZlibDecoder::new(self.packed).read_to_string(&mut text);
        if read.is_ok() { text } else { String::new() }
    }
}
