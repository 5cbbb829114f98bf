//! The lease of the ledger, which two processes take from each other.

/// Number of processes that share a ledger.
pub const WORKERS: usize = 2;

/// The process that may write the ledger.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lease {
    /// 0 for no process, else its index plus one.
    pub holder: u8,
    /// How often the lease was taken.
    pub epoch: u8,
}

impl Lease {
    pub fn is_of(self, worker: usize, epoch: u8) -> bool {
        self.holder == number(worker) && self.epoch == epoch
    }

    /// Gives the lease to a process. Returns its epoch.
    pub fn take(&mut self, worker: usize) -> u8 {
        self.holder = number(worker);
        self.epoch += 1;
        self.epoch
    }

    pub fn give_back(&mut self) {
        self.holder = 0;
    }

    /// Returns the holder's index; `None` if the lease is free.
    pub fn held_by(self) -> Option<usize> {
        usize::from(self.holder).checked_sub(1)
    }
}

fn number(worker: usize) -> u8 {
    u8::try_from(worker + 1).expect("few processes")
}
