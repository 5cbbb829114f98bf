//! Discovery: which files of a directory belong to its stack, by their names.

/// Returns whether a file of this name is part of the stack of its directory: `stead.yaml`, `*.stead.yaml`, or
/// the same with `.kdl`.
#[must_use]
pub fn is_stack_file(name: &str) -> bool {
    ["stead.yaml", "stead.kdl"].iter().any(|suffix| {
        name.strip_suffix(suffix)
            .is_some_and(|stem| stem.is_empty() || stem.len() > 1 && stem.ends_with('.'))
    })
}

/// Returns whether a file of this name contains tests of the stack of its directory: `*.test.yaml`
/// or `*.test.kdl`, not hidden.
#[must_use]
pub fn is_test_file(name: &str) -> bool {
    [".test.yaml", ".test.kdl"].iter().any(|suffix| {
        name.strip_suffix(suffix).is_some_and(|stem| !stem.is_empty() && !stem.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::{is_stack_file, is_test_file};

    #[test]
    fn only_test_file_names_are_accepted() {
        for (name, is) in
            [("shop.test.yaml", true), ("a.b.test.kdl", true), (".test.yaml", false), ("test.yaml", false)]
        {
            assert_eq!(is_test_file(name), is, "{name}");
            assert!(!is_stack_file(name), "{name}");
        }
    }

    #[test]
    fn only_stack_file_names_are_accepted() {
        for name in ["stead.yaml", "stead.kdl", "shop.stead.yaml", "a.b.stead.kdl"] {
            assert!(is_stack_file(name), "{name}");
        }
        for name in ["shop.yaml", "instead.yaml", "stead.yml", "stead.lock", ".stead.yaml", "x.stead.yaml~"]
        {
            assert!(!is_stack_file(name), "{name}");
        }
    }
}
