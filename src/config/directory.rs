//! From the path of a directory of sources to the digest of what is in it: what a plan compares.

use super::codes;
use super::resolver::{Frame, Resolved, Resolver};
use super::source_dir::{self, SourceError, Tree};
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::Expression;
use crate::model::schema::{Attribute, Format, Type};
use crate::model::source::Span;
use crate::model::value::Value;

impl<'d> Resolver<'d> {
    /// Puts the digest of a directory in the place of its path, and returns the path besides. What is
    /// no directory stays as it is. `None` when there was a problem.
    pub(super) fn digested(
        &self,
        attribute: &Attribute,
        resolved: Resolved,
        span: Span,
        frame: Frame<'_, 'd>,
    ) -> Option<(Resolved, Option<Name>)> {
        if !matches!(attribute.ty, Type::Text { format: Format::Directory, .. }) {
            return Some((resolved, None));
        }
        let Expression::Value(Value::Text(path)) = resolved.expression else {
            self.problem(
                frame,
                Diagnostic::error(codes::NOT_KNOWN_YET, "a directory must be known while loading")
                    .at(span, "")
                    .detail(format!(
                        "`{}` waits for a live object, or is a secret: its files cannot be compared.",
                        attribute.name
                    ))
                    .help("write the path, or a variable that holds it"),
            );
            return None;
        };
        match self.digest_of(&path) {
            Ok(digest) => {
                let expression = Expression::Value(Value::Text(digest));
                Some((Resolved { expression, origin: resolved.origin }, Some(path)))
            }
            Err(error) => {
                let problem = Diagnostic::error(codes::SOURCE_DIR, "these sources cannot be uploaded")
                    .at(span, "")
                    .detail(format!("{error}."));
                let problem = match error.help() {
                    Some(help) => problem.help(help),
                    None => problem,
                };
                self.problem(frame, problem);
                None
            }
        }
    }

    fn digest_of(&self, path: &Name) -> Result<Name, SourceError> {
        if let Some(known) = self.directories.borrow().get(path) {
            return known.clone();
        }
        let digest = Tree::read(self.read, path).and_then(|tree| source_dir::of(self.read, tree));
        let digest = digest.map(Name::from);
        self.directories.borrow_mut().insert(path.clone(), digest.clone());
        digest
    }
}
