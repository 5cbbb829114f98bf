//! The stack of the simulations: thirteen resources of every kind, with references between them.

use std::collections::BTreeMap;

use stead::apply::context::{ArchiveChunks, ArchivePacker, PackError};
use stead::config::stack::declarations::Declarations;
use stead::config::stack::model::{
    AttributeSetting, ConfirmationMode, Environment, Lifecycle, Resource, Stack,
};
use stead::kinds::REGISTRY;
use stead::model::address::{Address, OrderedMap};
use stead::model::expression::{Expression, Reference};
use stead::model::source::{Source, SourceId, Sources, Span};
use stead::model::values::value::Value;

const NOWHERE: Span = Span { source: SourceId(0), start: 0, end: 1 };

/// Returns a setting that stands nowhere.
pub fn setting(expression: Expression) -> AttributeSetting {
    AttributeSetting {
        expression,
        span: NOWHERE,
        set_by: None,
        parts: None,
        directory: None,
        exclusive: false,
        is_read: false,
    }
}

/// Builds a stack, one resource after the other.
pub struct Builder {
    resources: Vec<Resource>,
}

/// Returns a reference to another resource's id.
pub fn id(address: &str) -> Expression {
    Expression::Reference(Reference { address: Address::parse(address).unwrap(), attribute: None })
}

pub fn text(text: &str) -> Expression {
    Expression::Value(Value::text(text))
}

pub fn number(number: i64) -> Expression {
    Expression::Value(Value::Integer(number))
}

impl Builder {
    pub fn new() -> Self {
        Self { resources: Vec::new() }
    }

    /// Adds a resource; `name` is its own attribute, too, where the kind has it.
    pub fn with(mut self, kind: &str, name: &str, attributes: &[(&str, Expression)]) -> Self {
        let address = Address::new(kind, name);
        self.add(kind, address, None, name, attributes);
        self
    }

    /// Adds a child in a collection of its parent.
    pub fn child(mut self, kind: &str, parent: &str, collection: &str, name: &str) -> Self {
        let parent = Address::parse(parent).unwrap();
        let address = parent.join(collection).join(name);
        self.add(kind, address, Some(parent), name, &[]);
        self
    }

    fn add(
        &mut self,
        kind: &str,
        address: Address,
        parent: Option<Address>,
        name: &str,
        attributes: &[(&str, Expression)],
    ) {
        let kind = REGISTRY.kind(kind).unwrap();
        let mut all: BTreeMap<_, _> = attributes
            .iter()
            .map(|(name, expression)| ((*name).into(), setting(expression.clone())))
            .collect();
        if kind.attribute("name").is_some() {
            all.entry("name".into()).or_insert_with(|| setting(text(name)));
        }
        self.resources.push(Resource {
            address,
            kind,
            parent,
            key: None,
            attributes: all.into(),
            lifecycle: Lifecycle::default(),
            depends_on: Vec::new(),
            project: None,
            deliver_secret: None,
            allowed_exposures: Vec::new(),
            span: NOWHERE,
        });
    }

    pub fn build(mut self) -> Stack {
        self.resources.sort_by(|a, b| a.address.cmp(&b.address));
        let mut sources = Sources::default();
        sources.add(Source::new("sim.yaml", "sim\n"));
        let project = self.resources.iter().find(|r| r.kind.name == "project").map(|r| r.address.clone());
        let resources: OrderedMap<_, _> =
            self.resources.into_iter().map(|resource| (resource.address.clone(), resource)).collect();
        Stack {
            name: "sim".into(),
            environment: Environment { name: "default".into(), confirm: ConfirmationMode::YesOrNo },
            environments: Vec::new(),
            resources,
            outputs: BTreeMap::new(),
            project,
            declarations: Declarations::default(),
            policies: Vec::new(),
            backend_required: false,
            digest: "0123456789abcdef".to_owned(),
            data: BTreeMap::new(),
            stacks: BTreeMap::new(),
            modules: BTreeMap::new(),
            left_out: BTreeMap::new(),
            deferred_secrets: BTreeMap::new(),
            sinks: Vec::new(),
            recipients: None,
            reads: String::new(),
            evaluated: None,
            named: BTreeMap::new(),
            sources,
        }
    }
}

