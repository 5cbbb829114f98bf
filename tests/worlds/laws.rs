//! One run: a generated stack in a world that differs, and the laws that hold all the same.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use stead::apply::event::StepError;
use stead::emulator::world::mutate;
use stead::model::schema::Method;
use stead::plan::model::change::{Action, Cause, DriftClass, Plan};
use stead::plan::model::note::NoteCode;

use crate::contract::{collection, target};
use crate::disaster::Outside;
use crate::edits::{Edited, is_lost_with_object, of_all, wrong};
use crate::layer::{Effect, Layer, Sent, Variation};
use crate::loading::{loaded, seed};
use crate::process::{Aim, Run, beginning, planning, process};
use crate::truth::{Objects, ask, everything, holds, meddle, record};
use crate::written::{Attr, Block, Truth, Written};

/// What is broken: the law, and how.
pub type Broken = Vec<(char, String)>;

/// What law (f) compares.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Story {
    /// Changing requests, with addresses in place of ids; in no order, for two may be under way at once.
    pub requests: Vec<String>,
    pub world: BTreeMap<String, String>,
    pub plan: Vec<String>,
    /// Declared attributes that the world shows and that somebody else changed, all at once.
    pub edited: usize,
}

/// No command lasts longer: each step has its own timeout, and the longest are an hour.
const LONGEST: Duration = Duration::from_hours(4);

/// A plan reads what it reads, and once more after a bound.
const LONGEST_PLAN: Duration = Duration::from_mins(2);

pub struct Trial {
    outside: Rc<Outside>,
    layer: Rc<RefCell<Layer>>,
    written: Written,
    /// The stack is built; the catalog is read once, for it never changes.
    aim: Aim,
    broken: Broken,
    story: Story,
    effect: Effect,
    /// Changing requests before the last command.
    sent_before: usize,
}

/// Runs a stack in a world. Returns what was broken, and the story.
pub fn run(number: u64, variation: &'static Variation) -> (Broken, Story) {
    let written = crate::generate::generate(number);
    let text = written.text();
    let (stack, _) = loaded(&text).unwrap_or_else(|codes| panic!("{codes:?}\n{text}"));
    let outside = beginning(&stack);
    let rich = [("balance".to_owned(), 1_000_000.into())].into_iter().collect();
    mutate(&mut outside.world.borrow_mut(), "account", "", &rich, crate::machine::wall(Duration::ZERO))
        .unwrap();
    let layer = Rc::new(RefCell::new(Layer::new(variation)));
    let served = Rc::clone(&layer);
    *outside.service.borrow_mut() =
        Box::new(move |world, request, now| served.borrow_mut().handle(world, request, now));
    let mut trial = Trial {
        outside: Rc::new(outside),
        layer,
        written,
        aim: Aim::build(stack),
        broken: Vec::new(),
        story: Story::default(),
        effect: variation.effect,
        sent_before: 0,
    };
    trial.strangers();
    let before = everything(&trial.outside);
    let lived = catch_unwind(AssertUnwindSafe(|| trial.live()));
    if let Err(panic) = lived {
        // Where the client may be unable to read, a command ends with an error.
        if trial.effect != Effect::Refuses {
            resume_unwind(panic);
        }
        trial.refused("a command");
    }
    trial.end(&before);
    trial.projects();
    (trial.broken, trial.story)
}

fn is_whole(run: &Run) -> bool {
    let outcome = &run.outcome;
    run.plan.blocks.is_empty()
        && outcome.failed.is_empty()
        && outcome.skipped.is_empty()
        && outcome.questions.is_empty()
}

fn said(run: &Run) -> String {
    format!("{:?} {:?} {:?}", run.plan.blocks, run.outcome.failed, run.outcome.questions)
}

impl Trial {
    fn broken(&mut self, law: char, what: impl Into<String>) {
        self.broken.push((law, what.into()));
    }

