//! Conversion of bytes to hexadecimal digits: the notation of every digest and fingerprint in files and output.

/// Returns bytes as two lower-case digits each, without a prefix; empty for no bytes.
#[must_use]
pub fn encode_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.extend([byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)])));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_two_hex_digits() {
        assert_eq!(encode_hex(&[0, 9, 0xA0, 0xFF]), "0009a0ff");
        assert_eq!(encode_hex(&[]), "");
    }
}
