//! Random edits of a generated repository.

use super::repository::{Dice, Repository, Setting, Shape, Source, reference_attributes, setting_of};

/// Makes one random edit; returns what it was.
pub(super) fn edit(repository: &mut Repository, dice: &mut Dice) -> String {
    let position = dice.below(repository.stacks.len());
    let what = match dice.below(14) {
        0 | 1 => change_network(repository, position, dice),
        2 | 3 => change_size(repository, position, dice),
        4 => {
            repository.add_block(position, dice);
            Some("a new block")
        }
        5 => remove_block(repository, position, dice),
        6 => rename_block(repository, position, dice),
        7 => {
            repository.add_output(position, dice);
            Some("a new output")
        }
        8 => remove_output(repository, position, dice),
        9 | 10 => move_reference(repository, position, dice),
        11 => move_output(repository, position, dice),
        12 => {
            repository.add_stack(dice);
            Some("a new stack")
        }
        _ => swap_networks(repository, position, dice),
    };
    repository.prune();
    format!("s{}: {}", repository.stacks[position].number, what.unwrap_or("nothing"))
}

fn blocks_of(repository: &Repository, position: usize, kinds: &[&str]) -> Vec<usize> {
    let blocks = repository.stacks[position].blocks.iter().enumerate();
    blocks.filter(|(_, block)| kinds.contains(&block.kind)).map(|(index, _)| index).collect()
}

fn change_network(repository: &mut Repository, position: usize, dice: &mut Dice) -> Option<&'static str> {
    let index = *dice.pick(&blocks_of(repository, position, &["vpc"]))?;
    let network = repository.network();
    repository.stacks[position].blocks[index].attributes.insert("cidr".into(), Setting::Written(network));
    Some("another network")
}

fn change_size(repository: &mut Repository, position: usize, dice: &mut Dice) -> Option<&'static str> {
    let all = blocks_of(repository, position, &["vm", "volume", "database", "app"]);
    let block = &mut repository.stacks[position].blocks[*dice.pick(&all)?];
    let (name, values): (&str, &[&str]) = match block.kind {
        "vm" if dice.once_in(3) => ("template", &["debian-12", "ubuntu-24.04", "ubuntu-22.04"]),
        "vm" => ("plan", &["std-1c-1g", "std-2c-4g"]),
        "volume" => ("size", &["15", "30", "40"]),
        "database" => ("plan", &["pg-1c-2g", "pg-2c-4g"]),
        _ if dice.once_in(2) => ("branch", &["main", "next"]),
        _ => ("env_vars.C", &["one", "two"]),
    };
    let value = Setting::Written((*dice.pick(values)?).to_owned());
    block.attributes.insert(name.to_owned(), value);
    Some("another size")
}

fn remove_block(repository: &mut Repository, position: usize, dice: &mut Dice) -> Option<&'static str> {
    let blocks = &mut repository.stacks[position].blocks;
    if blocks.len() < 2 {
        return None;
    }
    blocks.remove(dice.below(blocks.len()));
    Some("a block less")
}

/// Renames a block, with or without a declaration, and with another live name or the same.
fn rename_block(repository: &mut Repository, position: usize, dice: &mut Dice) -> Option<&'static str> {
    let count = repository.stacks[position].blocks.len();
    let fresh = repository.number();
    let stack = &mut repository.stacks[position];
    let block = stack.blocks.get_mut(dice.below(count))?;
    let before = format!("{}.{}", block.kind, block.name);
    block.name = format!("r{fresh}");
    if dice.once_in(2) {
        // Earlier names lead to this one, too.
        let now = format!("{}.{}", block.kind, block.name);
        stack.moved.push((before, now));
        return Some("a block with another address");
    }
    if dice.once_in(2) {
        block.live_name = format!("s{}-r{fresh}", stack.number);
    }
    block.is_applied = false;
    Some("a renamed block")
}

fn remove_output(repository: &mut Repository, position: usize, dice: &mut Dice) -> Option<&'static str> {
    let outputs = &mut repository.stacks[position].outputs;
    if outputs.is_empty() {
        return None;
    }
    outputs.remove(dice.below(outputs.len()));
    Some("an output less")
}

/// Takes a value from elsewhere, or from nowhere.
fn move_reference(repository: &mut Repository, position: usize, dice: &mut Dice) -> Option<&'static str> {
    let all = blocks_of(repository, position, &["vm", "volume", "database", "app"]);
    let index = *dice.pick(&all)?;
    let (name, shape) = *dice.pick(reference_attributes(repository.stacks[position].blocks[index].kind))?;
    let source = repository.any_source(position, shape, dice).filter(|_| dice.below(4) > 0);
    let attributes = &mut repository.stacks[position].blocks[index].attributes;
    match source {
        Some(source) => drop(attributes.insert(name.to_owned(), setting_of(name, source))),
        None => drop(attributes.remove(name)),
    }
    Some("a moved reference")
}

/// Lets an output show something else of the same shape.
fn move_output(repository: &mut Repository, position: usize, dice: &mut Dice) -> Option<&'static str> {
    let count = repository.stacks[position].outputs.len();
    let index = dice.below(count);
    let shape = repository.stacks[position].outputs.get(index)?.shape;
    let source = repository.any_source(position, shape, dice)?;
    let output = &mut repository.stacks[position].outputs[index];
    output.setting = match shape {
        Shape::Text if dice.once_in(2) => Setting::Within(source),
        Shape::Text | Shape::Id(_) => output.setting.with_source(source),
    };
    Some("another value of an output")
}

fn swap_networks(repository: &mut Repository, position: usize, dice: &mut Dice) -> Option<&'static str> {
    let all = blocks_of(repository, position, &["vpc"]);
    let (one, other) = (*dice.pick(&all)?, *dice.pick(&all)?);
    let blocks = &mut repository.stacks[position].blocks;
    let (first, second) =
        (blocks[one].attributes.get("cidr").cloned()?, blocks[other].attributes.get("cidr").cloned()?);
    blocks[one].attributes.insert("cidr".into(), second);
    blocks[other].attributes.insert("cidr".into(), first);
    Some("swapped networks")
}

/// Returns whether a stack of the repository finds an object of another one by its name.
pub(super) fn uses_data(repository: &Repository) -> bool {
    let blocks = repository.stacks.iter().flat_map(|stack| &stack.blocks);
    let mut sources = blocks.flat_map(|block| block.attributes.values()).filter_map(Setting::source);
    sources.any(|source| matches!(source, Source::Data { .. }))
}
