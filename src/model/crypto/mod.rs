//! Cryptographic types without I/O: digests of JSON, hexadecimal notation, recipients of encrypted secrets, and the
//! choice of trusted certificate authorities.

pub mod digest;
pub mod hex;
pub mod recipient;
pub mod roots;
