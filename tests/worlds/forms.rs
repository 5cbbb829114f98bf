//! More forms of the same, for the binary: networks, and lists that show less than a GET of one. A client sends the
//! same, and says the same.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde_json::Value as Json;

use crate::contract::Form;
use crate::layer::{Asked, Effect, Seen, Told, Variation};

fn as_asked(_: &mut Seen, _: &mut Asked) {}

const fn variation(name: &'static str, tell: fn(&mut Seen, &Asked, &mut Told)) -> Variation {
    Variation { name, effect: Effect::Representation, ask: as_asked, tell }
}

pub static VARIATIONS: &[Variation] = &[
    variation("networks by another of their addresses", |_, asked, told| {
        told.fields(asked, |field, value| match (field.form, value) {
            (Form::Network, value) => other_address(value),
            (Form::Networks, Json::Array(items)) => items.iter_mut().for_each(other_address),
            _ => {}
        });
    }),
    variation("null in lists for what may be empty", |_, asked, told| {
        told.records(asked, |of, record, listed| {
            let optional = of.fields.iter().filter(|field| field.optional && of.readable && listed);
            for field in optional {
                if let Some(value) = record.get_mut(field.name) {
                    *value = Json::Null;
                }
            }
        });
    }),
    variation("lists without what may be empty", |_, asked, told| {
        told.records(asked, |of, record, listed| {
            let Some(map) = record.as_object_mut().filter(|_| of.readable && listed) else { return };
            of.fields.iter().filter(|field| field.optional).for_each(|field| drop(map.remove(field.name)));
        });
    }),
];

/// `10.1.0.0/16` as `10.1.192.0/16`: the same network. Sets of networks have another order by these texts.
fn other_address(value: &mut Json) {
    let network = value.as_str().and_then(|text| text.parse::<Ipv4Net>().ok());
    if let Some(network) = network.filter(|network| network.prefix_len() <= 30) {
        let quarter = (1_u32 << (32 - network.prefix_len())) / 4;
        let other = Ipv4Addr::from(u32::from(network.network()) + 3 * quarter);
        *value = format!("{other}/{}", network.prefix_len()).into();
    }
}
