//! Reads one source file and keeps what the model needs: items, imports, written paths, method calls and `impl` blocks.
//!
//! In: the text of a file. Out: one `Facts` for the file's module, followed by one for each inline module. Code that is
//! compiled for tests only is left out. Names are not resolved here.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ImplItem, Item, Pat, TraitItem, Type, UseTree, Visibility};

use crate::tokens;

/// A path as written, segment by segment.
pub type Segments = Vec<String>;

/// One name that a `use` item imports.
pub struct Import {
    /// The name in the importing module; empty for a glob.
    pub name: String,
    pub segments: Segments,
    pub is_glob: bool,
    /// `pub use`, also `pub(crate) use` and `pub(super) use`.
    pub is_reexport: bool,
}

/// An inherent `impl` block.
pub struct InherentImpl {
    pub self_type: Segments,
    pub functions: BTreeSet<String>,
    /// The functions that take `self`.
    pub methods: BTreeSet<String>,
}

/// What is known of the type of a method call's receiver: `self`, a parameter, or a field of one of them.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Receiver {
    /// The type of the variable.
    pub variable: Segments,
    /// The field of the variable that is the receiver; `None` if the variable itself is.
    pub field: Option<String>,
}

/// What one module contains.
#[derive(Default)]
pub struct Facts {
    /// Path of an inline module below the file's module; empty for the file's module.
    pub inline_path: Segments,
    pub items: BTreeSet<String>,
    pub imports: Vec<Import>,
    pub paths: BTreeSet<Segments>,
    /// The types of the fields whose type is a path, by struct and field.
    pub fields: BTreeMap<(String, String), Segments>,
    pub calls: BTreeSet<(Option<Receiver>, String)>,
    pub inherent: Vec<InherentImpl>,
    /// Methods of traits, of their implementations, and functions in item macros.
    pub other_methods: BTreeSet<String>,
    /// Modules that are declared for tests only.
    pub test_modules: BTreeSet<String>,
}

impl Facts {
    /// Parses a file; panics if it is not valid Rust.
    pub fn parse(path: &str, text: &str) -> Vec<Self> {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        if is_test(&file.attrs) {
            return vec![Self::default()];
        }
        let mut collector = Collector { facts: vec![Self::default()], ..Collector::default() };
        for item in &file.items {
            collector.visit_item(item);
        }
        collector.facts
    }
}

#[derive(Default)]
struct Collector {
    facts: Vec<Facts>,
    /// Index of the module that is being read.
    at: usize,
    /// The self types of the enclosing `impl` blocks.
    self_types: Vec<Option<Segments>>,
    /// The names that the enclosing functions bind.
    bound: Vec<BTreeSet<String>>,
    /// The types of the parameters of the enclosing functions.
    parameters: Vec<BTreeMap<String, Segments>>,
}

impl Collector {
    fn facts(&mut self) -> &mut Facts {
        &mut self.facts[self.at]
    }

    fn self_type(&self) -> Option<Segments> {
        self.self_types.last().cloned().flatten()
    }

    fn add_path(&mut self, segments: Segments) {
        if segments.first().is_some_and(|first| first == "Self") {
            if let (Some(variable), Some(name)) = (self.self_type(), segments.get(1)) {
                self.facts().calls.insert((Some(Receiver { variable, field: None }), name.clone()));
            }
            return;
        }
        let is_bound = segments.len() == 1 && self.bound.iter().any(|names| names.contains(&segments[0]));
        if !is_bound {
            self.facts().paths.insert(segments);
        }
    }

    fn add_tokens(&mut self, found: tokens::Found) {
        for segments in found.paths {
            self.add_path(segments);
        }
        for (variable, name) in found.calls {
            let receiver = self.type_of(&variable).map(|variable| Receiver { variable, field: None });
            self.facts().calls.insert((receiver, name));
        }
    }

