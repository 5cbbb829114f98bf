//! Reference pages for the codes in plans: effects of changes, which `plan` declares, and blockers, which
//! have a row here.

use serde::Serialize;

use crate::model::diagnostic::blocker_code::BLOCKER_CODES;
use crate::model::schema::Effect;

/// The reference page for a plan code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanCodePage {
    /// The code, as it is in the plan's JSON document.
    pub code: String,
    /// Where in a plan the code appears.
    pub stands: &'static str,
    /// Meaning of the code, as a sentence.
    pub meaning: String,
    /// What the user can do about it.
    pub remedy: &'static str,
}

/// Returns the code of an effect, as it is in JSON; `None` cannot occur, because effects serialize as strings.
fn effect_code(effect: Effect) -> Option<String> {
    serde_json::to_value(effect).ok()?.as_str().map(str::to_owned)
}

/// Returns the page for a plan code in lower case; `None` if the code is unknown.
pub(super) fn plan_code_page(name: &str) -> Option<PlanCodePage> {
    if let Some(known) = BLOCKER_CODES.iter().find(|known| known.code == name) {
        return Some(PlanCodePage {
            code: known.code.to_owned(),
            stands: "blocks: the plan is shown, and what the blocker concerns is not applied; most blockers concern the whole plan",
            meaning: known.meaning.to_owned(),
            remedy: known.remedy,
        });
    }
    let effect = Effect::ALL.into_iter().find(|effect| effect_code(*effect).as_deref() == Some(name))?;
    Some(PlanCodePage {
        code: name.to_owned(),
        stands: "changes[].effects: additional effects of a change, after `!` in the text",
        meaning: format!("What happens to the object: {}.", effect.text()),
        remedy: if effect.disrupts() {
            "stead do asks for confirmation before an action with this effect; a plan shows which change has it, and why."
        } else {
            "Nothing is disrupted by it."
        },
    })
}

/// Returns all plan codes, sorted.
pub(super) fn plan_code_names() -> Vec<String> {
    let blocks = BLOCKER_CODES.iter().map(|known| known.code.to_owned());
    let mut names: Vec<String> = blocks.chain(Effect::ALL.into_iter().filter_map(effect_code)).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_code_is_unique_and_has_a_page() {
        let names = plan_code_names();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        for name in names {
            let page = plan_code_page(&name).unwrap();
            assert!(page.meaning.ends_with('.') && page.remedy.ends_with('.'), "{page:?}");
        }
        assert!(plan_code_page("data_loss").is_some_and(|page| page.meaning.contains("lost for good")));
    }
}
