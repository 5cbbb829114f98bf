//! Resources that move between two stacks: with the command, declared by hand, from either side, with conflicts, and
//! after an apply that was killed between the records of the two ledgers.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests edit files")]

use std::fs;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use stead::ledger::journal::handle::Journal;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::replay::transfers::pending_entries;
use stead::ledger::state::entry::LedgerIdentity;
use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::state::transfer::{LedgerPeer, Transfer};
use stead::ledger::stores::file::store::FileStore;
use stead::ledger::stores::open_options::OpenOptions;
use stead::model::address::Address;
use uuid::Uuid;

use crate::case::{Case, Run};

const SHOP: &str = "\
stead: 1
stack: shop
vpc:
  main: { cidr: 10.0.0.0/16 }

# Where the orders are.
database:
  # Keep this one small.
  orders:
    plan: pg-free   # the smallest
    users:
      app: {}
    lifecycle: { protect: true }
";

const DATA: &str = "\
stead: 1
stack: data
vpc: { own: { cidr: 10.1.0.0/16 } }
";

/// Two stacks of one repository, applied.
struct Stacks(Case);

impl Stacks {
    fn new(shop: &str, data: &str) -> Self {
        let case = Case::new().file(".git", "").emulator();
        case.write("shop/stead.yaml", shop);
        case.write("data/stead.yaml", data);
        let stacks = Self(case);
        stacks.exits(0, "shop", "apply --yes");
        stacks.exits(0, "data", "apply --yes");
        stacks
    }

    fn exits(&self, code: i32, directory: &str, args: &str) -> Run {
        self.0.fails(code, &format!("-C {directory} {args}"))
    }

    /// Returns the addresses and ids that a stack's ledger owns.
    fn owned(&self, directory: &str) -> Vec<(String, String)> {
        let document = self.exits(0, directory, "state pull").json();
        let entries = document["ledger"]["entries"].as_object().unwrap();
        let id = |entry: &Value| entry["current"]["id"].as_str().unwrap_or_default().to_owned();
        entries.iter().map(|(address, entry)| (address.clone(), id(entry))).collect()
    }

    fn databases(&self) -> usize {
        self.0.cloud().list("/api/v1/databases").len()
    }
}

#[test]
fn a_block_moves_to_another_stack_with_its_comments_and_its_object() {
    for from in ["shop", "data"] {
        let stacks = Stacks::new(SHOP, DATA);
        let before = stacks.owned("shop");
        let last = stacks.0.cloud().last();
        stacks.exits(0, "shop", "mv database.orders --to-stack ../data --yes").says(&[
            "+    stack: \"../data\"",
            "-  # Keep this one small.",
            "+    from_stack: \"../shop\"",
            "next:",
        ]);
        let data = fs::read_to_string(stacks.0.path("data/stead.yaml")).unwrap();
        for text in ["# Where the orders are.", "# Keep this one small.", "# the smallest", "protect: true"]
        {
            assert!(data.contains(text), "{text}: {data}");
        }
        for directory in ["shop", "data"] {
            stacks.exits(0, directory, "validate");
            stacks.exits(2, directory, "plan --exit-code").says(&["0 create", "0 delete", "2 move"]);
        }
        stacks.exits(2, "data", "plan --exit-code").says(&["was database.orders of shop/default"]);
        stacks.exits(2, "shop", "plan --exit-code").says(&["moves to data/default as database.orders"]);
        stacks.exits(0, from, "apply --yes").says(&["Applied: 2 done", "Moved 2 resources"]);
        assert_eq!(stacks.0.cloud().mutations_since(last), Vec::<String>::new(), "no object is touched");
        for directory in ["shop", "data"] {
            stacks
                .exits(0, directory, "plan --exit-code")
                .says(&["No changes", "1 declaration has nothing left to do"]);
            stacks.exits(0, directory, "ls --unmanaged");
            stacks.exits(0, directory, "fmt --prune");
            stacks.exits(0, directory, "plan --exit-code").says(&["No changes"]);
            let text = fs::read_to_string(stacks.0.path(&format!("{directory}/stead.yaml"))).unwrap();
            assert!(!text.contains("moved"), "{text}");
        }
        let (shop, data) = (stacks.owned("shop"), stacks.owned("data"));
        assert_eq!((shop.len(), data.len()), (1, 3));
        assert!(
            before.iter().all(|one| shop.contains(one) || data.contains(one)),
            "{before:?} {shop:?} {data:?}"
        );
        // The protection moved, too: the other stack cannot delete it by accident.
        stacks.0.write("data/stead.yaml", DATA);
        stacks.exits(4, "data", "apply --yes").says(&["protected"]);
        assert_eq!(stacks.databases(), 1);
    }
}

