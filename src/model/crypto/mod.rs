//! Digests, their notation, recipients of encrypted secrets, and trusted certificate authorities.

pub mod digest;
pub mod hex;
pub mod recipient;
pub mod roots;
