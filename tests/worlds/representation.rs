//! Variations of representation alone: another form of the same. A client sends the same, and says the
//! same.

use serde_json::{Value as Json, json};
use stead::model::schema::Method;

use crate::contract::Form;
use crate::layer::{Asked, Effect, Seen, Told, Variation};

fn as_asked(_: &mut Seen, _: &mut Asked) {}

fn as_told(_: &mut Seen, _: &Asked, _: &mut Told) {}

const fn variation(name: &'static str, tell: fn(&mut Seen, &Asked, &mut Told)) -> Variation {
    Variation { name, effect: Effect::Representation, ask: as_asked, tell }
}

/// The world as it is.
pub static PLAIN: Variation = variation("plain", as_told);

pub static VARIATIONS: &[Variation] = &[
    variation("bare objects", |_, asked, told| unwrap(asked, told, false)),
    variation("bare lists", |_, asked, told| unwrap(asked, told, true)),
    variation("named envelopes", named_envelopes),
    variation("data everywhere", data_everywhere),
    variation("200 for 201", |_, _, told| answer_with(told, 201, 200)),
    variation("201 for every POST", |_, asked, told| {
        if asked.method == Method::Post {
            answer_with(told, 200, 201);
        }
    }),
    variation("202 for changes", |_, asked, told| {
        if asked.method.mutates() && told.status < 300 {
            told.status = 202;
        }
    }),
    variation("204 without a body", no_content),
    variation("null for empty", |_, asked, told| null_for_empty(asked, told)),
    variation("empty text for null", empty_text),
    variation("more fields", more_fields),
    variation("numbers as texts", |_, asked, told| {
        told.fields(asked, |field, value| {
            if matches!(field.form, Form::Whole | Form::Price) && value.is_number() {
                *value = value.to_string().into();
            }
        });
    }),
    variation("whole numbers as floats", |_, asked, told| {
        told.fields(asked, |field, value| {
            if let (Form::Whole, Some(whole)) = (field.form, value.as_i64()) {
                *value = json!(whole as f64);
            }
        });
    }),
    variation("prices as numbers", |_, asked, told| {
        told.fields(asked, |field, value| {
            let number = value.as_str().and_then(|text| text.parse::<f64>().ok());
            if let (Form::Price, Some(number)) = (field.form, number) {
                *value = json!(number);
            }
        });
    }),
    variation("times with an offset", |_, asked, told| times(asked, told, "+00:00")),
    variation("times with a fraction", |_, asked, told| times(asked, told, ".000000Z")),
    variation("hosts in capitals", |_, asked, told| {
        texts(asked, told, Form::Host, |t| t.to_uppercase() + ".");
    }),
    variation("mail in capitals", |_, asked, told| texts(asked, told, Form::Email, str::to_uppercase)),
    variation("keys without a comment", |_, asked, told| {
        texts(asked, told, Form::PublicKey, |t| t.split(' ').take(2).collect::<Vec<_>>().join(" "));
    }),
    variation("clock times with seconds", |_, asked, told| {
        texts(asked, told, Form::ClockTime, |t| format!("{t}:00"));
    }),
    variation("sets in another order", |_, asked, told| {
        told.fields(asked, |field, value| {
            let is_set = matches!(field.form, Form::Networks | Form::Texts | Form::Ids);
            if let Some(items) = value.as_array_mut().filter(|_| is_set) {
                items.reverse();
            }
        });
    }),
    variation("databases by short ids", short_ids),
    variation("apps build until they have a source", |_, asked, told| {
        told.records(asked, |_, record, _| {
            if record["status"] == "awaiting_source" {
                record["status"] = "building".into();
            }
        });
    }),
    variation("lists oldest first", |_, asked, told| {
        if let Some(rows) =
            rows(asked, told).filter(|_| asked.query.iter().all(|(k, v)| k != "offset" || v == "0"))
        {
            rows.reverse();
        }
    }),
    variation("no total", |_, asked, told| {
        if let Some(body) = told.body.as_mut().and_then(Json::as_object_mut).filter(|_| asked.is_list()) {
            body.remove("total");
        }
    }),
    Variation {
        name: "pages of two",
        effect: Effect::Representation,
        ask: |_, asked| {
            asked.set("limit", 2);
        },
        tell: as_told,
    },
    variation("another status on the way", |_, asked, told| {
        told.records(asked, |of, record, _| {
            let passing = record["status"].as_str().is_some_and(|status| {
                !of.ready.is_empty()
                    && !of.ready.contains(&status)
                    && !matches!(status, "failed" | "deleting")
            });
            if passing && !matches!(record["status"].as_str(), Some("suspended" | "paused")) {
                record["status"] = "moving".into();
            }
        });
    }),
    variation("no project in lists", |_, asked, told| no_project(asked, told, true)),
    variation("no project anywhere", |_, asked, told| no_project(asked, told, false)),
    variation("other words for 404", |_, _, told| {
        if told.status == 404 {
            told.body = Some(json!({"error": "gone", "message": "no such thing", "reason": "x"}));
        }
    }),
];