    /// What belongs to others.
    fn strangers(&self) {
        let (_, projects) = ask(&self.outside, Method::Get, "/api/v1/projects", None, &Json::Null);
        let project = projects["data"][0]["id"].as_str().unwrap().to_owned();
        for (path, body) in [
            ("/api/v1/vpcs", json!({"name": "theirs", "cidr": "172.16.0.0/16"})),
            ("/api/v1/ssh-keys", json!({"name": "theirs", "public_key": crate::stack::KEY})),
            ("/api/v1/volumes", json!({"name": "theirs", "size": 7})),
        ] {
            let (status, answer) = ask(&self.outside, Method::Post, path, Some(&project), &body);
            assert!(status < 300, "{answer}");
        }
    }

    fn objects(&self) -> Objects {
        Objects::new(&self.written, &self.layer.borrow().sent)
    }

    fn apply(&mut self, aim: &Aim) -> Run {
        self.sent_before = self.layer.borrow().sent.len();
        let run = process(&self.outside, aim, seed(&self.outside)).unwrap();
        if run.took > LONGEST {
            self.broken('e', format!("the apply takes {:?}", run.took));
        }
        run
    }

    fn plan(&mut self) -> Plan {
        self.sent_before = self.layer.borrow().sent.len();
        let begun = self.outside.machine.elapsed();
        let plan = planning(&self.outside, &self.aim, seed(&self.outside));
        let took = self.outside.machine.elapsed() - begun;
        if took > LONGEST_PLAN {
            self.broken('e', format!("the plan takes {took:?}"));
        }
        plan
    }

    /// Applies, changes what others can, and applies again.
    fn live(&mut self) {
        if let Effect::Ignores(fields) = self.effect {
            self.live_with_values_not_kept(fields);
            return;
        }
        if !self.can_apply("the first apply") {
            return;
        }
        let run = self.apply(&self.aim.clone());
        if !self.stands(&run, "the first apply", &[]) {
            return;
        }
        self.story.world = self.world();
        let edits = self.meddle();
        if edits.is_empty() {
            return;
        }
        self.outside.machine.skip(Duration::from_mins(10));
        let edits = self.in_effect(edits);
        let plan = self.plan();
        self.finds(&plan, &edits);
        self.story.plan = self.lines(&plan);
        if plan.blocks.is_empty() {
            let run = self.apply(&self.aim.clone());
            if self.stands(&run, "the apply after the edits", &edits) {
                self.edit_everything();
            }
        }
    }

    /// A client that cannot go on changes nothing.
    fn refused(&mut self, what: &str) {
        let changes = self.layer.borrow().sent.len() - self.sent_before;
        if changes > 0 {
            self.broken('a', format!("{what} is refused after {changes} changes"));
        }
    }

    /// Where the client may be unable to go on, a plan says so first: what it blocks, nobody applies.
    fn can_apply(&mut self, what: &str) -> bool {
        if self.effect != Effect::Refuses {
            return true;
        }
        let plan = self.plan();
        self.refused(what);
        plan.blocks.is_empty()
    }

    /// Law (a): what was applied is so, and the next plan is empty. An edit that nothing shows stays.
    fn stands(&mut self, run: &Run, what: &str, edits: &[(Block, Attr, Truth)]) -> bool {
        if !is_whole(run) && self.effect == Effect::Refuses {
            return false;
        }
        if !is_whole(run) {
            self.broken('a', format!("{what} fails: {}", said(run)));
            return false;
        }
        let objects = self.objects();
        let mut wrong = Vec::new();
        for block in &self.written.blocks {
            let Some(record) = record(&self.outside, &objects, block) else {
                wrong.push(format!("{} is not there", block.address));
                continue;
            };
            let unseen = |attr: &&Attr| {
                let of = |(of, edited, _): &(Block, Attr, Truth)| {
                    of.address == block.address && edited.name == attr.name
                };
                self.is_hidden(block, attr) && edits.iter().any(of)
            };
            for attr in block.attributes.iter().filter(|attr| !attr.unwritten && !unseen(attr)) {
                if !holds(&self.outside, &objects, &record, attr, &attr.truth) {
                    let live = &record[attr.field];
                    wrong.push(format!(
                        "{}.{} stands at {live}, not {:?}",
                        block.address, attr.name, attr.truth
                    ));
                }
            }
        }
        if !wrong.is_empty() {
            self.broken('a', format!("{what}: {}", wrong.join("; ")));
        }
        let plan = self.plan();
        let is_empty = plan.changes.is_empty() && plan.steps.is_empty() && plan.blocks.is_empty();
        if !is_empty {
            let found =
                format!("after {what} the plan is not empty: {:?} {:?}", self.lines(&plan), plan.blocks);
            self.broken('a', found);
        }
        let drift = drifts(&plan);
        if !drift.is_empty() {
            self.broken('a', format!("after {what} there is drift: {drift:?}"));
        }
        is_empty
    }