    fn add_use(&mut self, tree: &UseTree, prefix: &mut Segments, is_reexport: bool) {
        let mut add = |name: String, segments: Segments, is_glob| {
            self.facts().imports.push(Import { name, segments, is_glob, is_reexport });
        };
        let join = |prefix: &Segments, name: String| {
            let mut segments = prefix.clone();
            if name != "self" || segments.is_empty() {
                segments.push(name);
            }
            segments
        };
        match tree {
            UseTree::Path(path) => {
                prefix.push(name_of(&path.ident));
                self.add_use(&path.tree, prefix, is_reexport);
                prefix.pop();
            }
            UseTree::Name(name) => {
                let segments = join(prefix, name_of(&name.ident));
                add(segments.last().cloned().unwrap_or_default(), segments, false);
            }
            UseTree::Rename(rename) => {
                let segments = join(prefix, name_of(&rename.ident));
                add(name_of(&rename.rename), segments, false);
            }
            UseTree::Glob(_) => add(String::new(), prefix.clone(), true),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(tree, prefix, is_reexport);
                }
            }
        }
    }

    fn add_inline_module(&mut self, name: &syn::Ident, items: &[Item]) {
        let outer = self.at;
        let mut inline_path = self.facts[outer].inline_path.clone();
        inline_path.push(name_of(name));
        self.facts.push(Facts { inline_path, ..Facts::default() });
        self.at = self.facts.len() - 1;
        for item in items {
            self.visit_item(item);
        }
        self.at = outer;
    }

    fn add_impl(&mut self, block: &syn::ItemImpl) {
        let (mut functions, mut methods) = (BTreeSet::new(), BTreeSet::new());
        for item in &block.items {
            if let ImplItem::Fn(function) = item
                && !is_test(&function.attrs)
            {
                let name = name_of(&function.sig.ident);
                if function.sig.receiver().is_some() {
                    methods.insert(name.clone());
                }
                functions.insert(name);
            }
        }
        if block.trait_.is_some() {
            self.facts().other_methods.extend(methods);
        } else if let Some(self_type) = type_path(&block.self_ty) {
            self.facts().inherent.push(InherentImpl { self_type, functions, methods });
        }
    }

    /// Returns the type of a variable: `self`, or a parameter whose type is written as a path; `None` for any other.
    fn type_of(&self, variable: &str) -> Option<Segments> {
        if variable == "self" {
            return self.self_type();
        }
        let parameter = self.parameters.iter().rev().find_map(|parameters| parameters.get(variable))?;
        if parameter[0] == "Self" { self.self_type() } else { Some(parameter.clone()) }
    }

    fn receiver(&self, expression: &Expr) -> Option<Receiver> {
        match expression {
            Expr::Path(path) => {
                let variable = self.type_of(&name_of(path.path.get_ident()?))?;
                Some(Receiver { variable, field: None })
            }
            Expr::Field(access) => match (self.receiver(&access.base)?, &access.member) {
                (Receiver { variable, field: None }, syn::Member::Named(field)) => {
                    Some(Receiver { variable, field: Some(name_of(field)) })
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn visit_function(
        &mut self,
        signature: &syn::Signature,
        bound: BTreeSet<String>,
        visit: impl FnOnce(&mut Self),
    ) {
        self.bound.push(bound);
        self.parameters.push(parameter_types(signature));
        visit(self);
        self.parameters.pop();
        self.bound.pop();
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = parts_of(item);
        if is_test(attributes) {
            if let Item::Mod(module) = item {
                self.facts().test_modules.insert(name_of(&module.ident));
            }
            return;
        }
        // An item inside a function has no path.
        if self.bound.is_empty()
            && let Some(name) = name
        {
            self.facts().items.insert(name_of(name));
        }
        match item {
            Item::Mod(module) => {
                if let Some((_, items)) = &module.content {
                    self.add_inline_module(&module.ident, items);
                }
            }
            Item::Use(import) => {
                let is_reexport = !matches!(import.vis, Visibility::Inherited);
                if import.leading_colon.is_none() {
                    self.add_use(&import.tree, &mut Vec::new(), is_reexport);
                }
            }
            Item::Macro(call) => {
                let found = tokens::scan(call.mac.tokens.clone());
                self.facts().items.extend(found.items.iter().cloned());
                self.facts().other_methods.extend(found.functions.iter().cloned());
                self.add_tokens(found);
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        self.add_impl(block);
        self.self_types.push(type_path(&block.self_ty));
        visit::visit_item_impl(self, block);
        self.self_types.pop();
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        for field in &item.fields {
            if let (Some(name), Some(path)) = (&field.ident, type_path(&field.ty)) {
                self.facts().fields.insert((name_of(&item.ident), name_of(name)), path);
            }
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        for item in &item.items {
            if let TraitItem::Fn(function) = item {
                self.facts().other_methods.insert(name_of(&function.sig.ident));
            }
        }
        self.self_types.push(None);
        visit::visit_item_trait(self, item);
        self.self_types.pop();
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.visit_function(&function.sig, names_bound(|names| names.visit_item_fn(function)), |this| {
            visit::visit_item_fn(this, function);
        });
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(function) if is_test(&function.attrs) => {}
            ImplItem::Const(constant) if is_test(&constant.attrs) => {}
            ImplItem::Fn(function) => {
                self.visit_function(
                    &function.sig,
                    names_bound(|names| names.visit_impl_item_fn(function)),
                    |this| {
                        visit::visit_impl_item(this, item);
                    },
                );
            }
            _ => visit::visit_impl_item(self, item),
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.visit_function(
            &function.sig,
            names_bound(|names| names.visit_trait_item_fn(function)),
            |this| {
                visit::visit_trait_item_fn(this, function);
            },
        );
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !is_test(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_test(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if !is_test(&field.attrs) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !is_test(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.add_path(segments_of(path));
        }
        visit::visit_path(self, path);
    }

    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        // A constant in a pattern looks like a binding.
        let name = name_of(&pattern.ident);
        if name.starts_with(char::is_uppercase) {
            self.add_path(vec![name]);
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let receiver = self.receiver(&call.receiver);
        self.facts().calls.insert((receiver, name_of(&call.method)));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if call.path.segments.len() > 1 {
            self.visit_path(&call.path);
        }
        self.add_tokens(tokens::scan(call.tokens.clone()));
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            for segments in tokens::scan_attribute(list.tokens.clone()) {
                self.add_path(segments);
            }
        }
    }
}

/// Collects the lower-case names that patterns bind.
#[derive(Default)]
struct BoundNames(BTreeSet<String>);

impl<'ast> Visit<'ast> for BoundNames {
    fn visit_pat(&mut self, pattern: &'ast Pat) {
        if let Pat::Ident(bound) = pattern {
            self.0.insert(name_of(&bound.ident));
        }
        visit::visit_pat(self, pattern);
    }
}

fn names_bound(visit: impl FnOnce(&mut BoundNames)) -> BTreeSet<String> {
    let mut names = BoundNames::default();
    visit(&mut names);
    names.0.retain(|name| name.starts_with(|c: char| !c.is_uppercase()));
    names.0
}

/// Returns the parameters whose type is a path, or a reference to one.
fn parameter_types(signature: &syn::Signature) -> BTreeMap<String, Segments> {
    let typed = signature.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(parameter) => Some(parameter),
        syn::FnArg::Receiver(_) => None,
    });
    typed
        .filter_map(|parameter| match &*parameter.pat {
            Pat::Ident(name) => Some((name_of(&name.ident), type_path(&parameter.ty)?)),
            _ => None,
        })
        .collect()
}

fn name_of(ident: &syn::Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

fn segments_of(path: &syn::Path) -> Segments {
    path.segments.iter().map(|segment| name_of(&segment.ident)).collect()
}

fn type_path(of: &Type) -> Option<Segments> {
    match of {
        Type::Path(path) if path.qself.is_none() && path.path.leading_colon.is_none() => {
            Some(segments_of(&path.path))
        }
        Type::Reference(reference) => type_path(&reference.elem),
        _ => None,
    }
}

/// Returns whether the attributes compile an item for tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().is_ident("test") {
            return true;
        }
        match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => {
                tokens::requires_test(list.tokens.clone())
            }
            _ => false,
        }
    })
}

/// Returns an item's attributes and the name that it defines.
fn parts_of(item: &Item) -> (&[Attribute], Option<&syn::Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::TraitAlias(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}
