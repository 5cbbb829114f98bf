//! Tests of confined reads and writes.

use super::*;
use crate::cli::files::write_files::*;

#[test]
fn reads_are_confined_to_the_root() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.txt"), "x").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.path().join("link")).unwrap();
    assert_eq!(read_below(root.path(), Path::new("./a.txt")).unwrap(), b"x");
    for bad in ["../a.txt", "/etc/passwd", "link", "."] {
        assert!(read_below(root.path(), Path::new(bad)).is_err(), "{bad}");
    }
    std::os::unix::fs::symlink(root.path().join("a.txt"), root.path().join("own")).unwrap();
    for bad in ["link", "../x", "link/x", "own"] {
        let written = change_private_below(root.path(), Path::new(bad), |_| Ok("mine".to_owned()));
        assert!(written.is_err(), "{bad}: no link is followed or replaced");
    }
    assert_eq!(fs::read(root.path().join("a.txt")).unwrap(), b"x");
    assert_ne!(fs::read("/etc/passwd").unwrap(), b"mine");
}

#[test]
fn two_writers_of_one_file_are_serialized() {
    let root = tempfile::tempdir().unwrap();
    let add = |from: usize| {
        for n in from..from + 100 {
            let line = |old: Option<&str>| Ok(format!("{}{n}\n", old.unwrap_or_default()));
            change_private_below(root.path(), Path::new("sub/.env"), line).unwrap();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| add(0));
        scope.spawn(|| add(100));
    });
    assert_eq!(fs::read_to_string(root.path().join("sub/.env")).unwrap().lines().count(), 200);
}

#[test]
fn configuration_is_readable_from_the_whole_repository() {
    let root = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(root.path()).unwrap();
    let stack = root.join("stacks/shop");
    fs::create_dir_all(&stack).unwrap();
    let alone = SharedRoot::find_root(&stack, false);
    assert_eq!((alone.root.as_path(), alone.place.len()), (stack.as_path(), 0), "{alone:?}");
    fs::write(root.join(".git"), "").unwrap();
    let shared = SharedRoot::find_root(&stack, false);
    assert_eq!((shared.root, shared.place), (root.clone(), vec!["stacks".into(), "shop".into()]));
    let anywhere = SharedRoot::find_root(&stack, true);
    assert_eq!(anywhere.root, Path::new("/"));
    fs::write(root.join("a.stead.yaml"), "x").unwrap();
    std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
    let below = ConfinedFiles {
        root: stack.clone(),
        trust: Trust::None,
        shared: SharedRoot::find_root(&stack, false),
    };
    assert_eq!(below.read_shared(Path::new("a.stead.yaml")).unwrap(), b"x");
    assert!(below.read(Path::new("a.stead.yaml")).is_err());
    for bad in ["../x", "link/passwd", "/etc/passwd"] {
        assert!(below.read_shared(Path::new(bad)).is_err(), "{bad}");
    }
    assert!(below.names_shared(Path::new("link")).is_err());
}

#[test]
fn private_files_have_private_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("deep/er/secret");
    write_private(&path, b"x").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