    /// Law (a) where values are not kept: each apply ends with them named, and nothing else; the rest is done, and no
    /// object is made for them again.
    fn live_with_values_not_kept(&mut self, fields: &[&str]) {
        let mut run = self.apply(&self.aim.clone());
        // What needs a resource that is not as declared is left for the next apply.
        for _ in 0..self.written.blocks.len() {
            if run.outcome.skipped.is_empty() {
                break;
            }
            run = self.apply(&self.aim.clone());
        }
        let (not_kept, wrong) = self.not_kept(fields);
        if !wrong.is_empty() {
            self.broken('a', format!("other values are not there: {wrong:?}"));
        }
        let failed = |run: &Run| -> BTreeMap<String, String> {
            let all = run.outcome.failed.iter();
            let all = all.filter(|(_, error)| matches!(error, StepError::NotKept(_)));
            all.map(|(address, error)| (address.to_string(), error.to_string())).collect()
        };
        let again = self.apply(&self.aim.clone());
        for (what, run) in [("the apply", &run), ("the apply after it", &again)] {
            let failed = failed(run);
            if run.outcome.failed.len() != failed.len() || !run.outcome.skipped.is_empty() {
                self.broken('a', format!("{what} fails otherwise: {}", said(run)));
            }
            let named = |address: &String| not_kept.get(address).map(BTreeSet::len);
            for address in failed.keys().filter(|address| named(address).is_none()) {
                self.broken('a', format!("{what} fails at {address}: {}", failed[address]));
            }
            for (address, names) in &not_kept {
                let text = failed.get(address).cloned().unwrap_or_default();
                for name in names.iter().filter(|name| !text.contains(name.as_str())) {
                    self.broken(
                        'a',
                        format!("{what} does not say that {address}.{name} is not kept: {text:?}"),
                    );
                }
            }
        }
        self.plan_names(&not_kept);
    }

    /// A plan names each value that is not kept, sends at most what is only written down, and tells of no drift.
    fn plan_names(&mut self, not_kept: &BTreeMap<String, BTreeSet<String>>) {
        let plan = self.plan();
        for change in &plan.changes {
            let is_sent_again = change.action == Action::Update
                && change.attributes.iter().all(|line| line.cause == Cause::NotKept);
            if !is_sent_again {
                self.broken('a', format!("the plan goes on: {:?}", self.lines(&plan)));
            }
        }
        let noted = |address: &str, name: &str| {
            let of = format!("`{address}.{name}");
            plan.notes.iter().any(|note| note.code == NoteCode::NotKept && note.text.contains(&of))
                || plan.changes.iter().any(|change| {
                    *change.address.as_str() == *address
                        && change.attributes.iter().any(|line| line.path.split('.').next() == Some(name))
                })
        };
        for (address, names) in not_kept {
            for name in names.iter().filter(|name| !noted(address, name)) {
                self.broken('a', format!("the plan does not name {address}.{name}"));
            }
        }
        let drift = drifts(&plan);
        if !drift.is_empty() {
            self.broken('a', format!("what is not kept counts as drift: {drift:?}"));
        }
    }

