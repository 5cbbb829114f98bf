//! A gate before a server, at which a program is killed: after any number of its messages.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

/// A death that is to come.
struct Death {
    /// Messages that pass until then.
    left: u32,
    /// The program, once it runs.
    program: Option<u32>,
    done: bool,
}

/// Passes everything on to a server; before a message of the program, kills it and passes no more on.
#[derive(Default)]
pub struct Gate {
    death: Mutex<Option<Death>>,
    known: Condvar,
}

impl Gate {
    /// Opens one before an address; returns the port.
    pub fn before(to: &str) -> (Arc<Self>, u16) {
        let gate = Arc::new(Self::default());
        let port = gate.listen(to);
        (gate, port)
    }

    /// Listens for one more address; returns the port. The messages to all addresses are counted together.
    pub fn listen(self: &Arc<Self>, to: &str) -> u16 {
        let to = to.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::clone(self);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (gate, server) = (Arc::clone(&shared), TcpStream::connect(&to).unwrap());
                let (mut from, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut back);
                    let _ = back.shutdown(Shutdown::Write);
                });
                std::thread::spawn(move || gate.pass(client, server));
            }
        });
        port
    }

    fn pass(&self, mut client: TcpStream, mut server: TcpStream) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            if self.kills() || server.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Write);
    }

    /// Kills the program if this is the message; tells whether it is dead.
    fn kills(&self) -> bool {
        let mut death = self.death.lock().unwrap();
        match death.as_mut() {
            None => return false,
            Some(death) if death.left > 0 => {
                death.left -= 1;
                return false;
            }
            Some(_) => {}
        }
        let unknown =
            |death: &mut Option<Death>| death.as_ref().is_some_and(|death| death.program.is_none());
        let mut death = self.known.wait_while(death, unknown).unwrap();
        let Some(death) = death.as_mut() else { return false };
        if !std::mem::replace(&mut death.done, true) {
            let program = death.program.unwrap().to_string();
            assert!(Command::new("kill").args(["-9", &program]).status().unwrap().success());
        }
        true
    }

    fn set(&self, death: Option<Death>) {
        *self.death.lock().unwrap() = death;
        self.known.notify_all();
    }

    /// Runs a program that is killed before a message; tells whether it was.
    pub fn kill(&self, mut command: Command, at: u32) -> bool {
        self.set(Some(Death { left: at, program: None, done: false }));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if let Some(death) = self.death.lock().unwrap().as_mut() {
            death.program = Some(child.id());
        }
        self.known.notify_all();
        let ended = child.wait().unwrap();
        self.set(None);
        ended.code().is_none()
    }
}
