//! The stack of the kill tests: small, and different in every round.

use std::fmt::Write;

use super::chance::Chance;

/// The desired objects of a round, and their properties.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stack {
    /// Number of volumes; 0 for an empty stack.
    pub volumes: u64,
    /// Size of the volumes in GB; it only grows.
    pub size: u64,
    pub machine: bool,
    pub key: bool,
    /// Part of every name, so that names change in place.
    pub word: &'static str,
}

impl Stack {
    /// Returns the next round's stack; the size never shrinks.
    pub fn next(&self, chance: &mut Chance) -> Self {
        if chance.below(4) == 0 {
            return Self::default();
        }
        Self {
            volumes: 1 + chance.below(3),
            size: self.size.max(1) + chance.below(2),
            machine: chance.below(3) > 0,
            key: chance.below(2) == 0,
            word: ["red", "green", "blue"][usize::try_from(chance.below(3)).unwrap_or_default()],
        }
    }

    pub fn is_nothing(&self) -> bool {
        self.volumes == 0
    }

    /// Returns the desired number of objects in a collection.
    pub fn count(&self, collection: &str) -> u64 {
        match collection {
            "volumes" => self.volumes,
            "vpcs" => u64::from(!self.is_nothing()),
            "vms" => u64::from(self.machine),
            "ssh-keys" => u64::from(self.key),
            _ => 0,
        }
    }

    /// Returns the stack's file. Volumes are added and removed: their removal is approved where they are declared.
    pub fn yaml(&self) -> String {
        let Self { volumes, size, machine, key, word } = self;
        let mut text = "stead: 1\nstack: kill\nvpc:\n  net: { cidr: 10.9.0.0/16 }\nvolume:\n".to_owned();
        for n in 0..*volumes {
            let _ = writeln!(
                text,
                "  disk-{n}: {{ name: disk-{n}, size: {size}, lifecycle: {{ on_remove: delete }} }}"
            );
        }
        if *machine {
            let _ = writeln!(
                text,
                "vm:\n  web: {{ name: web-{word}, template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.net, lifecycle: {{ on_remove: delete }} }}"
            );
        }
        if *key {
            text.push_str(
                "ssh_key:\n  deploy: { public_key: ssh-ed25519 \
                 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl deploy }\n",
            );
        }
        text
    }
}