#[test]
fn a_reference_that_would_cross_the_stacks_is_listed_with_its_location() {
    let refers = SHOP.replace("plan: pg-free", "vpc: $vpc.main\n    plan: pg-free");
    let used = format!("{SHOP}outputs: {{ name: $database.orders.name }}\n");
    // A warning there is no reason.
    let data = format!("{DATA}vars: {{ spare: {{ type: int, default: 1 }} }}\n");
    for (shop, words) in [
        (refers, ["database.orders refers to vpc.main", "stead.yaml:10", "$stacks.shop"]),
        (used, ["outputs.name at", "stead.yaml:14", "$stacks.web"]),
    ] {
        let case = Case::new().file(".git", "");
        case.write("shop/stead.yaml", &shop);
        case.write("data/stead.yaml", &data);
        let stacks = Stacks(case);
        let refused = stacks.exits(1, "shop", "mv database.orders --to-stack ../data --yes");
        assert!(!refused.says(&words).all().contains("spare"), "{}", refused.all());
        assert_eq!(fs::read_to_string(stacks.0.path("shop/stead.yaml")).unwrap(), shop);
        assert_eq!(fs::read_to_string(stacks.0.path("data/stead.yaml")).unwrap(), data);
    }
}

#[test]
fn a_block_does_not_move_to_a_stack_that_lacks_an_environment() {
    let stack = |name: &str, environments: &str| {
        format!(
            "stead: 1\nstack: {name}\n{environments}volume:\n  {name}: {{ name: \"{name}-${{env}}\", size: 10 }}\n"
        )
    };
    let declares = |names: &str| format!("environments: {{ {names} }}\n");
    let stacks = Stacks(Case::new().file(".git", ""));
    let write = |own: &str, other: &str| {
        stacks.0.write("a/stead.yaml", stack("a", own));
        stacks.0.write("b/stead.yaml", stack("b", other));
    };
    let mv = "mv volume.a --to-stack ../b --yes";
    let (two, three) = (declares("dev: {}, prod: {}"), declares("dev: {}, prod: {}, test: {}"));
    for (own, other, says) in [
        (&*three, &*declares("dev: {}"), &["in ../b lacks `prod`, `test`", "prod: {}, test: {}"][..]),
        (&*two, &*three, &["This stack lacks `test`", "Add to `environments` here: test: {}"]),
        (&*two, "", &["in ../b lacks `dev`, `prod`", "This stack lacks `default`"]),
    ] {
        write(own, other);
        stacks.exits(1, "a", &format!("-e dev {mv}")).says(&["volume.a cannot move"]).says(says);
        assert_eq!(fs::read_to_string(stacks.0.path("a/stead.yaml")).unwrap(), stack("a", own));
        assert_eq!(fs::read_to_string(stacks.0.path("b/stead.yaml")).unwrap(), stack("b", other));
    }
    // What the message says to add is enough.
    write(&two, &declares("dev: {}"));
    stacks.0.edit("b/stead.yaml", "dev: {}", "dev: {}, prod: {}");
    stacks.exits(0, "a", &format!("-e dev {mv}"));
    stacks.0.ok("validate --all");
    // Without environments on one side, the only one of the other side belongs to it.
    write("", &declares("dev: {}"));
    stacks.exits(0, "a", mv);
    stacks.0.ok("validate --all");
}

