//! Two processes and the lease that they take from one another.

/// Processes that share a ledger.
pub const WORKERS: usize = 2;

/// Who may write the ledger.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lease {
    /// Nobody, or the number of a process plus one.
    pub holder: u8,
    /// Counts the takings.
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

    /// Returns the holder's index, if someone has the lease.
    pub fn held_by(self) -> Option<usize> {
        usize::from(self.holder).checked_sub(1)
    }
}

fn number(worker: usize) -> u8 {
    u8::try_from(worker + 1).expect("few processes")
}
