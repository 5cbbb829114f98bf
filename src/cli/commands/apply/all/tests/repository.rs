//! Generated repositories as data: stacks with blocks and outputs that refer to each other, and the text of their files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A small generator of numbers: equal seeds give equal runs.
#[derive(Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66_D1CE)
    }

    /// Returns a number below a limit; 0 for the limit 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        let chosen = self.below(all.len());
        all.get(chosen)
    }
}

/// What a value is, so that a reader takes one that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The id of an object of this kind.
    Id(&'static str),
    Text,
}

/// Where a value comes from. Stacks, blocks and outputs are known by numbers that are never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A block of the same stack, or an attribute of it.
    Own(u32, Option<&'static str>),
    /// An output of another stack.
    Output { stack: u32, output: u32 },
    /// An object of another stack, found by its name.
    Data { stack: u32, block: u32 },
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Setting {
    /// A text as the file has it.
    Written(String),
    From(Source),
    /// A list with one item.
    ListOf(Source),
    /// A text that contains the value.
    Within(Source),
}

impl Setting {
    pub(super) const fn source(&self) -> Option<Source> {
        match self {
            Self::Written(_) => None,
            Self::From(source) | Self::ListOf(source) | Self::Within(source) => Some(*source),
        }
    }

    pub(super) fn with_source(&self, source: Source) -> Self {
        match self {
            Self::ListOf(_) => Self::ListOf(source),
            Self::Within(_) => Self::Within(source),
            Self::From(_) | Self::Written(_) => Self::From(source),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) number: u32,
    pub(super) kind: &'static str,
    /// Its name in the file; the live name has the stack and the environment, too.
    pub(super) name: String,
    pub(super) live_name: String,
    /// Attributes by name; `env_vars.X` is a part of a map.
    pub(super) attributes: BTreeMap<String, Setting>,
    pub(super) lifecycle: Option<&'static str>,
    /// Whether it was applied, so that other stacks find its object.
    pub(super) is_applied: bool,
}

#[derive(Debug, Clone)]
pub(super) struct StackOutput {
    pub(super) number: u32,
    pub(super) shape: Shape,
    pub(super) setting: Setting,
}

#[derive(Debug, Clone)]
pub(super) struct StackModel {
    pub(super) number: u32,
    /// Whether it has both environments, or `prod` only.
    pub(super) has_both: bool,
    pub(super) blocks: Vec<Block>,
    pub(super) outputs: Vec<StackOutput>,
    /// Declarations that move entries: old and new address.
    pub(super) moved: Vec<(String, String)>,
}

/// A repository; a stack reads only stacks before it.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    pub(super) stacks: Vec<StackModel>,
    pub(super) has_two_environments: bool,
    next: u32,
    next_network: usize,
}

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGGYP5EXrhNPjZBZDhXvUcBbRLj3g3XvbVVZYF2iEcZS";
const KINDS: &[&str] = &["vpc", "vpc", "vm", "vm", "volume", "database", "ssh_key", "app"];

impl Repository {
    /// Returns a repository of one to six stacks.
    pub(super) fn generate(dice: &mut Dice) -> Self {
        let mut repository =
            Self { stacks: Vec::new(), has_two_environments: dice.once_in(2), next: 0, next_network: 0 };
        for _ in 0..=dice.below(6) {
            repository.add_stack(dice);
        }
        repository
    }

    pub(super) fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Returns a network that no other block has, in each environment another one.
    pub(super) fn network(&mut self) -> String {
        self.next_network += 1;
        format!("\"10.${{vars.b}}{:02}.0.0/16\"", self.next_network % 56)
    }

    /// Adds a stack with blocks and outputs.
    pub(super) fn add_stack(&mut self, dice: &mut Dice) {
        let number = self.number();
        self.stacks.push(StackModel {
            number,
            has_both: dice.below(4) > 0,
            blocks: Vec::new(),
            outputs: Vec::new(),
            moved: Vec::new(),
        });
        let position = self.stacks.len() - 1;
        for _ in 0..=dice.below(3) {
            self.add_block(position, dice);
        }
        for _ in 0..=dice.below(2) {
            self.add_output(position, dice);
        }
    }

    pub(super) fn add_block(&mut self, position: usize, dice: &mut Dice) {
        let kind = *dice.pick(KINDS).unwrap();
        let number = self.number();
        let stack = self.stacks[position].number;
        let written = |text: &str| Setting::Written(text.to_owned());
        let mut attributes = BTreeMap::new();
        let mut set = |name: &str, setting: Setting| drop(attributes.insert(name.to_owned(), setting));
        match kind {
            "vpc" => set("cidr", Setting::Written(self.network())),
            "vm" => {
                set("template", written("ubuntu-24.04"));
                set("plan", written(dice.pick(&["std-1c-1g", "std-2c-4g"]).unwrap()));
            }
            "volume" => set("size", Setting::Written((10 + dice.below(20)).to_string())),
            "database" => {
                set("engine", written("postgres"));
                set("plan", written(dice.pick(&["pg-1c-2g", "pg-2c-4g"]).unwrap()));
            }
            "ssh_key" => set("public_key", Setting::Written(format!("\"{KEY} k{number}\""))),
            _ => {
                for (name, value) in
                    [("type", "web"), ("repo", "acme/web"), ("branch", "main"), ("port", "80")]
                {
                    set(name, written(value));
                }
            }
        }
        for (name, shape) in reference_attributes(kind) {
            if dice.below(3) > 0
                && let Some(source) = self.any_source(position, *shape, dice)
            {
                set(name, setting_of(name, source));
            }
        }
        let lifecycle = match kind {
            "vm" if dice.once_in(3) => Some("create_first"),
            "vpc" if dice.once_in(5) => Some("create_first"),
            "vpc" | "vm" if dice.once_in(8) => Some("delete_first"),
            _ => None,
        };
        self.stacks[position].blocks.push(Block {
            number,
            kind,
            name: format!("b{number}"),
            live_name: format!("s{stack}-b{number}"),
            attributes,
            lifecycle,
            is_applied: false,
        });
    }

    /// Adds an output of a block, or one that passes on an output of a stack before.
    pub(super) fn add_output(&mut self, position: usize, dice: &mut Dice) {
        let shapes = [Shape::Id("vpc"), Shape::Id("vm"), Shape::Id("ssh_key"), Shape::Text, Shape::Text];
        let shape = *dice.pick(&shapes).unwrap();
        let Some(source) = self.any_source(position, shape, dice) else { return };
        let setting = match shape {
            Shape::Text if dice.once_in(2) => Setting::Within(source),
            _ => Setting::From(source),
        };
        let number = self.number();
        self.stacks[position].outputs.push(StackOutput { number, shape, setting });
    }

    /// Returns a value of a shape that a stack can read.
    pub(super) fn any_source(&self, position: usize, shape: Shape, dice: &mut Dice) -> Option<Source> {
        dice.pick(&self.sources(position, shape)).copied()
    }

    fn sources(&self, position: usize, shape: Shape) -> Vec<Source> {
        let own = self.stacks[position].blocks.iter().filter_map(|block| {
            let attribute = match (shape, block.kind) {
                (Shape::Id(kind), _) => (block.kind == kind).then_some(None)?,
                (Shape::Text, "vpc") => Some("cidr"),
                (Shape::Text, "vm") => Some("public_ipv4_address"),
                (Shape::Text, "database") => Some("connection_host"),
                _ => return None,
            };
            Some(Source::Own(block.number, attribute))
        });
        let mut all: Vec<Source> = own.collect();
        for above in &self.stacks[..position] {
            let outputs = above.outputs.iter().filter(|output| output.shape == shape);
            all.extend(outputs.map(|output| Source::Output { stack: above.number, output: output.number }));
            let applied =
                above.blocks.iter().filter(|block| block.is_applied && shape == Shape::Id(block.kind));
            // An object of another environment is not found where the stack has one environment only.
            let is_found = above.has_both || !self.stacks[position].has_both;
            let data = applied.filter(|_| is_found && shape == Shape::Id("vpc"));
            all.extend(data.map(|block| Source::Data { stack: above.number, block: block.number }));
        }
        all
    }

    pub(super) fn stack(&self, number: u32) -> Option<&StackModel> {
        self.stacks.iter().find(|stack| stack.number == number)
    }

    /// Removes what refers to something that is not there any more.
    pub(super) fn prune(&mut self) {
        loop {
            let before = self.clone();
            let exists = |stack: &StackModel, source: Source| match source {
                Source::Own(block, _) => stack.blocks.iter().any(|one| one.number == block),
                Source::Output { stack, output } => before
                    .stack(stack)
                    .is_some_and(|one| one.outputs.iter().any(|other| other.number == output)),
                Source::Data { stack, block } => before
                    .stack(stack)
                    .is_some_and(|one| one.blocks.iter().any(|other| other.number == block)),
            };
            let mut count = 0;
            for (position, known) in before.stacks.iter().enumerate() {
                let stack = &mut self.stacks[position];
                let stays = |setting: &Setting| setting.source().is_none_or(|source| exists(known, source));
                for block in &mut stack.blocks {
                    let all = block.attributes.len();
                    block.attributes.retain(|_, setting| stays(setting));
                    count += all - block.attributes.len();
                }
                let all = stack.outputs.len();
                stack.outputs.retain(|output| stays(&output.setting));
                count += all - stack.outputs.len();
            }
            if count == 0 {
                break;
            }
        }
        for stack in &mut self.stacks {
            // A declaration leads to a block of now, directly or over others.
            let mut reached: BTreeSet<String> =
                stack.blocks.iter().map(|block| format!("{}.{}", block.kind, block.name)).collect();
            let leads = |(_, to): &&(String, String), reached: &BTreeSet<String>| reached.contains(to);
            while let Some((from, _)) =
                stack.moved.iter().find(|one| leads(one, &reached) && !reached.contains(&one.0))
            {
                reached.insert(from.clone());
            }
            stack.moved.retain(|(_, to)| reached.contains(to));
        }
    }

    /// Returns the files by path.
    pub(super) fn files(&self) -> BTreeMap<String, String> {
        let files =
            self.stacks.iter().map(|stack| (format!("s{}/stead.yaml", stack.number), self.text(stack)));
        files.collect()
    }

    fn text(&self, stack: &StackModel) -> String {
        let mut text = format!("stead: 1\nstack: s{}\nvars: {{ b: {{ default: \"2\" }} }}\n", stack.number);
        let environments = if self.has_two_environments && stack.has_both {
            "{ dev: { vars: { b: \"1\" } }, prod: {} }"
        } else {
            "{ prod: {} }"
        };
        let _ = writeln!(text, "environments: {environments}");
        let settings = || {
            let of_blocks = stack.blocks.iter().flat_map(|block| block.attributes.values());
            of_blocks.chain(stack.outputs.iter().map(|output| &output.setting)).filter_map(Setting::source)
        };
        let read: BTreeSet<u32> = settings()
            .filter_map(|source| match source {
                Source::Output { stack, .. } => Some(stack),
                _ => None,
            })
            .collect();
        if !read.is_empty() {
            let read: Vec<String> = read.iter().map(|number| format!("s{number}: ../s{number}")).collect();
            let _ = writeln!(text, "stacks: {{ {} }}", read.join(", "));
        }
        let found: BTreeMap<u32, String> = settings()
            .filter_map(|source| match source {
                Source::Data { stack, block } => {
                    let block = self.stack(stack)?.blocks.iter().find(|one| one.number == block)?;
                    Some((
                        block.number,
                        format!("d{}: {{ name: \"{}-${{env}}\" }}", block.number, block.live_name),
                    ))
                }
                _ => None,
            })
            .collect();
        if !found.is_empty() {
            let found: Vec<String> = found.into_values().collect();
            let _ = writeln!(text, "data: {{ vpc: {{ {} }} }}", found.join(", "));
        }
        let mut kinds: Vec<&str> = stack.blocks.iter().map(|block| block.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            let _ = writeln!(text, "{kind}:");
            for block in stack.blocks.iter().filter(|block| block.kind == kind) {
                let _ = writeln!(text, "  {}: {{ {} }}", block.name, block_text(stack, block));
            }
        }
        if !stack.outputs.is_empty() {
            text.push_str("outputs:\n");
            for output in &stack.outputs {
                let _ = writeln!(text, "  o{}: {}", output.number, setting_text(stack, &output.setting));
            }
        }
        if !stack.moved.is_empty() {
            let moved: Vec<String> =
                stack.moved.iter().map(|(from, to)| format!("{{ from: {from}, to: {to} }}")).collect();
            let _ = writeln!(text, "moved: [{}]", moved.join(", "));
        }
        text
    }
}

/// Returns the attributes of a kind that take a value from elsewhere.
pub(super) fn reference_attributes(kind: &str) -> &'static [(&'static str, Shape)] {
    match kind {
        "vm" => &[("vpc", Shape::Id("vpc")), ("ssh_keys", Shape::Id("ssh_key"))],
        "volume" => &[("vm", Shape::Id("vm"))],
        "database" => &[("vpc", Shape::Id("vpc"))],
        "app" => &[("env_vars.A", Shape::Text), ("env_vars.B", Shape::Text), ("description", Shape::Text)],
        _ => &[],
    }
}

