//! The documents, against their schemas.
