//! `Coverage`: which fields and variants a value serializes. It is a serializer that records what serde's derives
//! call, so no type or field is named here, and a new one is found without a change of the tests.
//!
//! A golden file is complete when every field that is left out in one place is written in another, every `Option` is
//! given once and left out once, every list and map is filled once, and every variant of an enum occurs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::DeserializeOwned;
use serde::ser::{self, Serialize};

/// How a field was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    /// `skip_serializing_if` left it out.
    LeftOut,
    /// `None`.
    Absent,
    /// `Some`.
    Given,
    /// A list or map without items.
    Empty,
    /// A list or map with items.
    Filled,
    /// Anything else.
    Plain,
}

/// Keys of fields whose value is the name of a variant.
const TAGS: [&str; 4] = ["record", "do", "is", "type"];

/// The fields and variants that were serialized, and how.
#[derive(Debug, Default)]
pub struct Coverage {
    fields: BTreeMap<String, BTreeSet<Shape>>,
    /// By the name of the enum, or the key of its tag.
    variants: BTreeMap<String, BTreeSet<String>>,
}

impl Coverage {
    /// Records what a value serializes.
    pub fn add(&mut self, value: &impl Serialize) {
        value.serialize(Writer(self)).unwrap();
    }

    /// Fails if a field occurs in one of its forms only, such as always left out; names all such fields.
    pub fn assert_fields_are_complete(&self) {
        let complaint = |(name, shapes): (&String, &BTreeSet<Shape>)| {
            let has = |shape| shapes.contains(&shape);
            let written = has(Shape::Given) || has(Shape::Filled) || has(Shape::Plain);
            let left_out = has(Shape::LeftOut) || has(Shape::Absent);
            match () {
                () if !written => Some(format!("{name} is never written with a value")),
                () if has(Shape::Given) && !left_out => Some(format!("{name} is never left out")),
                () => None,
            }
        };
        let complaints: Vec<_> = self.fields.iter().filter_map(complaint).collect();
        assert!(complaints.is_empty(), "the golden file is not complete:\n{}", complaints.join("\n"));
    }

    /// Fails if a variant of an enum does not occur; `tag` is the key of an internal tag.
    pub fn assert_variants<T: DeserializeOwned>(&self, tag: Option<&str>) {
        let name = std::any::type_name::<T>().rsplit("::").next().unwrap();
        let seen = self.variants.get(tag.unwrap_or(name)).cloned().unwrap_or_default();
        let missing: Vec<_> = variants_of::<T>(tag).into_iter().filter(|one| !seen.contains(one)).collect();
        assert!(missing.is_empty(), "the golden file has no {name} that is {}", missing.join(", "));
    }

    fn field(&mut self, owner: &str, key: &str, shape: Shape) {
        self.fields.entry(format!("{owner}.{key}")).or_default().insert(shape);
    }

    fn variant(&mut self, of: &str, name: &str) {
        self.variants.entry(of.to_owned()).or_default().insert(name.to_owned());
    }
}

/// Returns the names of an enum's variants as they are written: serde lists them when it meets an unknown one.
pub fn variants_of<T: DeserializeOwned>(tag: Option<&str>) -> Vec<String> {
    let text = match tag {
        Some(tag) => format!("{{\"{tag}\":\"?\"}}"),
        None => "\"?\"".to_owned(),
    };
    let error = serde_json::from_str::<T>(&text).err().expect("`?` is not a variant").to_string();
    let (_, listed) = error.split_once("expected ").unwrap_or_else(|| panic!("no variants in: {error}"));
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The error type that serde requires; the serializer itself never fails.
#[derive(Debug)]
pub struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl ser::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// How a value was written, with its content if it is a string.
#[derive(Debug, Clone, PartialEq)]
struct Written(Shape, Option<String>);

const PLAIN: Written = Written(Shape::Plain, None);

struct Writer<'c>(&'c mut Coverage);

/// A list, map or struct that is being written.
struct Compound<'c> {
    coverage: &'c mut Coverage,
    /// Name of the struct, and of the variant if it is one.
    owner: String,
    shape: Shape,
}

impl<'c> Compound<'c> {
    fn new(coverage: &'c mut Coverage, owner: impl Into<String>, shape: Shape) -> Self {
        Self { coverage, owner: owner.into(), shape }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.shape = Shape::Filled;
        value.serialize(Writer(self.coverage)).map(drop)
    }