    /// Returns the written attributes that the world does not have, by address: those that it ignores, and others.
    fn not_kept(&self, fields: &[&str]) -> (BTreeMap<String, BTreeSet<String>>, Vec<String>) {
        let objects = self.objects();
        let mut not_kept: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut wrong = Vec::new();
        for block in &self.written.blocks {
            let Some(record) = record(&self.outside, &objects, block) else {
                wrong.push(format!("{} is not there", block.address));
                continue;
            };
            for attr in block.attributes.iter().filter(|attr| !attr.unwritten) {
                if holds(&self.outside, &objects, &record, attr, &attr.truth) {
                    continue;
                }
                if fields.contains(&format!("{}.{}", block.kind, attr.field).as_str()) {
                    not_kept.entry(block.address.clone()).or_default().insert(attr.name.to_owned());
                } else {
                    wrong.push(format!("{}.{} stands at {}", block.address, attr.name, record[attr.field]));
                }
            }
        }
        (not_kept, wrong)
    }

    /// Others change what they can. Returns what they changed.
    fn meddle(&self) -> Vec<(Block, Attr, Truth)> {
        let objects = self.objects();
        let mut done = Vec::new();
        for block in &self.written.blocks {
            for attr in &block.attributes {
                let Some((edit, to)) = &attr.edit else { continue };
                if meddle(&self.outside, &objects, block, attr, edit) {
                    done.push((block.clone(), attr.clone(), to.clone()));
                    // One long operation at a time.
                    self.outside.machine.skip(Duration::from_mins(3));
                }
            }
        }
        done
    }

    /// Law (b) for every declared attribute at once, those that only a replacement takes back included.
    fn edit_everything(&mut self) {
        let objects = self.objects();
        let edits = of_all(&self.outside, &objects, &self.written);
        for ((block, attr, _), value) in &edits {
            let id = objects.of.get(&block.address).map(|(_, _, id)| id.clone()).unwrap_or_default();
            let mut layer = self.layer.borrow_mut();
            layer.edited.insert((block.kind.to_owned(), id, attr.field.to_owned()), value.clone());
        }
        let edits: Vec<Edited> = edits.into_iter().map(|(edit, _)| edit).collect();
        self.outside.machine.skip(Duration::from_mins(10));
        let plan = self.plan();
        let is_hidden = |(block, attr, _): &Edited| self.is_hidden(block, attr);
        let found = wrong(&plan, &edits, is_hidden, &drifts(&plan));
        self.story.edited = edits.iter().filter(|edit| !is_hidden(edit)).count();
        if !found.is_empty() {
            self.broken('b', format!("after edits of everything {}", found.join("; ")));
        }
        self.layer.borrow_mut().edited.clear();
    }

    /// Leaves out what a later edit, or the service, took back.
    fn in_effect(&self, edits: Vec<(Block, Attr, Truth)>) -> Vec<(Block, Attr, Truth)> {
        let objects = self.objects();
        let is_so = |(block, attr, to): &(Block, Attr, Truth)| {
            record(&self.outside, &objects, block)
                .is_some_and(|record| holds(&self.outside, &objects, &record, attr, to))
        };
        edits.into_iter().filter(is_so).collect()
    }

    fn is_hidden(&self, block: &Block, attr: &Attr) -> bool {
        let Effect::Hides(fields) = self.effect else { return false };
        fields.iter().any(|field| *field == format!("{}.{}", block.kind, attr.field))
    }

