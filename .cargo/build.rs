//! The build script: compresses the documentation and the schemas that the program carries, says which commit a
//! published binary is of, and asks the linker for a smaller one: it keeps one of functions that came out the same, a
//! sixteenth, leaves out the tables for unwinding, an eighth, and packs addresses, a tenth. Only where the linker is the
//! one that comes with the compiler, which can do both.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::print_stdout,
    reason = "so a build script is told and speaks"
)]

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=.cargo/build.rs");
    pack_texts("src/guide/pages", ".md", "pages.zlib")?;
    pack_texts("schemas", ".json", "schemas.zlib")?;
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
    Ok(())
}

/// Writes the texts below a folder as one compressed file, which `src/guide/embedded.rs` reads: the path of each without
/// its ending, then its text, each ended by a zero byte.
fn pack_texts(folder: &str, ending: &str, packed: &str) -> io::Result<()> {
    println!("cargo::rerun-if-changed={folder}");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or(io::ErrorKind::NotFound)?;
    let mut encoder = ZlibEncoder::new(fs::File::create(out.join(packed))?, Compression::best());
    let mut paths = Vec::new();
    collect_files(Path::new(folder), &mut paths)?;
    paths.sort();
    for path in paths {
        // The build is of one system, the names are of all.
        let path_text =
            path.strip_prefix(folder).map_err(io::Error::other)?.to_string_lossy().replace('\\', "/");
        let Some(name) = path_text.strip_suffix(ending) else { continue };
        write!(encoder, "{name}\0{}\0", fs::read_to_string(&path)?)?;
    }
    encoder.finish()?.flush()
}

fn collect_files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { collect_files(&path, found)? } else { found.push(path) }
    }
    Ok(())
}

/// Without names, which a release has not either, a trace of a panic says nothing, and a panic ends the
/// program: the tables for unwinding are not read.
fn leave_out_tables() {
    let Some(out) = env::var_os("OUT_DIR") else { return };
    let script = Path::new(&out).join("no-unwinding.ld");
    let discard = "SECTIONS { /DISCARD/ : { *(.eh_frame) *(.eh_frame_hdr) } } INSERT AFTER .text;\n";
    if fs::write(&script, discard).is_ok() {
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
