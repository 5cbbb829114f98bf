//! Paths that lead astray, links that come and go, masks and rights.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// What must never be read: it stands beside the root.
const OUTSIDE: &str = "outside";

/// A root with good files in it and every kind of bad thing beside them.
struct Scene {
    _all: tempfile::TempDir,
    root: PathBuf,
    beside: PathBuf,
}

fn scene() -> Scene {
    let all = tempfile::tempdir().unwrap();
    let (root, beside) = (all.path().join("root"), all.path().join("beside"));
    for folder in ["root/keys/deep", "root/a b", "beside/keys"] {
        fs::create_dir_all(all.path().join(folder)).unwrap();
    }
    for good in ["plain", "keys/id.pub", "keys/deep/x", "a b/ü", "..a", "a..", "...", "-f"] {
        fs::write(root.join(good), "good").unwrap();
    }
    fs::write(beside.join("secret"), OUTSIDE).unwrap();
    fs::write(beside.join("keys/id.pub"), OUTSIDE).unwrap();
    for (to, name) in [
        ("../beside/secret", "link"),
        ("../beside", "folder"),
        ("/etc/passwd", "absolute"),
        ("/proc/self/environ", "environ"),
        ("/proc/self/root/etc/passwd", "magic"),
        ("plain", "inside"),
        ("loop", "loop"),
        ("nowhere", "dangling"),
        (".", "here"),
        ("..", "keys/up"),
        ("/dev/zero", "zero"),
    ] {
        symlink(to, root.join(name)).unwrap();
    }
    let fifo = rustix::fs::CWD;
    rustix::fs::mknodat(fifo, root.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    Scene { _all: all, root, beside }
}

/// Ways to write a bad path, around what it leads to.
fn bad_paths(scene: &Scene) -> Vec<String> {
    let beside = scene.beside.display();
    let targets = [
        "../beside/secret".to_owned(),
        "keys/../../beside/secret".to_owned(),
        "keys/deep/../../../beside/secret".to_owned(),
        "./../beside/secret".to_owned(),
        "keys/..".to_owned(),
        "..".to_owned(),
        "../".to_owned(),
        ".".to_owned(),
        "/".to_owned(),
        String::new(),
        format!("{beside}/secret"),
        format!("/{beside}/secret"),
        "/etc/passwd".to_owned(),
        "/etc/shadow".to_owned(),
        "/proc/self/environ".to_owned(),
        "/proc/self/mem".to_owned(),
        "/dev/zero".to_owned(),
        "/dev/stdin".to_owned(),
        "/root/.ssh/id_ed25519".to_owned(),
        "link".to_owned(),
        "inside".to_owned(),
        "absolute".to_owned(),
        "environ".to_owned(),
        "magic".to_owned(),
        "loop".to_owned(),
        "dangling".to_owned(),
        "zero".to_owned(),
        "folder/secret".to_owned(),
        "folder/keys/id.pub".to_owned(),
        "here/plain".to_owned(),
        "here/here/here/plain".to_owned(),
        "keys/up/plain".to_owned(),
        "keys/up/../beside/secret".to_owned(),
        "fifo".to_owned(),
        "socket".to_owned(),
        "keys".to_owned(),
        "keys/deep".to_owned(),
        "plain/x".to_owned(),
        "plain/../plain".to_owned(),
        "nothing".to_owned(),
        "keys/id.pub\0".to_owned(),
        "plain\0/../../beside/secret".to_owned(),
        "a".repeat(5000),
        "a/".repeat(3000),
    ];
    let dress: [fn(&str) -> String; 5] = [
        str::to_owned,
        |path| format!("./{path}"),
        |path| format!("keys/deep/../../{path}"),
        |path| format!("{path}/."),
        |path| path.replace('/', "//"),
    ];
    targets.iter().flat_map(|path| dress.map(|dress| dress(path))).collect()
}

#[test]
fn two_hundred_hostile_paths_are_rejected() {
    let scene = scene();
    let folder = DirHandle::open_user_dir(&scene.root).unwrap();
    for good in ["plain", "./plain", "keys/id.pub", "keys/./deep/x", "a b/ü", "..a", "a..", "...", "-f"] {
        for file in [folder.open_below(Path::new(good)), folder.open_step_by_step(Path::new(good))] {
            let bytes = read_bounded(file.unwrap_or_else(|error| panic!("{good}: {error}")), 10).unwrap();
            assert_eq!(bytes, b"good", "{good}");
        }
    }
    let bad = bad_paths(&scene);
    assert!(bad.len() >= 200, "{}", bad.len());
    for path in &bad {
        // A trailing dot names the same file where it is a file.
        let opened = [folder.open_below(Path::new(path)), folder.open_step_by_step(Path::new(path))];
        for file in opened.into_iter().flatten() {
            let bytes = read_bounded(file, 10).unwrap();
            assert_eq!(bytes, b"good", "{path:?} was read from elsewhere");
            assert!(!path.contains(".."), "{path:?} may not be used");
        }
    }
    for sure in
        ["link", "inside", "environ", "magic", "folder/secret", "here/plain", "fifo", "socket", "/dev/zero"]
    {
        assert!(folder.open_below(Path::new(sure)).is_err(), "{sure}");
        assert!(folder.open_step_by_step(Path::new(sure)).is_err(), "{sure}");
    }
}

#[test]
fn a_file_name_in_a_directory_contains_no_path() {
    let root = tempfile::tempdir().unwrap();
    let folder = DirHandle::open_user_dir(root.path()).unwrap();
    for name in ["", ".", "..", "a/b", "../x", "/x", "a\0"] {
        assert!(folder.open_file(name, OFlags::WRONLY | OFlags::CREATE).is_err(), "{name:?}");
        assert!(folder.replace(name, 0o600, |_| Ok(())).is_err(), "{name:?}");
        assert!(folder.remove(name).is_err() && folder.rename("a", name).is_err(), "{name:?}");
    }
    assert_eq!(folder.names().unwrap(), Vec::<String>::new(), "nothing is left behind");
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let folder = DirHandle::open_user_dir(root.path()).unwrap();
    folder.replace("a", 0o600, |file| file.write_all(b"old")).unwrap();
    let failed = folder.replace("a", 0o600, |file| {
        file.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(folder.names().unwrap(), ["a"]);
    assert_eq!(folder.read("a").unwrap().unwrap(), b"old");
}

#[test]
fn a_symlink_is_replaced_and_not_written_through() {
    let scene = scene();
    let folder = DirHandle::open_user_dir(&scene.root).unwrap();
    folder.replace("link", 0o600, |file| file.write_all(b"mine")).unwrap();
    assert_eq!(fs::read_to_string(scene.beside.join("secret")).unwrap(), OUTSIDE);
    assert!(fs::symlink_metadata(scene.root.join("link")).unwrap().is_file());
    assert!(folder.open_file("absolute", OFlags::WRONLY | OFlags::APPEND).is_err());
    assert!(folder.make_below(Path::new("folder/x")).is_err());
    assert!(folder.make_below(Path::new("../x")).is_err() && folder.make_below(Path::new("/x")).is_err());
    assert!(!scene.beside.join("x").exists());
}

#[test]
fn private_directories_are_not_symlinks_and_have_one_owner() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path().join("stack/.stead/ledger/prod");
    DirHandle::create_private_dir(&place).unwrap();
    DirHandle::open_private_dir(&place).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for part in ["stack/.stead", "stack/.stead/ledger", "stack/.stead/ledger/prod"] {
        assert_eq!(mode(&root.path().join(part)), 0o700, "{part}");
    }
    let ignored = root.path().join("stack/.stead/.gitignore");
    assert_eq!(fs::read_to_string(&ignored).unwrap(), "*\n");
    fs::remove_file(&ignored).unwrap();
    DirHandle::create_private_dir(&place).unwrap();
    assert!(!ignored.exists(), "whoever takes it away wants it so");
    let ledger = root.path().join("stack/.stead/ledger");
    for (mode, fine) in [(0o777, false), (0o1777, true), (0o775, true), (0o755, true), (0o702, false)] {
        fs::set_permissions(&ledger, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(DirHandle::open_private_dir(&place).is_ok(), fine, "{mode:o}");
        assert_eq!(DirHandle::create_private_dir(&place).is_ok(), fine, "{mode:o}");
    }
    fs::set_permissions(&ledger, fs::Permissions::from_mode(0o700)).unwrap();
    let elsewhere = root.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("ledger/prod")).unwrap();
    fs::remove_dir_all(root.path().join("stack/.stead")).unwrap();
    symlink(&elsewhere, root.path().join("stack/.stead")).unwrap();
    assert!(DirHandle::create_private_dir(&place).is_err() && DirHandle::open_private_dir(&place).is_err());
}

/// Another process that swaps a directory for a link, over and over, while files are written in it.
#[test]
fn ten_thousand_directory_swaps_redirect_no_write() {
    const SWAPS: usize = 10_000;
    let root = tempfile::tempdir().unwrap();
    let place = root.path().join(".stead/ledger");
    let trap = root.path().join("trap");
    fs::create_dir_all(&trap).unwrap();
    fs::create_dir_all(&place).unwrap();
    let (aside, link) = (root.path().join("aside"), root.path().join("link"));
    symlink(&trap, &link).unwrap();
    let swapping = std::thread::spawn({
        let (place, aside, link) = (place.clone(), aside.clone(), link.clone());
        move || {
            for _ in 0..SWAPS / 2 {
                fs::rename(&place, &aside).unwrap();
                fs::rename(&link, &place).unwrap();
                fs::rename(&place, &link).unwrap();
                fs::rename(&aside, &place).unwrap();
            }
        }
    });
    while !swapping.is_finished() {
        // Refused while it is a link; where it is not, the write goes where it was checked.
        if let Ok(folder) = DirHandle::open_private_dir(&place) {
            folder.replace("a", 0o600, |file| file.write_all(b"mine")).unwrap();
            folder.open_file("journal", OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE).unwrap();
        }
    }
    swapping.join().unwrap();
    assert_eq!(fs::read_dir(&trap).unwrap().count(), 0, "nothing landed elsewhere");
    DirHandle::open_private_dir(&place)
        .unwrap()
        .replace("a", 0o600, |file| file.write_all(b"mine"))
        .unwrap();
    assert_eq!(fs::read(place.join("a")).unwrap(), b"mine");
}

/// The same for what a stack's files name: what is read was never outside.
#[test]
fn a_swapped_path_component_is_not_read_through() {
    let scene = scene();
    let folder = DirHandle::open_user_dir(&scene.root).unwrap();
    let (keys, aside, link) = (scene.root.join("keys"), scene.root.join("aside"), scene.root.join("to"));
    symlink(scene.beside.join("keys"), &link).unwrap();
    let swapping = std::thread::spawn(move || {
        for _ in 0..2_500 {
            fs::rename(&keys, &aside).unwrap();
            fs::rename(&link, &keys).unwrap();
            fs::rename(&keys, &link).unwrap();
            fs::rename(&aside, &keys).unwrap();
        }
    });
    let path = Path::new("keys/id.pub");
    while !swapping.is_finished() {
        for file in [folder.open_below(path), folder.open_step_by_step(path)].into_iter().flatten() {
            assert_eq!(read_bounded(file, 10).unwrap(), b"good");
        }
    }
    swapping.join().unwrap();
}