    /// Law (b): an edit of what is written is in the plan and in the drift, and nothing else is.
    fn finds(&mut self, plan: &Plan, edits: &[(Block, Attr, Truth)]) {
        let named = |address: &str, path: &str, attr: &(Block, Attr, Truth)| {
            address == attr.0.address && path.split('.').next() == Some(attr.1.name)
        };
        let mut found = Vec::new();
        for edit in edits.iter().filter(|(_, attr, _)| !attr.unwritten) {
            if self.is_hidden(&edit.0, &edit.1) {
                continue;
            }
            let what = format!("{}.{}", edit.0.address, edit.1.name);
            let changes = plan.changes.iter().filter(|change| *change.address.as_str() == *edit.0.address);
            let line = changes.flat_map(|c| &c.attributes).find(|a| named(&edit.0.address, &a.path, edit));
            match line {
                None => found.push(format!("the plan does not have {what}")),
                Some(line) if !matches!(line.cause, Cause::Drift) => {
                    found.push(format!("{what} changes because of {:?}", line.cause));
                }
                Some(line) => found.extend(differs(&edit.2, &edit.1, &line.before.to_string())),
            }
            let in_drift = plan.drift.iter().any(|drift| {
                drift.path.as_ref().is_some_and(|path| named(drift.address.as_str(), path, edit))
            });
            if !in_drift {
                found.push(format!("the drift does not have {what}"));
            }
        }
        let written = |address: &str, path: &str| {
            edits.iter().any(|edit| !edit.1.unwritten && named(address, path, edit))
        };
        for change in &plan.changes {
            let lines =
                change.attributes.iter().filter(|line| !written(change.address.as_str(), &line.path));
            let lines = lines.filter(|line| !is_lost_with_object(change, line));
            found.extend(
                lines.map(|line| format!("the plan has {}.{}: {line:?}", change.address, line.path)),
            );
        }
        let others = drifts(plan).into_iter().filter(|(address, path)| !written(address, path));
        found.extend(others.map(|(address, path)| format!("the drift has {address}.{path}")));
        if !found.is_empty() {
            self.broken('b', found.join("; "));
        }
    }

    /// Law (c): everything of ours came of one creation, nothing of it is left, and what is others' stays.
    fn end(&mut self, before: &BTreeMap<String, Vec<Json>>) {
        let objects = self.objects();
        if self.effect == Effect::Refuses && objects.creates.is_empty() {
            return;
        }
        for (address, creates) in objects.creates.iter().filter(|(_, creates)| creates.len() > 1) {
            self.broken('c', format!("{address} was made {} times", creates.len()));
        }
        if !objects.strays.is_empty() {
            self.broken('c', format!("for no address: {:?}", objects.strays));
        }
        let run = {
            let mut aim = self.aim.clone();
            aim.destroy = true;
            self.apply(&aim)
        };
        if !is_whole(&run) && self.effect == Effect::Refuses {
            return;
        }
        if !is_whole(&run) {
            self.broken('c', format!("the destroy fails: {}", said(&run)));
            return;
        }
        self.outside.machine.skip(Duration::from_mins(5));
        let after = everything(&self.outside);
        for (path, rows) in &after {
            let Some(old) = before.get(path) else { continue };
            let kept =
                |row: &Json| row["id"].to_string() + &row["name"].to_string() + &row["size"].to_string();
            let (old, new): (BTreeSet<_>, BTreeSet<_>) =
                (old.iter().map(kept).collect(), rows.iter().map(kept).collect());
            if old != new {
                self.broken('c', format!("{path}: {old:?} became {new:?}"));
            }
        }
        let log: Vec<String> = self.layer.borrow().sent.iter().map(|sent| line(sent, &objects)).collect();
        self.story.requests = log;
        self.story.requests.sort();
    }

    /// Law (d): every change carries the project of its object.
    fn projects(&mut self) {
        let mut of: BTreeMap<String, String> = BTreeMap::new();
        let mut wrong = Vec::new();
        for sent in &self.layer.borrow().sent {
            let Some(target) = target(&sent.path).filter(|target| target.of.states_project) else {
                continue;
            };
            if let Some(record) = sent.record.as_ref().filter(|_| target.id.is_none())
                && let (Some(id), Some(project)) = (record["id"].as_str(), record["project_id"].as_str())
            {
                of.insert(id.to_owned(), project.to_owned());
            }
            let known = target.parent.as_ref().or(target.id.as_ref()).and_then(|id| of.get(id));
            if sent.project.is_none() || known.is_some_and(|known| sent.project.as_ref() != Some(known)) {
                wrong.push(format!("{} {} has {:?}, not {known:?}", sent.method, sent.path, sent.project));
            }
        }
        if !wrong.is_empty() {
            self.broken('d', wrong.join("; "));
        }
    }