#[test]
fn kdl_blocks_move_and_other_forms_are_refused() {
    let case = Case::new().file(".git", "");
    let kdl = "stead 1\nstack \"a\"\n// The disk\nvolume \"d\" {\n    size 10\n}\nvolume \"set\" for_each=(list)x\n";
    let kdl =
        kdl.replace("volume \"set\" for_each=(list)x\n", "vpc \"v\" {\n    cidr \"10.0.0.0/16\"\n}\n");
    case.write("a/stead.kdl", kdl);
    case.write("b/stead.kdl", "stead 1\nstack \"b\"\n");
    case.write("c/stead.yaml", "stead: 1\nstack: c\n");
    let stacks = Stacks(case);
    stacks
        .exits(1, "a", "mv volume.d --to-stack ../c --yes")
        .says(&["different syntaxes", "stead convert"]);
    stacks.exits(64, "a", "mv volume.d --to-stack . --yes").says(&["the stack itself"]);
    stacks.exits(64, "a", "mv volume.d volume.e --to-stack ../b --yes");
    stacks.exits(64, "a", "mv volume.d");
    stacks.exits(0, "a", "mv volume.d --to-stack ../b --yes");
    let text = fs::read_to_string(stacks.0.path("b/stead.kdl")).unwrap();
    assert!(text.contains("// The disk\nvolume \"d\" {\n    size 10\n}"), "{text}");
    stacks.exits(0, "a", "validate");
    stacks.exits(0, "b", "validate");
}

#[test]
fn a_block_in_brackets_moves_into_lines_and_into_brackets() {
    let block = "d: { size: 10, lifecycle: { protect: true } }";
    let lines = "volume:\n  # The disk.\n  d:\n    size: 10\n";
    for (from, to, code, moved) in [
        (format!("volume: {{ {block} }}\n"), "", 0, format!("volume:\n  {block}\n")),
        (
            format!("volume: {{ a: {{ size: 1 }}, {block} }}\n"),
            "volume: { e: { size: 2 } }\n",
            0,
            format!("volume: {{ e: {{ size: 2 }}, {block} }}\n"),
        ),
        (
            format!("volume: {{ {block}, a: {{ size: 1 }} }}\n"),
            "volume:\n  e: { size: 2 }\n",
            0,
            format!("volume:\n  e: {{ size: 2 }}\n  {block}\n"),
        ),
        (lines.to_owned(), "volume: { e: { size: 2 } }\n", 1, "volume: { e: { size: 2 } }\n".to_owned()),
    ] {
        let case = Case::new().file(".git", "");
        case.write("a/stead.yaml", format!("stead: 1\nstack: a\n{from}"));
        case.write("b/stead.yaml", format!("stead: 1\nstack: b\n{to}"));
        let stacks = Stacks(case);
        let run = stacks.exits(code, "a", "mv volume.d --to-stack ../b --yes");
        let text = fs::read_to_string(stacks.0.path("b/stead.yaml")).unwrap();
        assert!(text.contains(&moved), "{from}{to}{text}");
        stacks.exits(0, "a", "validate");
        stacks.exits(0, "b", "validate");
        if code != 0 {
            run.says(&["the other stack has its `volume` in brackets", "Nothing was written"]);
            assert_eq!(
                fs::read_to_string(stacks.0.path("a/stead.yaml")).unwrap(),
                format!("stead: 1\nstack: a\n{from}")
            );
        }
    }
}

/// Both stacks with the move of `database.orders` declared, not applied.
fn declared() -> Stacks {
    let stacks = Stacks::new(SHOP, DATA);
    stacks.exits(0, "shop", "mv database.orders --to-stack ../data --yes");
    stacks
}

