//! The difference between a reviewed plan and a later one as Markdown: a table with a row for each part that differs. In: the
//! difference. Out: text within the hosts' limits; what does not fit is counted.

use std::fmt::Write as _;

use super::escaping::{escape_prose, inline_code};
use crate::plan::artifact::difference::PlanDifference;
use crate::report::groups::group_differences;
use crate::report::text::difference_line::{DifferenceLine, decided_differently};
use crate::report::text::style::TextStyle;

/// Size limit in bytes, as of a comment.
const MAX_BYTES: usize = 64_000;

/// Returns the difference as Markdown. `title` names the plans, such as `shop/prod`.
#[must_use]
pub fn difference_markdown(title: &str, difference: &PlanDifference) -> String {
    if difference.is_empty() {
        return format!("### {}: the plans decide the same\n", inline_code(title));
    }
    let what = decided_differently(difference.resources.len(), difference.output_count());
    let what =
        what.as_deref().unwrap_or("the plans differ, but decide the same for each resource and output");
    let mut text = format!(
        "### {}: {what}\n\n| resource | part | reviewed | now | because |\n|---|---|---|---|---|\n",
        inline_code(title)
    );
    let groups = group_differences(&difference.resources);
    let of_resources =
        groups.iter().flat_map(|group| group.parts.iter().map(|part| (group.title.as_str(), part)));
    let of_plan = difference.whole.iter().map(|part| ("", part));
    let parts: Vec<_> = of_resources.chain(of_plan).collect();
    for (number, (address, part)) in parts.iter().enumerate() {
        let subject = if address.is_empty() { "the plan".to_owned() } else { inline_code(address) };
        let DifferenceLine { label, values } = DifferenceLine::new(part, TextStyle::plain(80));
        let [old, new] =
            values.map_or_else(Default::default, |(old, new)| [old, new].map(|text| inline_code(&text)));
        let row = format!(
            "| {subject} | {} | {old} | {new} | {} |\n",
            escape_prose(&label),
            part.describe_moved()
        );
        if text.len() + row.len() > MAX_BYTES {
            let _ = writeln!(text, "| … | **{} more** | | | |", parts.len() - number);
            break;
        }
        text.push_str(&row);
    }
    text
}