    /// What the world has of what was written, by address.
    fn world(&self) -> BTreeMap<String, String> {
        let objects = self.objects();
        let mut world = BTreeMap::new();
        for block in &self.written.blocks {
            let Some(record) = record(&self.outside, &objects, block) else { continue };
            let fields = collection(block.kind).map(|of| of.fields).unwrap_or_default();
            // The service draws these in the order of requests, which reads in between may change.
            let drawn = |name: &str| {
                matches!(name, "public_dns_hostname" | "public_port" | "user" | "private_ipv4_address")
            };
            let fields = fields.iter().filter(|field| !drawn(field.name));
            let told: Vec<_> =
                fields.map(|field| format!("{}={}", field.name, record[field.name])).collect();
            world.insert(block.address.clone(), objects.named(&told.join(" ")));
        }
        world
    }

    /// The plan's lines, with addresses in place of ids.
    fn lines(&self, plan: &Plan) -> Vec<String> {
        let objects = self.objects();
        let mut lines: Vec<_> = plan
            .changes
            .iter()
            .flat_map(|change| {
                let of = format!("{:?} {}", change.action, change.address);
                let parts = change.attributes.iter().map(move |line| {
                    format!("{of} {}: {} to {} ({:?})", line.path, line.before, line.after, line.cause)
                });
                let alone = change.attributes.is_empty();
                parts.chain(alone.then(|| format!("{:?} {}", change.action, change.address)))
            })
            .map(|line| objects.named(&line))
            .collect();
        lines.extend(drifts(plan).into_iter().map(|(address, path)| format!("drift {address} {path}")));
        lines.sort();
        lines
    }
}

/// Differences that count, as address and attribute.
fn drifts(plan: &Plan) -> Vec<(String, String)> {
    let counts = |class: DriftClass| !matches!(class, DriftClass::Ignored | DriftClass::Unmanaged);
    let all = plan.drift.iter().filter(|drift| counts(drift.class));
    all.map(|drift| {
        (drift.address.to_string(), drift.path.as_ref().map(ToString::to_string).unwrap_or_default())
    })
    .collect()
}

/// Says when the plan's old value is not the one that the edit left.
fn differs(truth: &Truth, attr: &Attr, before: &str) -> Option<String> {
    let expected = match (truth, attr.name) {
        (Truth::Is(Json::String(text)), "power") => if text == "active" { "on" } else { "off" }.to_owned(),
        // Shown by its name, and redacted.
        (_, "plan" | "day_of_week" | "maintenance_day" | "env_vars" | "labels") => return None,
        // A clock time may be shown with its seconds.
        (Truth::Is(Json::String(text)), "maintenance_start")
            if before.strip_suffix(":00") == Some(text) =>
        {
            return None;
        }
        (Truth::Is(Json::String(text)), _) => text.clone(),
        (Truth::Is(json), _) => json.to_string(),
        (Truth::Number(number), _) => number.to_string(),
        _ => return None,
    };
    (expected != before).then(|| format!("{} was {expected}, and the plan says {before}", attr.name))
}

fn line(sent: &Sent, objects: &Objects) -> String {
    let body = sent.body.as_ref().map(ToString::to_string).unwrap_or_default();
    // Elsewhere the header says nothing.
    let stated = target(&sent.path).is_some_and(|target| target.of.states_project);
    let project = sent.project.as_ref().filter(|_| stated);
    without_upload_keys(&objects.named(&format!("{} {} {project:?} {body}", sent.method, sent.path)))
}

/// Leaves out the keys of uploads, which the service draws in the order of requests.
fn without_upload_keys(line: &str) -> String {
    let mut parts = line.split("src-");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str("src-");
        text.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    }
    text
}