fn answer_with(told: &mut Told, from: u16, to: u16) {
    if told.status == from {
        told.status = to;
    }
}

fn unwrap(asked: &Asked, told: &mut Told, lists: bool) {
    let Some(map) = told.body.as_mut().and_then(Json::as_object_mut).filter(|_| told.status < 300) else {
        return;
    };
    if asked.target.is_none() {
        return;
    }
    for key in ["data", "database"] {
        if let Some(inner) = map.get(key).filter(|inner| inner.is_array() == lists) {
            let inner = inner.clone();
            told.body = Some(inner);
            return;
        }
    }
}

/// The answer's key is the kind's name, as `database` is; lists are under its plural.
fn named_envelopes(_: &mut Seen, asked: &Asked, told: &mut Told) {
    let Some(target) = asked.target.as_ref().filter(|target| target.call.is_none()) else { return };
    let Some(map) = told.body.as_mut().and_then(Json::as_object_mut) else { return };
    if let Some(inner) = map.remove("data") {
        let plural = if inner.is_array() { "s" } else { "" };
        map.insert(format!("{}{plural}", target.of.kind), inner);
    }
}

fn data_everywhere(_: &mut Seen, _: &Asked, told: &mut Told) {
    let Some(map) = told.body.as_mut().and_then(Json::as_object_mut) else { return };
    for key in ["database", "run", "settings"] {
        if let Some(inner) = map.remove(key) {
            map.insert("data".to_owned(), inner);
        }
    }
}

/// A deletion or a call that has nothing to tell.
fn no_content(_: &mut Seen, asked: &Asked, told: &mut Told) {
    let call = asked.target.as_ref().is_some_and(|target| target.id.is_some());
    let grant = asked.path.ends_with("source-upload") || asked.path.ends_with("deployments");
    if asked.method.mutates() && call && !grant && told.status == 200 {
        *told = Told { status: 204, body: None };
    }
}

fn null_for_empty(asked: &Asked, told: &mut Told) {
    told.records(asked, |of, record, _| {
        let Some(map) = record.as_object_mut() else { return };
        for field in of.fields.iter().filter(|field| field.optional) {
            let is_empty = map.get(field.name).is_some_and(|value| {
                value.is_null() || value == "" || *value == json!([]) || *value == json!({})
            });
            if is_empty {
                map.insert(field.name.to_owned(), Json::Null);
            }
        }
    });
}

fn empty_text(_: &mut Seen, asked: &Asked, told: &mut Told) {
    told.records(asked, |of, record, _| {
        let Some(map) = record.as_object_mut() else { return };
        for field in of.fields.iter().filter(|field| field.optional) {
            let is_text = matches!(field.form, Form::Id | Form::Time | Form::Text);
            if is_text && map.get(field.name).is_none_or(Json::is_null) {
                map.insert(field.name.to_owned(), "".into());
            }
        }
    });
}

fn more_fields(_: &mut Seen, asked: &Asked, told: &mut Told) {
    told.records(asked, |_, record, _| {
        if let Some(map) = record.as_object_mut() {
            map.insert("extra_of_tomorrow".to_owned(), json!({"id": "x", "more": [1, {}]}));
            map.insert("flags".to_owned(), json!(null));
        }
    });
}

fn times(asked: &Asked, told: &mut Told, tail: &str) {
    texts(asked, told, Form::Time, |text| match text.strip_suffix('Z') {
        Some(head) => format!("{}{tail}", head.split('.').next().unwrap_or(head)),
        None => text.to_owned(),
    });
}

fn texts(asked: &Asked, told: &mut Told, form: Form, other: impl Fn(&str) -> String) {
    told.fields(asked, |field, value| {
        if let Some(text) = value.as_str().filter(|text| field.form == form && !text.is_empty()) {
            *value = other(text).into();
        }
    });
}

/// Whatever refers to a database names it by its short id.
fn short_ids(seen: &mut Seen, asked: &Asked, told: &mut Told) {
    told.records(asked, |of, record, _| {
        if let (Some(long), Some(short)) = (record["id"].as_str(), record["database_id"].as_str())
            && of.kind == "database"
        {
            seen.short.insert(long.to_owned(), short.to_owned());
        }
    });
    told.fields(asked, |field, value| {
        if let Some(short) = value.as_str().and_then(|long| seen.short.get(long))
            && field.form == Form::DatabaseId
        {
            *value = short.clone().into();
        }
    });
}

fn rows<'t>(asked: &Asked, told: &'t mut Told) -> Option<&'t mut Vec<Json>> {
    told.rows().filter(|_| asked.is_list())
}

fn no_project(asked: &Asked, told: &mut Told, lists: bool) {
    told.records(asked, |_, record, listed| {
        if let Some(map) = record.as_object_mut().filter(|_| listed || !lists) {
            map.remove("project_id");
        }
    });
}
