//! `RequestBody` and `BodyField`: read a request body field by field, each with its type and bounds. A refusal is 400,
//! and its message names the field and what it must be ("Errors").

use rust_decimal::Decimal;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::message::ErrorResponse;

/// A request's JSON object. `null` counts as absent; unknown fields are ignored.
pub(in crate::emulator::world) struct RequestBody(Map<String, Value>);

/// Limit on an amount of money in USD, so that sums stay exact.
const MAX_MONEY: i64 = 1_000_000_000;

/// A field that is present in the body, or an entry of a list, which has the list's name in messages.
pub(in crate::emulator::world) struct BodyField<'a> {
    name: &'a str,
    value: &'a Value,
}

impl RequestBody {
    /// Parses a request body; an empty body counts as an empty object. Anything but an object is refused.
    pub(in crate::emulator::world) fn parse(bytes: &[u8]) -> Result<Self, ErrorResponse> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self(Map::new()));
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(ErrorResponse::bad_request("the body must be a JSON object")),
            Err(error) => Err(ErrorResponse::bad_request(format!("the body is not valid JSON: {error}"))),
        }
    }

    /// Reads a field; `None` if it is absent or `null`.
    pub(in crate::emulator::world) fn optional_field<'a, T>(
        &'a self,
        name: &'a str,
        read: impl FnOnce(BodyField<'a>) -> Result<T, ErrorResponse>,
    ) -> Result<Option<T>, ErrorResponse> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(BodyField { name, value }).map(Some),
        }
    }

    /// Reads a field; refuses the request if it is absent.
    pub(in crate::emulator::world) fn required_field<'a, T>(
        &'a self,
        name: &'a str,
        read: impl FnOnce(BodyField<'a>) -> Result<T, ErrorResponse>,
    ) -> Result<T, ErrorResponse> {
        self.optional_field(name, read)?
            .ok_or_else(|| ErrorResponse::bad_request(format!("{name} is required")))
    }

    /// Refuses a `region` other than `us-east`, the only one of the service; it may be absent.
    pub(in crate::emulator::world) fn check_region(&self) -> Result<(), ErrorResponse> {
        self.optional_field("region", |field| field.one_of(&["us-east"])).map(|_| ())
    }
}

impl<'a> BodyField<'a> {
    fn value_error<T>(&self, wanted: &str) -> Result<T, ErrorResponse> {
        Err(ErrorResponse::bad_request(format!("{} must be {wanted}", self.name)))
    }

    pub(in crate::emulator::world) fn boolean(self) -> Result<bool, ErrorResponse> {
        self.value.as_bool().map_or_else(|| self.value_error("true or false"), Ok)
    }

    /// Reads an integer within bounds, which are included.
    pub(in crate::emulator::world) fn integer(self, min: i64, max: i64) -> Result<i64, ErrorResponse> {
        match self.value.as_i64() {
            Some(number) if (min..=max).contains(&number) => Ok(number),
            _ => self.value_error(&format!("an integer from {min} to {max}")),
        }
    }

    /// Reads a decimal number from `min` to `MAX_MONEY`, with exactly the digits that were sent.
    pub(in crate::emulator::world) fn decimal(self, min: Decimal) -> Result<Decimal, ErrorResponse> {
        let read = self.value.as_number().and_then(|number| number.to_string().parse::<Decimal>().ok());
        let read = read.filter(|number| (min..=Decimal::from(MAX_MONEY)).contains(number));
        read.map_or_else(|| self.value_error(&format!("a number from {min} to {MAX_MONEY}")), Ok)
    }

    /// Reads a string with bounds on its length in characters, which are included.
    pub(in crate::emulator::world) fn text(self, min: usize, max: usize) -> Result<&'a str, ErrorResponse> {
        match self.value.as_str() {
            Some(text) if (min..=max).contains(&text.chars().count()) => Ok(text),
            _ => self.value_error(&format!("a text of {min} to {max} characters")),
        }
    }

    /// Reads a string of 1 to `max` characters, or an integer, which is returned as a string.
    pub(in crate::emulator::world) fn text_or_number(self, max: usize) -> Result<String, ErrorResponse> {
        match self.value.as_i64() {
            Some(number) => Ok(number.to_string()),
            None => self.text(1, max).map(str::to_owned),
        }
    }

    /// Reads a display name of 1 to 64 characters.
    pub(in crate::emulator::world) fn name(self) -> Result<String, ErrorResponse> {
        self.text(1, 64).map(str::to_owned)
    }

    /// Reads a name of 1 to 255 characters, or an integer that is not negative, which is returned as a string.
    pub(in crate::emulator::world) fn name_or_number(self) -> Result<String, ErrorResponse> {
        match self.value.as_u64() {
            Some(number) => Ok(number.to_string()),
            None => self.text(1, 255).map(str::to_owned),
        }
    }

    pub(in crate::emulator::world) fn one_of(
        self,
        words: &[&'static str],
    ) -> Result<&'static str, ErrorResponse> {
        let found = words.iter().find(|word| self.value.as_str() == Some(**word));
        found.copied().map_or_else(|| self.value_error(&format!("one of {}", words.join(", "))), Ok)
    }

    pub(in crate::emulator::world) fn uuid(self) -> Result<Uuid, ErrorResponse> {
        let read = self.value.as_str().and_then(|text| Uuid::try_parse(text).ok());
        read.map_or_else(|| self.value_error("a UUID"), Ok)
    }

    /// Reads a list of at most `most` items, each with `read`.
    pub(in crate::emulator::world) fn list<T>(
        self,
        most: usize,
        read: impl Fn(BodyField<'a>) -> Result<T, ErrorResponse>,
    ) -> Result<Vec<T>, ErrorResponse> {
        match self.value.as_array() {
            Some(items) if items.len() <= most => {
                items.iter().map(|value| read(BodyField { name: self.name, value })).collect()
            }
            _ => self.value_error(&format!("a list of at most {most} entries")),
        }
    }

    /// Reads an object as a body with fields of its own; its messages do not name the outer field.
    pub(in crate::emulator::world) fn nested_body(self) -> Result<RequestBody, ErrorResponse> {
        self.object().cloned().map(RequestBody)
    }

    /// Reads a value that the type `T` deserializes from; `wanted` describes it in the message of a refusal.
    pub(in crate::emulator::world) fn deserialize_value<T: DeserializeOwned>(
        self,
        wanted: &str,
    ) -> Result<T, ErrorResponse> {
        serde_json::from_value(self.value.clone()).or_else(|_| self.value_error(wanted))
    }

    /// Reads a JSON object.
    pub(in crate::emulator::world) fn object(self) -> Result<&'a Map<String, Value>, ErrorResponse> {
        self.value.as_object().map_or_else(|| self.value_error("an object"), Ok)
    }
}