pub const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKHEChLAFY9VYXIZ0Qk2lBfbPrZrnkRTsBbBjwqSVxSs";

/// The stack that is built, killed and built on.
pub fn shop() -> Stack {
    let key = |comment: &str| text(&format!("{KEY} {comment}"));
    let web = |extra: &[(&'static str, Expression)]| {
        let mut all = vec![
            ("template", text("ubuntu-24.04")),
            ("plan", text("std-1c-2g")),
            ("vpc", id("vpc.front")),
            ("ssh_keys", Expression::List(vec![id("ssh_key.ops"), id("ssh_key.dev")])),
        ];
        all.extend(extra.iter().cloned());
        all
    };
    Builder::new()
        .with("project", "shop", &[("description", text("the shop"))])
        .with("ssh_key", "ops", &[("public_key", key("ops"))])
        .with("ssh_key", "dev", &[("public_key", key("dev"))])
        .with("vpc", "front", &[("cidr", text("10.1.0.0/16"))])
        .with("vpc", "back", &[("cidr", text("10.2.0.0/16"))])
        .with("vm", "a", &web(&[]))
        .with("vm", "b", &web(&[("console_require_mfa", Expression::Value(Value::Bool(true)))]))
        .with("vm", "idle", &web(&[("power", text("off"))]))
        .with("volume", "data", &[("size", number(20)), ("vm", id("vm.a"))])
        .with("volume", "spare", &[("size", number(5))])
        .with(
            "backup_schedule",
            "weekly",
            &[("vm", id("vm.a")), ("frequency", text("weekly")), ("day_of_week", text("monday"))],
        )
        .with("database", "main", &[("plan", text("pg-1c-2g")), ("vpc", id("vpc.back"))])
        .child("database_user", "database.main", "users", "app")
        .build()
}

/// The same stack after an edit: calls, a replacement, a moved link, a deletion and a creation.
pub fn edited() -> Stack {
    let mut stack = shop();
    let mut set = |address: &str, name: &str, expression: Expression| {
        stack.resources[address].attributes.insert(name.into(), setting(expression));
    };
    set("vm.a", "plan", text("std-2c-4g"));
    set("vm.a", "console_require_mfa", Expression::Value(Value::Bool(true)));
    set("vm.b", "template", text("debian-13"));
    set("volume.data", "size", number(40));
    set("volume.data", "vm", id("vm.b"));
    set("backup_schedule.weekly", "retention", number(3));
    set("database.main", "storage_gb", number(60));
    set("project.shop", "description", text("the new shop"));
    stack.resources.shift_remove("volume.spare");
    stack
}

/// An app and a function, both from uploaded sources.
pub fn sources(version: &str) -> Stack {
    let source = |what: &str| text(&digest(what, version));
    Builder::new()
        .with("project", "shop", &[])
        .with("app", "web", &[("type", text("web")), ("source_dir", source("app"))])
        .with(
            "serverless_function",
            "resize",
            &[
                ("runtime", text("python312")),
                ("handler", text("main.handle")),
                ("source_dir", source("function")),
            ],
        )
        .build()
}

/// Returns what stands for the digest of a version of something.
pub fn digest(what: &str, version: &str) -> String {
    format!("sha256:{what}-{version}")
}

/// Directories of sources whose archive says which digest it is of.
pub struct Packs {
    /// They are not what they were.
    pub moved: bool,
}

/// Returns the archive of a directory.
pub fn archive(digest: &str) -> Vec<u8> {
    [&[0x1f, 0x8b, 8], digest.as_bytes()].concat()
}

impl ArchivePacker for Packs {
    fn pack(&self, _address: &Address, _attribute: &str, digest: &str) -> ArchiveChunks<'_> {
        let archive = archive(digest);
        let (first, rest) = archive.split_at(5);
        let mut pieces: Vec<_> = [first, &[], rest].map(|piece| Ok(piece.to_vec().into())).into();
        if self.moved {
            pieces
                .push(Err(PackError::DigestChanged("the files in `app` are not those that …".to_owned())));
        }
        Box::new(pieces.into_iter())
    }
}
