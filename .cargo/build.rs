//! The build script: asks the linker to keep one of functions that came out the same, a sixteenth of the
//! binary. Only where the linker is the one that comes with the compiler, which can do it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::print_stdout,
    reason = "so a build script is told and speaks"
)]

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=.cargo/build.rs");
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") && links_with_lld() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// Tells whether nobody chose another linker than the compiler's own: `rust-lld`, on this target.
fn links_with_lld() -> bool {
    let says = |name: &str| env::var(name).unwrap_or_default();
    let target = says("TARGET");
    target == "x86_64-unknown-linux-gnu"
        && says("RUSTC_LINKER").is_empty()
        && !says("CARGO_ENCODED_RUSTFLAGS").contains("link")
        && compilers_own(&target)
}

/// Tells whether the compiler came with its linker: a distribution may leave it out.
fn compilers_own(target: &str) -> bool {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let Ok(output) = Command::new(compiler).args(["--print", "sysroot"]).output() else { return false };
    let root = String::from_utf8_lossy(&output.stdout).into_owned();
    Path::new(root.trim()).join("lib/rustlib").join(target).join("bin/gcc-ld/ld.lld").is_file()
}
