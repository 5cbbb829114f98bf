//! The pages and table rows of `history`.

use super::record::{
    ApplyStatus, BegunRecord, IncidentRecord, OutputRecord, OutputValue, PolicyRecord, ResourceRecord,
    RunRecord, format_time,
};
use crate::model::values::value::Value;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::style::{Symbol, TextRole, TextStyle};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};

/// Length limit in characters of the value of an output.
const MAX_VALUE_CHARS: usize = 200;

/// Returns the table of past applies, one per row.
#[must_use]
pub fn runs_table(runs: &[RunRecord]) -> ReportTable {
    let columns = vec![
        TableColumn::number("n"),
        TableColumn::text("at"),
        TableColumn::text("outcome"),
        TableColumn::number("done"),
        TableColumn::number("failed"),
        TableColumn::number("skipped"),
        TableColumn::text("plan"),
        TableColumn::text("commit"),
        TableColumn::text("who"),
    ];
    let row = |past: &RunRecord| {
        let [done, failed, skipped, _] = past.tally.map(count_cell);
        vec![
            TableCell::Value(Value::Integer(i64::try_from(past.number).unwrap_or(i64::MAX))),
            TableCell::Text(format_time(past.at)),
            TableCell::Text(past.outcome.as_text().to_owned()),
            done,
            failed,
            skipped,
            TableCell::text(past.plan.as_deref().map(phrases::short_fingerprint)),
            TableCell::text(commit_text(past, short_commit)),
            TableCell::Text(past.who.clone()),
        ]
    };
    ReportTable { rows: runs.iter().map(row).collect(), columns }
}

/// Returns the table of operations on the ledger itself.
#[must_use]
pub fn incidents_table(incidents: &[IncidentRecord]) -> ReportTable {
    let columns = vec![
        TableColumn::text("at"),
        TableColumn::text("what"),
        TableColumn::text("who"),
        TableColumn::text("reason"),
    ];
    let row = |happened: &IncidentRecord| {
        vec![
            TableCell::Text(format_time(happened.at)),
            TableCell::Text(happened.what.clone()),
            TableCell::Text(happened.who.clone()),
            TableCell::text(happened.reason.as_ref()),
        ]
    };
    ReportTable { rows: incidents.iter().map(row).collect(), columns }
}

/// Returns the page for one past apply.
#[must_use]
pub fn run_page(past: &RunRecord, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let [done, failed, skipped, questions] = past.tally;
    let counts = format!("{done} done, {failed} failed, {skipped} skipped, {questions} open questions");
    let took = past.ended.map(|end| end.duration_since(past.at).unsigned_abs());
    let rows = [
        ("number", Some(past.number.to_string())),
        ("run", Some(past.run.clone())),
        ("common run", past.common.clone()),
        ("began", Some(format_time(past.at))),
        ("ended", past.ended.map(format_time)),
        ("took", took.map(phrases::format_duration)),
        ("who", Some(past.who.clone())),
        ("commit", commit_text(past, str::to_owned)),
        ("plan", past.plan.clone()),
        ("configuration", past.config.clone()),
        ("approved by", past.approval.clone()),
        ("overridden", past.overridden.as_ref().map(|(policies, why)| format!("{policies}: {why}"))),
        ("outcome", Some(past.outcome.as_text().to_owned())),
        ("resources", past.ended.map(|_| counts)),
    ];
    for (name, text) in rows {
        let Some(text) = text else { continue };
        page.add_line(TextLine::indent(0).push_styled(TextRole::Faint, name).to_column(15).push_text(text));
    }
    if past.outcome == ApplyStatus::Unfinished {
        return page.finish() + &begun_page(&past.begun, style);
    }
    let outputs = outputs_page(&past.outputs, style);
    let policies = if past.policies.is_empty() {
        String::new()
    } else {
        format!("\n{}", policies_table(&past.policies).to_text("", style))
    };
    if past.resources.is_empty() {
        // An earlier version did not record it.
        let lacks_resources = past.tally.iter().take(3).any(|count| *count > 0);
        if past.is_summary || past.ended.is_some() && lacks_resources {
            let text = "Only the summary of this run is kept.";
            page.add_line(TextLine::indent(0).push_styled(TextRole::Faint, text));
        }
        return page.finish() + &policies + &outputs;
    }
    let table = resources_table(&past.resources).to_text("", style);
    let mut text = page.finish() + &policies + "\n" + &table + &outputs;
    let mut requests = TextPage::new(style);
    for resource in &past.resources {
        add_requests(&mut requests, resource);
    }
    let requests = requests.finish();
    if !requests.is_empty() {
        text.push('\n');
        text.push_str(&requests);
    }
    text
}

