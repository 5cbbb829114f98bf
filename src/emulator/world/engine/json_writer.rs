//! `JsonObjectWriter`: writes a JSON object directly into the response, without an intermediate tree: a page of
//! records is most of the work of a list request. Keys keep the order in which they are written.

use rust_decimal::Decimal;
use serde::Serialize;

/// A JSON object that is being written.
pub(in crate::emulator::world) struct JsonObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> JsonObjectWriter<'a> {
    /// Writes one object; `fill` writes its fields.
    pub(in crate::emulator::world) fn write(out: &'a mut Vec<u8>, fill: impl FnOnce(&mut Self)) {
        out.push(b'{');
        let mut fields = Self { out, empty: true };
        fill(&mut fields);
        fields.out.push(b'}');
    }

    /// Writes an array of objects; `fill` writes the fields of one item.
    pub(in crate::emulator::world) fn write_array<T>(
        out: &mut Vec<u8>,
        items: impl IntoIterator<Item = T>,
        fill: impl Fn(&mut JsonObjectWriter<'_>, T),
    ) {
        out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            JsonObjectWriter::write(out, |fields| fill(fields, item));
        }
        out.push(b']');
    }

    fn write_key(&mut self, name: &str) {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.write_value(name);
        self.out.push(b':');
    }

    fn write_value(&mut self, value: &(impl Serialize + ?Sized)) {
        let before = self.out.len();
        if serde_json::to_writer(&mut *self.out, value).is_err() {
            // Only a map with keys that are not strings could fail here, and no record has one.
            self.out.truncate(before);
            self.out.extend_from_slice(b"null");
        }
    }

    /// Writes one field; a key that is written twice appears twice.
    pub(in crate::emulator::world) fn write_field(
        &mut self,
        name: &str,
        value: &(impl Serialize + ?Sized),
    ) {
        self.write_key(name);
        self.write_value(value);
    }

    /// Writes an exact decimal as a JSON number, without a detour by a float and without zeros at its end.
    pub(in crate::emulator::world) fn write_number(&mut self, name: &str, value: Decimal) {
        self.write_key(name);
        self.out.extend_from_slice(value.normalize().to_string().as_bytes());
    }

    /// Writes an exact decimal as a JSON string with four decimals, the form of `price_per_hour` in the API.
    pub(in crate::emulator::world) fn number_text(&mut self, name: &str, value: Decimal) {
        self.write_field(name, &format!("{value:.4}"));
    }

    /// Writes a field whose value is an object.
    pub(in crate::emulator::world) fn write_object(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut JsonObjectWriter<'_>),
    ) {
        self.write_key(name);
        JsonObjectWriter::write(self.out, fill);
    }

    /// Writes a field whose value is an array of objects.
    pub(in crate::emulator::world) fn write_object_array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        fill: impl Fn(&mut JsonObjectWriter<'_>, T),
    ) {
        self.write_key(name);
        JsonObjectWriter::write_array(self.out, items, fill);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_json_is_read_back_by_a_parser() {
        let mut out = Vec::new();
        JsonObjectWriter::write(&mut out, |fields| {
            fields.write_field("text", "a\"\u{1}\u{202e}");
            fields.write_number("money", Decimal::new(12_500, 4));
            fields.number_text("hour", Decimal::new(68, 4));
            fields.write_object("inner", |inner| inner.write_field("none", &None::<u8>));
            fields.write_object_array("items", [1, 2], |item, n| item.write_field("n", &n));
            fields.write_object_array("empty", [0; 0], |item, n| item.write_field("n", &n));
        });
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let wanted = serde_json::json!({
            "text": "a\"\u{1}\u{202e}", "money": 1.25, "hour": "0.0068",
            "inner": {"none": null}, "items": [{"n": 1}, {"n": 2}], "empty": [],
        });
        assert_eq!(read, wanted);
    }
}
