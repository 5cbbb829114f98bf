//! A shared ledger whose lines bear MACs.

use super::*;
use crate::ledger::journal::Journal;
use crate::ledger::seal::SealError;

fn open(world: &World, n: u8, key: Option<&SealKey>) -> Result<Kept, StoreError> {
    let opening = Opening {
        identity: &identity(),
        holder: holder(n),
        effect: Duration::from_mins(1),
        is_dead: &|_| false,
        force: None,
        seal: key,
    };
    now(SharedStore::open(world.shelf.clone(), world.clock.clone(), &opening))
}

fn read(world: &World, key: Option<&SealKey>) -> Result<Ledger, StoreError> {
    now(Kept::read(&world.shelf, "shop", "prod", key)).map(Option::unwrap)
}

#[test]
fn a_line_that_was_written_without_the_key_is_refused_with_its_number() {
    let (world, key) = (world(), SealKey::new(&[7; 32]).unwrap());
    let journal = now(Journal::open(open(&world, 1, Some(&key)).unwrap())).unwrap();
    now(journal.commit(&[adopted(1, "x")])).unwrap();
    now(journal.commit(&[adopted(2, "y")])).unwrap();
    now(journal.abandon());
    let ledger = read(&world, Some(&key)).unwrap();
    assert_eq!(ledger.sealed.as_ref().unwrap().since, 2, "after its birth, before the lease");
    assert_eq!(ledger.entries.len(), 2);
    assert_eq!(read(&world, None).unwrap(), ledger, "reading needs none");
    assert!(matches!(open(&world, 2, None), Err(StoreError::Sealed(SealError::Keyless))));
    let other = SealKey::new(&[8; 32]).unwrap();
    assert!(matches!(open(&world, 2, Some(&other)), Err(StoreError::Sealed(SealError::Other { .. }))));
    assert!(matches!(read(&world, Some(&other)), Err(StoreError::Sealed(SealError::Other { .. }))));
    let lines = &world.shelf.inner.0.lines;
    let whole = lines.borrow().clone();
    for (number, line) in &whole {
        let bare = line.len() - 1 - 65;
        let stripped = [&line[..bare], b"\n"].concat();
        let mut doctored = line.clone();
        doctored[bare + 1] = if doctored[bare + 1] == b'0' { b'1' } else { b'0' };
        for (text, why) in [(stripped, "it bears no MAC"), (doctored, "its MAC does not match")] {
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