/// Returns the table of the policies that were left to a run.
fn policies_table(policies: &[PolicyRecord]) -> ReportTable {
    let columns = ["policy", "result", "before", "resources"].map(TableColumn::text).into();
    let row = |one: &PolicyRecord| {
        let more = if one.more > 0 { format!(" and {} more", one.more) } else { String::new() };
        let addresses = (!one.addresses.is_empty()).then(|| one.addresses.join(", ") + &more);
        vec![
            TableCell::Text(one.policy.clone()),
            TableCell::Text(one.verdict.clone()),
            TableCell::text(one.before.as_ref()),
            TableCell::text(addresses),
        ]
    };
    ReportTable { rows: policies.iter().map(row).collect(), columns }
}

/// Returns the table of the resources of a run.
fn resources_table(resources: &[ResourceRecord]) -> ReportTable {
    let columns = vec![
        TableColumn::text("resource"),
        TableColumn::text("action"),
        TableColumn::text("result"),
        TableColumn::number("took"),
        TableColumn::number("requests"),
    ];
    let row = |resource: &ResourceRecord| {
        vec![
            TableCell::Text(resource.address.clone()),
            TableCell::Text(resource.action.clone()),
            TableCell::Text(resource.result.to_owned()),
            TableCell::Text(phrases::format_duration(resource.took)),
            count_cell(resource.requests.len()),
        ]
    };
    ReportTable { rows: resources.iter().map(row).collect(), columns }
}

/// Returns the outputs that a run changed, with an empty line before them; nothing if it changed none.
fn outputs_page(outputs: &[OutputRecord], style: TextStyle) -> String {
    if outputs.is_empty() {
        return String::new();
    }
    let mut page = TextPage::new(style);
    page.add_line(TextLine::indent(0));
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, "OUTPUTS"));
    for output in outputs {
        let (sign, role) = match (&output.before, &output.after) {
            (OutputValue::Absent, _) => ("+", TextRole::Success),
            (_, OutputValue::Absent) => ("-", TextRole::Danger),
            _ => ("~", TextRole::Change),
        };
        let line = TextLine::indent(2)
            .push_styled(role, sign)
            .push_text(" ")
            .push_styled(TextRole::Strong, &output.name)
            .push_text("  ")
            .push_text(output_values(output, style));
        page.add_line(line.continue_at(4));
    }
    page.finish()
}

/// Returns the values of an output before and after a run, or the one that it has or had.
fn output_values(output: &OutputRecord, style: TextStyle) -> String {
    let short = |text: String| phrases::shorten_text(text, MAX_VALUE_CHARS, style);
    let shown = |value: &OutputValue| match value {
        OutputValue::Absent => None,
        OutputValue::Kept(value) => Some(short(phrases::format_value(value))),
        OutputValue::TooLong => Some("(too long for the history)".to_owned()),
    };
    let (before, after) = match (&output.before, &output.after) {
        (OutputValue::Kept(before), OutputValue::Kept(after)) => {
            let (before, after) = phrases::distinguish_values(before, after);
            (Some(short(before)), Some(short(after)))
        }
        (before, after) => (shown(before), shown(after)),
    };
    match (before, after) {
        (Some(before), Some(after)) => format!("{before} {} {after}", style.sign(Symbol::Arrow)),
        (before, after) => before.or(after).unwrap_or_default(),
    }
}

