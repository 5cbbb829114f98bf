//! Texts that the build script compresses into the program: the written pages of the documentation and the schemas,
//! two megabytes that few runs read. In: a packed set, as `.cargo/build.rs` writes it. Out: each text
//! by the path of its file. A set is unpacked when its first text is asked for, and stays in memory.

use std::collections::BTreeMap;
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
    unpacked: OnceLock<BTreeMap<String, String>>,
}

impl EmbeddedTexts {
    const fn new(packed: &'static [u8]) -> Self {
        Self { packed, unpacked: OnceLock::new() }
    }

    /// Returns the text of a name; empty if there is none.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.unpacked.get_or_init(|| self.unpack()).get(name).map_or("", String::as_str)
    }

    /// Unpacks the set. What the build script wrote is whole, which tests of its readers prove.
    fn unpack(&self) -> BTreeMap<String, String> {
        let mut all = String::new();
        if ZlibDecoder::new(self.packed).read_to_string(&mut all).is_err() {
            return BTreeMap::new();
        }
        let mut fields = all.split_terminator('\0').map(str::to_owned);
        std::iter::from_fn(|| fields.next().zip(fields.next())).collect()
    }
}
