//! Whether what a reference leads to fits an expected type. In: the type, and the kind and attribute of the target; out:
//! a decision by type alone, since the value is not known yet.

use crate::model::schema::{Kind, Registry, Type};

/// Returns the type of a reference to an object (`None`) or to one of its attributes; `None` if the kind has no such
/// attribute.
pub(in crate::config) fn referenced_type(kind: &'static Kind, attribute: Option<&str>) -> Option<Type> {
    match attribute {
        None | Some("id") => Some(Type::Reference(kind.name)),
        Some(name) => Some(kind.attribute(name)?.ty),
    }
}

/// Returns whether a value of the type `found` may stand where the type `of` is expected. `whole`: the reference is to
/// an object, not to one of its attributes; `inside`: it is to become an item of a list.
pub(in crate::config) fn is_fitting_type(
    registry: &Registry,
    of: &Type,
    found: &Type,
    (whole, inside): (bool, bool),
) -> bool {
    match (of, found) {
        (Type::Reference(wanted), Type::Reference(found)) => wanted == found,
        (Type::Catalog(table), Type::Reference(found)) if whole => {
            registry.catalog(table).is_some_and(|table| table.of_kind == Some(found))
        }
        (Type::Boolean, found) => matches!(found, Type::Boolean),
        (Type::Integer { .. }, found) => matches!(found, Type::Integer { .. }),
        (Type::Decimal, found) => matches!(found, Type::Integer { .. } | Type::Decimal),
        (Type::List(_) | Type::Set { .. }, found) => {
            !inside && matches!(found, Type::List(_) | Type::Set { .. })
        }
        (Type::Map(_) | Type::Record(_), found) => matches!(found, Type::Map(_) | Type::Record(_)),
        (_, Type::Reference(_)) => !whole,
        (_, Type::List(_) | Type::Set { .. } | Type::Map(_) | Type::Record(_)) => false,
        _ => true,
    }
}