/// Returns the setting of an attribute that takes a value from elsewhere.
pub(super) fn setting_of(name: &str, source: Source) -> Setting {
    match name {
        "ssh_keys" => Setting::ListOf(source),
        "description" => Setting::Within(source),
        _ => Setting::From(source),
    }
}

fn block_text(stack: &StackModel, block: &Block) -> String {
    let mut parts = vec![format!("name: \"{}-${{env}}\"", block.live_name)];
    let mut variables = Vec::new();
    for (name, setting) in &block.attributes {
        let value = setting_text(stack, setting);
        match name.strip_prefix("env_vars.") {
            Some(variable) => variables.push(format!("{variable}: {value}")),
            None => parts.push(format!("{name}: {value}")),
        }
    }
    if !variables.is_empty() {
        parts.push(format!("env_vars: {{ {} }}", variables.join(", ")));
    }
    parts.extend(block.lifecycle.map(|order| format!("lifecycle: {{ replace: {order} }}")));
    parts.join(", ")
}

fn setting_text(stack: &StackModel, setting: &Setting) -> String {
    let path = |source: &Source| match source {
        Source::Own(number, attribute) => {
            let block = stack.blocks.iter().find(|block| block.number == *number).unwrap();
            let attribute = attribute.map(|name| format!(".{name}")).unwrap_or_default();
            format!("{}.{}{attribute}", block.kind, block.name)
        }
        Source::Output { stack, output } => format!("stacks.s{stack}.o{output}"),
        Source::Data { block, .. } => format!("data.vpc.d{block}"),
    };
    match setting {
        Setting::Written(text) => text.clone(),
        Setting::From(source) => format!("${}", path(source)),
        Setting::ListOf(source) => format!("[${}]", path(source)),
        Setting::Within(source) => format!("\"at ${{{}}}\"", path(source)),
    }
}