#[test]
fn a_declaration_that_does_not_fit_the_other_stack_is_an_error_at_its_line() {
    let stacks = declared();
    for (file, from, to, words) in [
        (
            "shop",
            "stack: \"../data\"",
            "stack: \"../nowhere\"",
            vec!["no readable stack in `../nowhere`", "stead.yaml:"],
        ),
        ("shop", "stack: \"../data\"", "stack: \"../shop\"", vec!["directory of the stack itself"]),
        (
            "shop",
            "to: database.orders",
            "to: database.sales",
            vec!["declares database.sales", "would delete the object"],
        ),
        (
            "shop",
            "to: database.orders",
            "to: vm.orders",
            vec!["database.orders is a database, and vm.orders a vm"],
        ),
        ("data", "from: database.orders", "from: vm.orders", vec!["vm.orders is a vm"]),
        ("data", "to: database.orders", "to: database.other", vec!["No block declares database.other"]),
        ("data", "from: database.orders", "from: vpc.main", vec!["vpc.main is a vpc"]),
    ] {
        let path = format!("{file}/stead.yaml");
        let before = fs::read_to_string(stacks.0.path(&path)).unwrap();
        stacks.0.edit(&path, from, to);
        stacks.exits(1, file, "validate").says(&words);
        stacks.exits(1, file, "apply --yes").says(&words);
        stacks.0.write(&path, before);
    }
    let shop = fs::read_to_string(stacks.0.path("shop/stead.yaml")).unwrap();
    stacks.0.write(
        "shop/stead.yaml",
        format!("{SHOP}moved:\n  - {{ from: database.orders, to: database.orders, stack: ../data }}\n"),
    );
    stacks.exits(1, "shop", "validate").says(&["still declares"]);
    stacks.exits(1, "data", "apply --yes").says(&["still declares it"]);
    stacks.0.write("shop/stead.yaml", shop);
    stacks.exits(4, "data", "plan --untrusted --exit-code").says(&["--untrusted"]);
    assert_eq!(stacks.databases(), 1);
}

#[test]
fn a_move_that_cannot_be_made_deletes_and_creates_nothing() {
    let stacks = declared();
    // The other stack has an object at the address already.
    let data = fs::read_to_string(stacks.0.path("data/stead.yaml")).unwrap();
    let own =
        data.split("moved:").next().unwrap().replace("plan: pg-free", "name: twin\n    plan: pg-free");
    stacks.0.write("data/stead.yaml", own);
    stacks.exits(0, "data", "apply --yes");
    let last = stacks.0.cloud().last();
    stacks
        .exits(4, "shop", "apply --yes --allow-deletes")
        .says(&["database.orders cannot be moved", "the other ledger has a resource at"]);
    assert_eq!(stacks.0.cloud().mutations_since(last), Vec::<String>::new());
    assert_eq!(stacks.databases(), 2);
}

#[test]
fn a_stale_plan_moves_nothing_and_a_saved_one_moves() {
    let stacks = declared();
    let fingerprint =
        stacks.exits(0, "data", "plan --output json").json()["fingerprint"].as_str().unwrap().to_owned();
    stacks.exits(5, "data", &format!("apply --expect {}", fingerprint.replace(['0', '1'], "2")));
    assert_eq!(stacks.owned("shop").len(), 3);
    stacks.exits(0, "data", "plan --out plan.json");
    stacks.exits(0, "data", "apply plan.json").says(&["Moved 2 resources from shop/default"]);
    stacks.exits(5, "data", "apply plan.json");
    assert_eq!((stacks.owned("shop").len(), stacks.owned("data").len()), (1, 3));
    // The reviewed fingerprint of one side, applied there.
    let stacks = declared();
    let fingerprint =
        stacks.exits(0, "shop", "plan --output json").json()["fingerprint"].as_str().unwrap().to_owned();
    stacks
        .exits(0, "shop", &format!("apply --expect {fingerprint}"))
        .says(&["Moved 2 resources to data/default"]);
}

#[test]
fn an_older_copy_of_either_ledger_is_reported_and_nothing_is_deleted() {
    let stacks = declared();
    stacks.exits(0, "shop", "state pull --out old.json");
    stacks.exits(0, "shop", "apply --yes");
    let last = stacks.0.cloud().last();
    stacks.exits(0, "shop", "state push old.json --yes --force");
    stacks.exits(4, "shop", "apply --yes --allow-deletes").says(&["cannot be moved"]);
    assert_eq!(stacks.0.cloud().mutations_since(last), Vec::<String>::new());
    assert_eq!(stacks.databases(), 1);
}

