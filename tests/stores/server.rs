//! Servers that a test starts for itself: on a free port of this machine, with their data in a temporary
//! directory, and gone at its end.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};

use tempfile::TempDir;

const INSTALL: &str = "install PostgreSQL and pgbouncer: apt-get install postgresql pgbouncer";

/// A PostgreSQL server.
pub struct Database {
    child: Child,
    port: u16,
    directory: TempDir,
}

/// The server that tests share while any of them runs.
static SHARED: Mutex<Weak<Database>> = Mutex::new(Weak::new());

impl Database {
    /// Returns a server that other tests use too.
    pub fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap();
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Self::start());
            *shared = Arc::downgrade(&server);
            server
        })
    }

    /// Starts a server with an empty cluster, whose administrator is `postgres`.
    pub fn start() -> Self {
        let directory = directory();
        let data = directory.path().join("data");
        let made = as_nobody("initdb")
            .args([
                "--auth=trust",
                "--username=postgres",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
                "-D",
            ])
            .arg(&data)
            .output()
            .expect(INSTALL);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let child = as_nobody("postgres")
            .arg("-D")
            .arg(&data)
            .args([
                "-p",
                &port.to_string(),
                "-h",
                "127.0.0.1",
                "-c",
                "fsync=off",
                "-c",
                "logging_collector=off",
            ])
            .arg("-k")
            .arg(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect(INSTALL);
        let mut server = Self { child, port, directory };
        server.wait_until_ready();
        server
    }

    /// Makes a database and returns its address.
    pub fn database(&self, name: &str) -> String {
        let made = Command::new(program("createdb"))
            .args(["-h", "127.0.0.1", "-U", "postgres", "-p", &self.port.to_string(), name])
            .output()
            .expect(INSTALL);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        format!("postgres://postgres@127.0.0.1:{}/{name}", self.port)
    }

    /// Returns the directory of its data and its socket.
    pub fn folder(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the address of a database through the server's socket.
    pub fn socket(&self, name: &str) -> String {
        format!("postgres://postgres@/{name}?host={}&port={}", self.directory.path().display(), self.port)
    }

    fn wait_until_ready(&mut self) {
        let port = self.port.to_string();
        loop {
            let asked = Command::new(program("pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-t", "10", "-p", &port])
                .status();
            if asked.expect(INSTALL).success() {
                return;
            }
            assert_eq!(self.child.try_wait().unwrap(), None, "PostgreSQL ended at once");
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // At once: the data are not needed any more.
        let _ = Command::new("kill").args(["-QUIT", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

/// A pgbouncer before a server, in transaction mode, with two sessions for everybody.
pub struct Bouncer {
    child: Child,
    port: u16,
    _directory: TempDir,
}

impl Bouncer {
    /// Starts one before a server.
    pub fn start(server: &Database) -> Self {
        let (directory, port) = (directory(), free_port());
        let users = directory.path().join("users");
        std::fs::write(&users, "\"postgres\" \"\"\n").unwrap();
        let settings = directory.path().join("pgbouncer.ini");
        // Turn by turn: the next statement gets the session that was used the longest time ago.
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nauth_type = any\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = 3\nmin_pool_size = 3\nserver_round_robin = 1\nunix_socket_dir =\n",
            server.port,
            users.display()
        );
        let text = text.replace("* = host=127.0.0.1", "* = user=postgres host=127.0.0.1");
        std::fs::write(&settings, text).unwrap();
        let child = nobody(&mut Command::new(found("pgbouncer", &[Path::new("/usr/sbin")])))
            .arg("-q")
            .arg(&settings)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect(INSTALL);
        let mut bouncer = Self { child, port, _directory: directory };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert_eq!(bouncer.child.try_wait().unwrap(), None, "pgbouncer ended at once");
            std::thread::yield_now();
        }
        bouncer
    }

    /// Returns the address of a database of the server, through the pooler.
    pub fn address(&self, direct: &str) -> String {
        let (_, database) = direct.rsplit_once('/').unwrap();
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Returns a directory that the servers may use too.
fn directory() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::with_prefix("stead-stores-").unwrap();
    if let Some((user, group)) = other_user() {
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(directory.path(), Some(user), Some(group)).unwrap();
    }
    directory
}

/// PostgreSQL does not run as root: then it runs as the user that its package made.
fn other_user() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let me = std::fs::metadata("/proc/self").unwrap().uid();
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(|number| number.parse().unwrap());
        Some((numbers.next()?, numbers.next()?))
    };
    (me == 0).then(|| find("postgres").or_else(|| find("nobody")).expect(INSTALL))
}

/// Makes a file the server's own.
pub fn give(file: &Path) {
    if let Some((user, group)) = other_user() {
        std::os::unix::fs::chown(file, Some(user), Some(group)).unwrap();
    }
}

fn nobody(command: &mut Command) -> &mut Command {
    command.current_dir("/").env_remove("PGPASSWORD");
    match other_user() {
        Some((user, group)) => command.uid(user).gid(group),
        None => command,
    }
}

fn as_nobody(name: &str) -> Command {
    let mut command = Command::new(program(name));
    nobody(&mut command);
    command
}

/// Returns a program of PostgreSQL: of the newest one that is installed.
fn program(name: &str) -> PathBuf {
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path().join("bin"))
        .collect();
    versions.sort();
    let known: Vec<&Path> = versions.iter().rev().map(PathBuf::as_path).collect();
    found(name, &known)
}

fn found(name: &str, known: &[&Path]) -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = known.iter().map(|folder| folder.to_path_buf()).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(name)).find(|file| file.exists()).expect(INSTALL)
}
