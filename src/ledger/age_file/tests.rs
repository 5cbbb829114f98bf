//! Records that open, and those that are of another place, recipient or form.

use super::*;

fn place() -> SecretLocation {
    SecretLocation {
        lineage: Uuid::from_u128(7),
        environment: "prod".into(),
        address: "api_key.ci".into(),
        version: 3,
        object: Some("key-1".into()),
    }
}

fn recipients(of: &[&AgeIdentity]) -> BTreeSet<Name> {
    of.iter().map(|identity| identity.recipient()).collect()
}

#[test]
fn only_the_recipients_can_decrypt() {
    let (ada, bob, eve) = (AgeIdentity::generate(), AgeIdentity::generate(), AgeIdentity::generate());
    let made = encrypt_value(&recipients(&[&ada, &bob]), &place(), &Secret::new("canary-1")).unwrap();
    for identity in [&ada, &bob] {
        let opened = decrypt_value(&[eve.clone(), identity.clone()], &place(), &made).unwrap();
        assert_eq!(opened.expose(), Some("canary-1"));
    }
    assert_eq!(decrypt_value(&[eve], &place(), &made).unwrap_err(), AgeFileError::NoIdentity);
    assert_eq!(
        encrypt_value(&BTreeSet::new(), &place(), &Secret::new("x")).unwrap_err(),
        AgeFileError::NoRecipients
    );
}

#[test]
fn a_ciphertext_copied_from_another_address_is_rejected() {
    let ada = AgeIdentity::generate();
    let made = encrypt_value(&recipients(&[&ada]), &place(), &Secret::new("canary-1")).unwrap();
    let keys = [ada];
    for (other, what) in [
        (SecretLocation { lineage: Uuid::from_u128(8), ..place() }, "ledger"),
        (SecretLocation { environment: "stage".into(), ..place() }, "environment"),
        (SecretLocation { address: "api_key.cd".into(), ..place() }, "address"),
        (SecretLocation { version: 2, ..place() }, "version"),
        (SecretLocation { version: 4, ..place() }, "version"),
        (SecretLocation { object: Some("key-2".into()), ..place() }, "object"),
        (SecretLocation { object: None, ..place() }, "object"),
    ] {
        let error = decrypt_value(&keys, &other, &made).unwrap_err();
        assert_eq!(error, AgeFileError::Place(what));
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
}

#[test]
fn the_ciphertext_length_hides_the_length_of_the_value() {
    let ada = recipients(&[&AgeIdentity::generate()]);
    // The header has a random length: age puts stanzas into it that mean nothing.
    let length = |value: &str| padded_plaintext(&place(), value).unwrap().len();
    assert_eq!(length("a"), length("a password of thirty-two letters"));
    assert_eq!((length("a") % 256, length("a") < length(&"a".repeat(300))), (0, true));
    let too_large = Secret::new("x".repeat(MAX_VALUE_BYTES + 1));
    assert_eq!(encrypt_value(&ada, &place(), &too_large).unwrap_err(), AgeFileError::Value);
}

#[test]
fn an_invalid_age_file_is_reported_as_damaged() {
    let ada = AgeIdentity::generate();
    let made = encrypt_value(&recipients(&[&ada]), &place(), &Secret::new("canary-1")).unwrap();
    let cut = &made[..made.len() - 40];
    for bad in ["", "canary", cut, &"A".repeat(2 << 20)] {
        assert_eq!(
            decrypt_value(std::slice::from_ref(&ada), &place(), bad).unwrap_err(),
            AgeFileError::Damaged
        );
    }
}

#[test]
fn identity_files_are_parsed_without_repeating_a_line() {
    let ada = AgeIdentity::generate();
    let text = ada.text();
    let key = text.expose().unwrap();
    let parsed = AgeIdentity::parse_file(&format!("# created: today\n\n{key}\n")).unwrap();
    assert_eq!(parsed[0].recipient(), ada.recipient());
    assert_eq!(AgeIdentity::parse_file("# nothing\n").unwrap_err(), 0);
    assert_eq!(AgeIdentity::parse_file(&format!("{key}\nAGE-PLUGIN-YUBIKEY-1XX\n")).unwrap_err(), 2);
    assert!(!format!("{ada:?}").contains("SECRET"));
}

#[test]
fn the_golden_plaintexts_are_read_and_written_as_before() {
    let golden = include_str!("../../../tests/golden/files/age-content.json").trim_end();
    let contents: Vec<AgePayload> = serde_json::from_str(golden).unwrap();
    assert_eq!(serde_json::to_string(&contents).unwrap(), golden);
}

#[test]
fn the_golden_ciphertext_is_decrypted() {
    // An identity, and what was encrypted to it once: it has another text each time.
    let golden = include_str!("../../../tests/golden/files/kept-secret.age");
    let (identity, ciphertext) = golden.trim_end().split_once('\n').unwrap();
    let opened = decrypt_value(&AgeIdentity::parse_file(identity).unwrap(), &place(), ciphertext).unwrap();
    assert_eq!(opened.expose(), Some("canary-1"));
}