/// Returns what the ledger records of a run without an end: the requests that it began.
fn begun_page(begun: &[BegunRecord], style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    page.add_line(TextLine::indent(0));
    let text = if begun.is_empty() {
        "No end of this run is recorded, and no request that it began."
    } else {
        "No end of this run is recorded. These are the requests that it began:"
    };
    page.add_line(TextLine::indent(0).push_text(text).continue_at(0));
    if begun.is_empty() {
        return page.finish();
    }
    let columns = ["resource", "action", "call", "outcome"].map(TableColumn::text).to_vec();
    let row = |request: &BegunRecord| {
        vec![
            TableCell::Text(request.address.clone()),
            TableCell::Text(request.action.clone()),
            TableCell::text(request.call.as_ref()),
            TableCell::Text(request.outcome.as_text().to_owned()),
        ]
    };
    let table = ReportTable { rows: begun.iter().map(row).collect(), columns };
    page.finish() + "\n" + &table.to_text("", style)
}

/// Adds the requests of a resource, and its error; nothing if it has neither.
fn add_requests(page: &mut TextPage, resource: &ResourceRecord) {
    if resource.requests.is_empty() && resource.error.is_none() {
        return;
    }
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, &resource.address));
    for request in &resource.requests {
        let status = request.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        let mut line = TextLine::indent(2)
            .push_text(format!("{} {} {status}", request.method, request.path))
            .continue_at(4);
        if let Some(id) = &request.request_id {
            line = line.push_styled(TextRole::Faint, format!(" request {id}"));
        }
        page.add_line(line);
    }
    if let Some(error) = &resource.error {
        page.add_line(TextLine::indent(2).push_styled(TextRole::Danger, error).continue_at(4));
    }
}

/// Returns the commit of a run, and that it does not tell all, if files had uncommitted changes.
fn commit_text(past: &RunRecord, form: impl FnOnce(&str) -> String) -> Option<String> {
    let commit = form(past.commit.as_deref()?);
    Some(if past.dirty == Some(true) { format!("{commit} (with uncommitted changes)") } else { commit })
}

/// Returns the short form of a commit id.
fn short_commit(commit: &str) -> String {
    commit.chars().take(12).collect()
}