/// Writes the first records of a move to the two ledgers, as an apply does that is killed after the last of them.
fn leave_half_done(stacks: &Stacks, written: usize) {
    let open = |directory: &str| {
        let identity = LedgerIdentity::new_placeholder(directory, "default");
        let (session, since) = (Uuid::nil(), Timestamp::UNIX_EPOCH);
        let holder = LeaseHolder { session, who: "t@t".to_owned(), process: None, since };
        let options = OpenOptions::new(&identity, holder, Duration::ZERO);
        FileStore::open(&stacks.0.path(&format!("{directory}/.stead/ledger")), &options).unwrap()
    };
    let half_done = async {
        let source = Journal::open(open("shop")).await.unwrap();
        let target = Journal::open(open("data")).await.unwrap();
        let transfer = |journal: &Journal<FileStore>, directory: &str| {
            let ledger = journal.ledger();
            let LedgerIdentity { lineage, stack, environment, .. } = ledger.identity.clone();
            let place = stacks.0.path(&format!("{directory}/.stead/ledger"));
            let location = format!("file:{}", place.display());
            let peer = LedgerPeer { lineage, stack, environment, location, directory: None };
            let moves = ["database.orders", "database.orders.users.app"];
            let moves = moves.map(|at| (Address::parse(at).unwrap(), Address::parse(at).unwrap())).into();
            let id = Uuid::from_u128(7);
            Transfer { id, peer, moves, who: "t@t".to_owned(), at: Timestamp::UNIX_EPOCH }
        };
        let offer = transfer(&target, "data");
        let pending = pending_entries(&source.ledger(), &transfer(&source, "shop"));
        let transfer = offer.id;
        for (number, (journal, record)) in [
            (&source, Record::TransferOffered(Box::new(offer))),
            (&target, Record::TransferPending(Box::new(pending))),
            (&source, Record::TransferGiven { transfer }),
            (&target, Record::TransferOwned { transfer }),
        ]
        .into_iter()
        .enumerate()
        {
            if number < written {
                journal.commit(&[record]).await.unwrap();
            }
        }
    };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(half_done);
}

#[test]
fn an_interrupted_move_is_ended_by_the_next_apply_of_either_stack() {
    for written in 1..=4 {
        for (first, second) in [("shop", "data"), ("data", "shop")] {
            let stacks = declared();
            let last = stacks.0.cloud().last();
            leave_half_done(&stacks, written);
            for directory in ["shop", "data"] {
                let plan = stacks.0.run(&format!("-C {directory} plan --output json")).json();
                let summary = ["create", "replace", "delete"].map(|action| plan["summary"][action].clone());
                assert_eq!(summary, [0, 0, 0], "{written} {directory}: {plan:#}");
            }
            // A plan has no lock, so it ends nothing, and changes nothing.
            if written < 3 {
                stacks.exits(4, "shop", "plan --exit-code").says(&["was interrupted", "apply ends it"]);
            }
            if (2..4).contains(&written) {
                stacks.exits(4, "data", "plan --exit-code").says(&["was interrupted", "apply ends it"]);
            }
            let run = stacks.exits(0, first, "apply --yes --allow-deletes");
            if written == 3 {
                run.says(&["Completed the interrupted move"]);
            }
            stacks.exits(0, second, "apply --yes --allow-deletes");
            let (shop, data) = (stacks.owned("shop").len(), stacks.owned("data").len());
            assert_eq!((shop, data), (1, 3), "{written} {first}");
            for directory in [first, second] {
                stacks.exits(0, directory, "plan --exit-code").says(&["No changes"]);
            }
            assert_eq!(stacks.0.cloud().mutations_since(last), Vec::<String>::new());
            assert_eq!(stacks.databases(), 1);
        }
    }
}
