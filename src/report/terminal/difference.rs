//! The difference between a reviewed plan and a later one, for the terminal: each address with the parts that differ, their
//! values and which side moved; or, from a comment's digests, only the addresses.

use crate::plan::artifact::change_digests::DigestDifference;
use crate::plan::artifact::difference::{PartDifference, PlanDifference};
use crate::plan::artifact::review_difference::ReviewDifference;
use crate::report::groups::group_differences;
use crate::report::text::difference_line::{DifferenceLine, decided_differently};
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::style::{Symbol, TextRole, TextStyle};

/// Returns the difference of a later plan from what was reviewed. `title` names the plans, such as `shop/prod`.
#[must_use]
pub fn difference_page(title: &str, difference: &ReviewDifference, style: TextStyle) -> String {
    match difference {
        ReviewDifference::Parts(difference) => parts_page(title, difference, style),
        ReviewDifference::Addresses { is_same: true, .. } => {
            parts_page(title, &PlanDifference::default(), style)
        }
        ReviewDifference::Addresses { found, is_same: false } => addresses_page(title, found, style),
    }
}

fn parts_page(title: &str, difference: &PlanDifference, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    if difference.is_empty() {
        page.add_line(title_line(title).push_text("  the plans decide the same"));
        return page.finish();
    }
    let what = decided_differently(difference.resources.len(), difference.output_count())
        .unwrap_or_else(|| "the plans differ, but decide the same for each resource and output".to_owned());
    page.add_line(title_line(title).push_text(format!("  {what}")));
    for group in group_differences(&difference.resources) {
        page.add_line(TextLine::indent(2).push_styled(TextRole::Strong, group.title).continue_at(4));
        page.add_lines(group.parts.iter().map(|part| part_line(part, style)));
    }
    if !difference.whole.is_empty() {
        page.add_line(TextLine::indent(2).push_styled(TextRole::Strong, "the plan as a whole"));
        page.add_lines(difference.whole.iter().map(|part| part_line(part, style)));
    }
    page.finish()
}

/// Returns the addresses in which a later plan differs from the one in a comment.
fn addresses_page(title: &str, difference: &DigestDifference, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let what =
        decided_differently(difference.addresses.len(), difference.outputs.len()).unwrap_or_else(|| {
            "the plans differ, but no resource or output is known to be decided differently".to_owned()
        });
    page.add_line(title_line(title).push_text(format!("  {what}")));
    for address in &difference.addresses {
        page.add_line(TextLine::indent(2).push_styled(TextRole::Strong, address.as_str()));
    }
    for name in &difference.outputs {
        page.add_line(
            TextLine::indent(2).push_text("output ").push_styled(TextRole::Strong, name.as_str()),
        );
    }
    for name in &difference.policies {
        page.add_line(
            TextLine::indent(2)
                .push_text("policy ")
                .push_styled(TextRole::Strong, name.as_str())
                .push_text(": it denies only one of the plans"),
        );
    }
    if difference.not_compared > 0 {
        let count = phrases::count_noun(difference.not_compared, "decision");
        let text = format!("{count} not compared: the comment has no digest of them");
        page.add_line(TextLine::indent(2).push_styled(TextRole::Warning, text));
    } else if difference.is_empty() {
        page.add_line(
            TextLine::indent(2)
                .push_text("expressions of outputs, moves, blockers of the whole plan or options differ"),
        );
    }
    page.add_line(TextLine::indent(2).push_styled(
        TextRole::Faint,
        "a comment has no values: stead show NEW.plan --against OLD.plan names the attributes",
    ));
    page.finish()
}

fn title_line(title: &str) -> TextLine {
    TextLine::indent(0).push_styled(TextRole::Strong, title).continue_at(2)
}

fn part_line(part: &PartDifference, style: TextStyle) -> TextLine {
    let DifferenceLine { label, values } = DifferenceLine::new(part, style);
    let line = TextLine::indent(6).push_text(label).push_text("  ").continue_at(8);
    let line = match values {
        None => line,
        Some((old, new)) => line
            .push_text(old)
            .push_styled(TextRole::Faint, format!(" {} ", style.sign(Symbol::Arrow)))
            .push_styled(TextRole::Change, new)
            .push_text("  "),
    };
    line.push_styled(TextRole::Warning, part.describe_moved())
}
