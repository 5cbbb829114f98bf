//! The table of codes, and the endings.

use crate::config::syntax::document::Syntax;
use crate::config::syntax::limits::{CODES, syntax_of};

#[test]
fn codes_are_in_order_and_in_range() {
    assert!(CODES.windows(2).all(|pair| pair[0].code < pair[1].code));
    assert!(CODES.iter().all(|known| ("S0101"..="S0149").contains(&known.code)));
    assert!(CODES.iter().all(|known| known.meaning.ends_with('.')));
}

#[test]
fn file_extensions_determine_the_syntax() {
    assert_eq!(syntax_of("a/net.stead.yaml"), Some(Syntax::Yaml));
    assert_eq!(syntax_of("STEAD.KDL"), Some(Syntax::Kdl));
    assert_eq!(syntax_of("stead.toml"), None);
}
