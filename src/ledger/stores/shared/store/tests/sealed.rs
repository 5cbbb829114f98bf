//! A shared ledger whose lines bear MACs.

use super::*;
use crate::ledger::journal::error::MacError;
use crate::ledger::journal::handle::Journal;

fn open(world: &World, n: u8, key: Option<&MacKey>) -> Result<Kept, StoreError> {
    let opening = OpenOptions {
        identity: &identity(),
        holder: holder(n),
        effect: Duration::from_mins(1),
        is_dead: &|_| false,
        force: None,
        seal: key,
    };
    now(SharedStore::open(world.backend.clone(), world.clock.clone(), &opening))
}

fn read(world: &World, key: Option<&MacKey>) -> Result<Ledger, StoreError> {
    now(Kept::read(&world.backend, "shop", "prod", key)).map(Option::unwrap)
}

#[test]
fn a_line_forged_without_the_key_is_rejected_with_its_number() {
    let (world, key) = (world(), MacKey::new(&[7; 32]).unwrap());
    let journal = now(Journal::open(open(&world, 1, Some(&key)).unwrap())).unwrap();
    now(journal.commit(&[adopted(1, "x")])).unwrap();
    now(journal.commit(&[adopted(2, "y")])).unwrap();
    now(journal.abandon());
    let ledger = read(&world, Some(&key)).unwrap();
    assert_eq!(ledger.sealed.as_ref().unwrap().since, 2, "after its birth, before the lease");
    assert_eq!(ledger.entries.len(), 2);
    assert_eq!(read(&world, None).unwrap(), ledger, "reading needs none");
    assert!(matches!(open(&world, 2, None), Err(StoreError::Sealed(MacError::MissingKey))));
    let other = MacKey::new(&[8; 32]).unwrap();
    assert!(matches!(open(&world, 2, Some(&other)), Err(StoreError::Sealed(MacError::WrongKey { .. }))));
    assert!(matches!(read(&world, Some(&other)), Err(StoreError::Sealed(MacError::WrongKey { .. }))));
    let lines = &world.backend.inner.0.lines;
    let whole = lines.borrow().clone();
    for (number, line) in &whole {
        let bare = line.len() - 1 - 65;
        let stripped = [&line[..bare], b"\n"].concat();
        let mut doctored = line.clone();
        doctored[bare + 1] = if doctored[bare + 1] == b'0' { b'1' } else { b'0' };
        for (text, why) in [(stripped, "it has no MAC"), (doctored, "its MAC does not match")] {
            lines.borrow_mut().insert(*number, text);
            let error = read(&world, Some(&key)).unwrap_err().to_string();
            assert!(error.contains(&format!("line {number} is damaged: {why}")), "{error}");
            assert!(open(&world, 2, Some(&key)).is_err());
        }
        lines.borrow_mut().insert(*number, line.clone());
    }
    let store = open(&world, 2, Some(&key)).unwrap();
    let journal = now(Journal::open(store)).unwrap();
    now(journal.commit(&[adopted(3, "z")])).unwrap();
    now(journal.close()).unwrap();
    assert_eq!(read(&world, Some(&key)).unwrap().entries.len(), 3);
}

fn open_after_death(world: &World, n: u8, key: Option<&MacKey>) -> Result<Kept, StoreError> {
    let opening = OpenOptions {
        identity: &identity(),
        holder: holder(n),
        effect: Duration::from_mins(1),
        is_dead: &|_| true,
        force: None,
        seal: key,
    };
    now(SharedStore::open(world.backend.clone(), world.clock.clone(), &opening))
}

fn sealed(world: &World, n: u8, from: Option<&MacKey>, to: &MacKey) -> Result<(), StoreError> {
    let journal = now(Journal::open(open_after_death(world, n, from)?))?;
    now(journal.enable_macs(to, "ada@host", Timestamp::UNIX_EPOCH))?;
    now(journal.close())
}