fn count_cell(count: usize) -> TableCell {
    TableCell::Value(Value::Integer(i64::try_from(count).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::record::{RequestOutcome, RequestRecord};
    use super::*;

    #[test]
    fn uncommitted_changes_stand_behind_the_commit() {
        let text = |dirty| {
            let run = RunRecord { dirty, ..past() };
            let page = run_page(&run, TextStyle::plain(120));
            let line = page.lines().find(|line| line.starts_with("commit")).unwrap().to_owned();
            (line, runs_table(&[run]).to_text("", TextStyle::plain(200)))
        };
        let (page, table) = text(Some(true));
        assert!(page.ends_with("89abcdef01234567 (with uncommitted changes)"), "{page}");
        assert!(table.contains("0123456789ab (with uncommitted changes)"), "{table}");
        for known in [None, Some(false)] {
            let (page, table) = text(known);
            assert!(page.ends_with("89abcdef01234567") && !table.contains("uncommitted"), "{page}{table}");
        }
        let none = RunRecord { commit: None, dirty: Some(true), ..past() };
        assert!(!run_page(&none, TextStyle::plain(120)).contains("uncommitted"));
    }

    #[test]
    fn a_run_lists_the_outputs_that_it_changed() {
        let kept = |text: &str| OutputValue::Kept(Value::text(text));
        let output = |name: &str, before, after| OutputRecord { name: name.into(), before, after };
        let outputs = vec![
            output("address\u{1b}[2J", OutputValue::Absent, kept("10.0.0.4")),
            output("count", OutputValue::Kept(Value::Integer(1)), kept("1")),
            output("hosts", kept("a"), OutputValue::TooLong),
            output("old", kept("x"), OutputValue::Absent),
        ];
        let page = run_page(&RunRecord { outputs, ..past() }, TextStyle::plain(80));
        insta::assert_snapshot!(&page[page.find("OUTPUTS").unwrap()..], @r#"
        OUTPUTS
          + address\u{1b}[2J  10.0.0.4
          ~ count  1 → "1"
          ~ hosts  a → (too long for the history)
          - old  x
        "#);
    }

    #[test]
    fn an_older_run_of_outputs_alone_says_that_its_summary_is_kept() {
        let summary = "Only the summary of this run is kept.";
        let of = |tally, is_summary| {
            run_page(&RunRecord { tally, is_summary, ..past() }, TextStyle::plain(80)).contains(summary)
        };
        assert!(of([0; 4], true) && of([1, 0, 0, 0], true));
        // An earlier version did not record it, and a run may have changed nothing.
        assert!(of([1, 0, 0, 0], false) && !of([0; 4], false));
    }

    #[test]
    fn a_run_without_an_end_lists_the_requests_that_it_began() {
        let request = |address: &str, action: &str, call: Option<&str>, outcome| BegunRecord {
            address: address.into(),
            action: action.into(),
            call: call.map(Into::into),
            outcome,
        };
        let begun = vec![
            request("vpc.main", "create", None, RequestOutcome::Done),
            request("vm.web", "update", Some("resize"), RequestOutcome::Open),
        ];
        let open = RunRecord { number: 2, begun, ..RunRecord::default() };
        let page = run_page(&open, TextStyle::plain(80));
        insta::assert_snapshot!(&page[page.find("No end").unwrap()..], @"
        No end of this run is recorded. These are the requests that it began:

        RESOURCE  ACTION  CALL    OUTCOME
        vpc.main  create          done
        vm.web    update  resize  not known
        ");
        let none = run_page(&RunRecord { begun: Vec::new(), ..open }, TextStyle::plain(80));
        assert!(
            none.ends_with("No end of this run is recorded, and no request that it began.\n"),
            "{none}"
        );
    }

    fn past() -> RunRecord {
        RunRecord {
            number: 1,
            run: "7d0c".into(),
            at: "2026-11-21T12:00:00Z".parse().unwrap(),
            ended: Some("2026-11-21T12:02:31Z".parse().unwrap()),
            who: "ada@build-7 (https://ci/jobs/9)".into(),
            commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
            plan: Some("7f3a-c91e".into()),
            config: Some("3f9c2e1".into()),
            overridden: Some(("budget".into(), "agreed with finance".into())),
            outcome: ApplyStatus::Partial,
            tally: [4, 1, 2, 0],
            approval: Some("--yes".into()),
            common: None,
            ..RunRecord::default()
        }
    }

    #[test]
    fn a_run_is_shown_as_a_row_and_in_detail() {
        let open =
            RunRecord { number: 2, at: past().at, who: "evil\u{1b}[2J".into(), ..RunRecord::default() };
        let table = runs_table(&[past(), open]).to_text("", TextStyle::plain(200));
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["N", "AT", "OUTCOME", "DONE", "FAILED", "SKIPPED", "PLAN", "COMMIT", "WHO"]);
        assert_eq!(lines[1][..8].join(" "), "1 2026-11-21 12:00:00 UTC partly 4 1 2");
        assert!(table.contains("7f3a-c91e  0123456789ab  ada@build-7 (https://ci/jobs/9)"), "{table}");
        assert!(table.contains("no end recorded") && table.contains("evil\\u{1b}[2J"), "{table}");
        let page = run_page(&past(), TextStyle::plain(80));
        for text in [
            "took           2m31s",
            "4 done, 1 failed, 2 skipped, 0 open questions",
            "abcdef01234567",
            "budget: agreed with finance",
            "approved by    --yes",
            "Only the summary of this run is kept.",
        ] {
            assert!(page.contains(text), "{page}");
        }
    }

    #[test]
    fn a_run_lists_each_resource_with_its_requests() {
        let request = |status, request_id: Option<&str>| RequestRecord {
            method: "POST".into(),
            path: "/api/v1/vms".into(),
            status,
            request_id: request_id.map(Into::into),
        };
        let resource = ResourceRecord {
            address: "vm.web".into(),
            action: "create".into(),
            result: "failed",
            took: Duration::from_millis(1_500),
            error: Some("402 no money\u{1b}[2J".into()),
            requests: vec![request(None, None), request(Some(402), Some("req-7"))],
        };
        let page = run_page(&RunRecord { resources: vec![resource], ..past() }, TextStyle::plain(80));
        let rest = &page[page.find("RESOURCE").unwrap()..];
        insta::assert_snapshot!(rest, @r"
        RESOURCE  ACTION  RESULT  TOOK  REQUESTS
        vm.web    create  failed    1s         2

        vm.web
          POST /api/v1/vms no answer
          POST /api/v1/vms 402 request req-7
          402 no money\u{1b}[2J
        ");
    }
}
