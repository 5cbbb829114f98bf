//! A journal in the document of an HTTP state server, as Terraform and OpenTofu use them.

mod document;
mod server;
mod settings;
pub mod store;