    fn entry<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Failure> {
        let Written(shape, text) = value.serialize(Writer(self.coverage))?;
        match text {
            Some(text) if TAGS.contains(&key) => {
                self.coverage.variant(key, &text);
                self.owner = format!("{}[{text}]", self.owner);
            }
            _ => self.coverage.field(&self.owner, key, shape),
        }
        Ok(())
    }

    fn finish(&self) -> Written {
        Written(self.shape, None)
    }
}

macro_rules! scalars {
    ($($name:ident: $kind:ty,)*) => {
        $(fn $name(self, _: $kind) -> Result<Written, Failure> {
            Ok(PLAIN)
        })*
    };
}

impl<'c> ser::Serializer for Writer<'c> {
    type Ok = Written;
    type Error = Failure;
    type SerializeSeq = Compound<'c>;
    type SerializeTuple = Compound<'c>;
    type SerializeTupleStruct = Compound<'c>;
    type SerializeTupleVariant = Compound<'c>;
    type SerializeMap = Compound<'c>;
    type SerializeStruct = Compound<'c>;
    type SerializeStructVariant = Compound<'c>;

    scalars! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_char: char,
        serialize_bytes: &[u8],
        serialize_unit_struct: &'static str,
    }

    fn serialize_str(self, text: &str) -> Result<Written, Failure> {
        Ok(Written(Shape::Plain, Some(text.to_owned())))
    }

    fn serialize_unit(self) -> Result<Written, Failure> {
        Ok(PLAIN)
    }

    fn serialize_none(self) -> Result<Written, Failure> {
        Ok(Written(Shape::Absent, None))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Written, Failure> {
        value.serialize(self).map(|_| Written(Shape::Given, None))
    }

    fn serialize_unit_variant(
        self,
        of: &'static str,
        _: u32,
        name: &'static str,
    ) -> Result<Written, Failure> {
        self.0.variant(of, name);
        Ok(PLAIN)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Written, Failure> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        of: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<Written, Failure> {
        self.0.variant(of, name);
        value.serialize(self).map(|_| PLAIN)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'c>, Failure> {
        Ok(Compound::new(self.0, "", Shape::Empty))
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'c>, Failure> {
        Ok(Compound::new(self.0, "", Shape::Plain))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'c>, Failure> {
        Ok(Compound::new(self.0, "", Shape::Plain))
    }

    fn serialize_tuple_variant(
        self,
        of: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Compound<'c>, Failure> {
        self.0.variant(of, name);
        Ok(Compound::new(self.0, "", Shape::Plain))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'c>, Failure> {
        Ok(Compound::new(self.0, "", Shape::Empty))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Compound<'c>, Failure> {
        Ok(Compound::new(self.0, name, Shape::Plain))
    }

    fn serialize_struct_variant(
        self,
        of: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Compound<'c>, Failure> {
        self.0.variant(of, name);
        Ok(Compound::new(self.0, format!("{of}[{name}]"), Shape::Plain))
    }
}

macro_rules! items {
    ($($kind:ident: $method:ident,)*) => {
        $(impl ser::$kind for Compound<'_> {
            type Ok = Written;
            type Error = Failure;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
                self.item(value)
            }

            fn end(self) -> Result<Written, Failure> {
                Ok(self.finish())
            }
        })*
    };
}

items! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

impl ser::SerializeMap for Compound<'_> {
    type Ok = Written;
    type Error = Failure;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Failure> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        self.item(value)
    }

    fn end(self) -> Result<Written, Failure> {
        Ok(self.finish())
    }
}

macro_rules! fields {
    ($($kind:ident,)*) => {
        $(impl ser::$kind for Compound<'_> {
            type Ok = Written;
            type Error = Failure;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Failure> {
                self.entry(key, value)
            }

            fn skip_field(&mut self, key: &'static str) -> Result<(), Failure> {
                self.coverage.field(&self.owner, key, Shape::LeftOut);
                Ok(())
            }

            fn end(self) -> Result<Written, Failure> {
                Ok(self.finish())
            }
        })*
    };
}

fields! {
    SerializeStruct,
    SerializeStructVariant,
}
