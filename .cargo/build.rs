//! The build script: says which commit a published binary is of, and asks the linker for a smaller one: it
//! keeps one of functions that came out the same, a sixteenth, leaves out the tables for unwinding, an eighth, and
//! packs addresses, a tenth. Only where the linker is the one that comes with the compiler, which can do both.
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
    // Not while it is worked on: every commit would build all of it anew.
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        if links_with_lld() {
            println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
            leave_out_tables();
            if loads_packed() {
                println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
            }
        }
        if let Some((commit, date)) = commit() {
            println!("cargo::rustc-env=STEAD_BUILT_COMMIT={commit}");
            println!("cargo::rustc-env=STEAD_BUILT_DATE={date}");
        }
    }
}

/// Without names, which a release has not either, a trace of a panic says nothing, and a panic ends the
/// program: the tables for unwinding are not read.
fn leave_out_tables() {
    let Some(out) = env::var_os("OUT_DIR") else { return };
    let script = Path::new(&out).join("no-unwinding.ld");
    let discard = "SECTIONS { /DISCARD/ : { *(.eh_frame) *(.eh_frame_hdr) } } INSERT AFTER .text;\n";
    if std::fs::write(&script, discard).is_ok() {
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr,-T,{}", script.display());
    }
}

/// Tells whether this machine's loader takes addresses that are packed, as glibc does since 2.36: they are a tenth of
/// the binary otherwise. An older loader says so and does not start it.
fn loads_packed() -> bool {
    let Ok(output) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else { return false };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let version =
        said.trim().strip_prefix("glibc 2.").and_then(|minor| minor.split('.').next()?.parse().ok());
    version.is_some_and(|minor: u32| minor >= 36)
}

/// Returns the commit that is built and its day, where this is a checkout of its own.
fn commit() -> Option<(String, String)> {
    let git = |args: &[&str]| {
        let output =
            Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    let here = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).canonicalize().ok()?;
    let root = Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    if root != here {
        return None;
    }
    let head = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={head}");
    let (commit, date) = (git(&["rev-parse", "--short=10", "HEAD"])?, git(&["log", "-1", "--format=%cs"])?);
    Some((commit, date))
}

/// Tells whether the linker is the compiler's own: `rust-lld`, on this target.
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