/// One that owns something, with so many lines that the next opening sums them up.
fn plain(lines: u8) -> World {
    let world = world();
    let journal = now(Journal::open(open(&world, 1, None).unwrap())).unwrap();
    for n in 0..lines {
        now(journal.commit(&[adopted(n, "x")])).unwrap();
    }
    now(journal.abandon());
    world
}

#[test]
fn with_a_key_a_ledger_without_macs_is_rejected_until_they_are_added() {
    let (one, two) = (MacKey::new(&[7; 32]).unwrap(), MacKey::new(&[8; 32]).unwrap());
    for lines in [2, 80] {
        let world = plain(lines);
        let unsealed = |result: Result<(), StoreError>| {
            assert!(matches!(result, Err(StoreError::Sealed(MacError::MissingMacs))), "{result:?}");
        };
        unsealed(read(&world, Some(&one)).map(drop));
        unsealed(open(&world, 2, Some(&one)).map(drop));
        sealed(&world, 2, None, &one).unwrap();
        assert_eq!(read(&world, Some(&one)).unwrap().entries.len(), usize::from(lines));
        sealed(&world, 3, Some(&one), &two).unwrap();
        assert_eq!(read(&world, Some(&two)).unwrap().sealed.unwrap().previous.len(), 1);
        assert!(matches!(read(&world, Some(&one)), Err(StoreError::Sealed(MacError::WrongKey { .. }))));
        let journal = now(Journal::open(open(&world, 4, Some(&two)).unwrap())).unwrap();
        now(journal.commit(&[adopted(200, "y")])).unwrap();
        now(journal.close()).unwrap();
        assert_eq!(read(&world, Some(&two)).unwrap().entries.len(), usize::from(lines) + 1);
    }
}

/// A write that fails, or whose answer is lost, is the last one of the process.
#[test]
fn adding_macs_is_atomic_when_killed_at_any_write() {
    let (one, two) = (MacKey::new(&[7; 32]).unwrap(), MacKey::new(&[8; 32]).unwrap());
    for (lines, from) in [(2, None), (80, None), (2, Some(&one))] {
        let (mut before, mut after) = (0, 0);
        for last in [Fate::NoEffect, Fate::AnswerLost] {
            for write in 0_usize.. {
                let world = plain(lines);
                if let Some(one) = from {
                    sealed(&world, 2, None, one).unwrap();
                }
                let fates = std::iter::repeat_n(Fate::Done, write).chain([last]);
                world.clock.naps.set(99);
                *world.backend.fates.borrow_mut() =
                    fates.chain(std::iter::repeat_n(Fate::NoEffect, 99)).collect();
                let done = sealed(&world, 3, from, &two).is_ok();
                world.backend.fates.borrow_mut().clear();
                match (read(&world, from), read(&world, Some(&two))) {
                    (_, Ok(found)) if found.sealed.is_some() => after += 1,
                    (Ok(_), Err(StoreError::Sealed(_))) => before += 1,
                    other => panic!("write {write}: {other:?}"),
                }
                if read(&world, Some(&two)).is_err() {
                    sealed(&world, 4, from, &two).unwrap();
                }
                assert_eq!(read(&world, Some(&two)).unwrap().entries.len(), usize::from(lines));
                if done {
                    break;
                }
            }
        }
        assert!(before > 3 && after > 2, "{before} {after}");
    }
}

/// It must not be taken for done: the summary that is there has no MAC.
#[test]
fn an_existing_checkpoint_without_macs_is_not_taken_for_the_new_one() {
    let (world, key) = (plain(2), MacKey::new(&[7; 32]).unwrap());
    let journal = now(Journal::open(open(&world, 2, None).unwrap())).unwrap();
    let number = *world.backend.inner.0.lines.borrow().keys().last().unwrap() + 1;
    world.backend.inner.0.summaries.borrow_mut().insert(number, b"another".to_vec());
    assert!(now(journal.enable_macs(&key, "ada@host", Timestamp::UNIX_EPOCH)).is_err());
}
