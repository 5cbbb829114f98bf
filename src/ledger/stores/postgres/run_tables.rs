//! The tables of runs in PostgreSQL, and every statement on them. Pure.
//!
//! Each statement is its own transaction and contains its whole condition, so nothing depends on the session. Times are
//! those of the database's clock.

use super::sql::in_schema;

/// Creates the tables, all or none: they are one message, which is one transaction. The one that is read first comes last.
const CREATE_TABLES: &str = "\
create table if not exists {s}stead_run_events (
  run text not null,
  number bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  worker text not null,
  event text not null,
  primary key (run, number)
);
create table if not exists {s}stead_run_workers (
  run text not null,
  worker text not null,
  holder text not null,
  seen timestamptz not null,
  vouched boolean not null default false,
  has_left boolean not null default false,
  primary key (run, worker)
);
create table if not exists {s}stead_run_plans (
  run text not null,
  unit text not null,
  plan text not null,
  primary key (run, unit)
);
create table if not exists {s}stead_run_tasks (
  run text not null,
  number integer not null,
  unit text not null,
  phase text not null,
  needs integer[] not null,
  state text not null default 'waiting',
  worker text,
  epoch bigint not null default 0,
  is_begun boolean not null default false,
  not_before timestamptz,
  exit smallint,
  message text not null default '',
  primary key (run, number)
);
create table if not exists {s}stead_request_shares (
  account text not null,
  machine text not null,
  seen timestamptz not null,
  primary key (account, machine)
);
create table if not exists {s}stead_runs (
  run text primary key,
  status text not null,
  canceled boolean not null default false,
  identity text not null,
  planner text not null,
  started timestamptz not null,
  ended timestamptz,
  refused smallint,
  message text not null default '',
  facts text not null default ''
);
";

const INSERT_RUN: &str = "\
with {d}
insert into {s}stead_runs (run, status, identity, planner, started)
select $1, 'planning', $2, $3, clock_timestamp() from durable
on conflict (run) do nothing
returning run";

const RUN_COLUMNS: &str = "\
select run, status, canceled, identity, planner, refused, message, facts,
  extract(epoch from started)::float8 as started, extract(epoch from ended)::float8 as ended";

const INSERT_WORKER: &str = "\
with {d}, added as (
  insert into {s}stead_run_workers (run, worker, holder, seen)
  select $1, $2, $3, clock_timestamp() from durable
  on conflict (run, worker) do update set seen = excluded.seen, has_left = false
  returning run, worker)
insert into {s}stead_run_events (run, worker, event) select run, worker, 'joined' from added
returning worker";

/// Whether the worker `$3` of the run `$1` is dead: its process is proven dead (`$4`), it left, a person says so, or it was
/// not seen for `$5` seconds.
const IS_DEAD: &str = "\
($4 or not exists (
  select 1 from {s}stead_run_workers as w where w.run = $1 and w.worker = $3
    and not w.vouched and not w.has_left and w.seen > clock_timestamp() - make_interval(secs => $5)))";

const UPDATE_PLANNER: &str = "\
with {d}
update {s}stead_runs set planner = $2 from durable
where run = $1 and status = 'planning' and (planner = $2 or (planner = $3 and {dead}))
returning run";

const UPSERT_PLAN: &str = "\
with {d}
insert into {s}stead_run_plans (run, unit, plan)
select $1, $3, $4 from {s}stead_runs as r, durable
where r.run = $1 and r.planner = $2 and r.status = 'planning'
on conflict (run, unit) do update set plan = excluded.plan
returning unit";

const INSERT_TASKS: &str = "\
with {d}, opened as (
  update {s}stead_runs set status = 'running', facts = $4 from durable
  where run = $1 and planner = $2 and status = 'planning' returning run),
added as (
  insert into {s}stead_run_tasks (run, number, unit, phase, needs)
  select opened.run, t.number, t.unit, t.phase, t.needs
  from opened, jsonb_to_recordset($3::text::jsonb) as t(number integer, unit text, phase text, needs integer[]))
select run from opened";

const REFUSE_RUN: &str = "\
with {d}
update {s}stead_runs set status = 'ended', ended = clock_timestamp(), refused = $3, message = $4 from durable
where run = $1 and planner = $2 and status = 'planning' returning run";

const SELECT_PLANS: &str = "select unit, plan from {s}stead_run_plans where run = $1 order by unit";

const SELECT_CLAIMED: &str = "\
select number, unit, phase, epoch, is_begun from {s}stead_run_tasks
where run = $1 and worker = $2 and state = 'running'";

const CLAIM_TASK: &str = "\
with {d}, next as (
  select t.number from {s}stead_run_tasks as t, {s}stead_runs as r
  where t.run = $1 and r.run = $1 and r.status = 'running' and t.state = 'waiting'
    and (t.not_before is null or t.not_before <= clock_timestamp())
    and not exists (
      select 1 from {s}stead_run_tasks as n
      where n.run = $1 and n.number = any(t.needs) and n.state <> 'done')
  order by t.number limit 1
  for update of t skip locked)
update {s}stead_run_tasks as t
set state = 'running', worker = $2, epoch = t.epoch + 1
from next, durable where t.run = $1 and t.number = next.number and t.state = 'waiting'
returning t.number, t.unit, t.phase, t.epoch, t.is_begun";

/// Ends a task; if it failed, skips those that need it, directly or through others.
const FINISH_TASK: &str = "\
with recursive {d}, ended as (
  update {s}stead_run_tasks set state = case $5 when 0 then 'done' else 'failed' end, exit = $5, message = $6
  from durable where run = $1 and number = $2 and worker = $3 and epoch = $4 and state = 'running'
  returning number, unit),
lost(number) as (
  select number from ended where $5 <> 0
  union
  select t.number from {s}stead_run_tasks as t, lost where t.run = $1 and lost.number = any(t.needs)),
skipped as (
  update {s}stead_run_tasks as t set state = 'skipped', exit = $5,
    message = 'it waits for ' || (select unit from ended) || ', which was not applied'
  from lost where t.run = $1 and t.number = lost.number and t.number <> $2 and t.state = 'waiting'),
noted as (
  insert into {s}stead_run_events (run, worker, event)
  select $1, $3, 'ended ' || unit || case $5 when 0 then '' else ' with exit code ' || $5 end from ended)
select number from ended";

const SELECT_END: &str = "\
select number from {s}stead_run_tasks
where run = $1 and number = $2 and worker = $3 and epoch = $4 and state in ('done', 'failed')";

const PUT_TASK_BACK: &str = "\
with {d}
update {s}stead_run_tasks
set state = 'waiting', worker = null, is_begun = true, epoch = epoch + 1,
  not_before = clock_timestamp() + make_interval(secs => $5)
from durable where run = $1 and number = $2 and worker = $3 and epoch = $4 and state = 'running'
returning number";

const TAKE_TASKS: &str = "\
with {d}, taken as (
  update {s}stead_run_tasks
  set state = 'waiting', worker = null, is_begun = true, epoch = epoch + 1
  from durable where run = $1 and state = 'running' and worker = $3 and {dead}
  returning number),
noted as (
  insert into {s}stead_run_events (run, worker, event)
  select $1, $2, 'took over from ' || $3 from taken limit 1)
select number from taken";

const BEAT: &str = "\
update {s}stead_run_workers set seen = clock_timestamp() where run = $1 and worker = $2 returning worker";

const SELECT_PROGRESS: &str = "\
select status, (select count(*) from {s}stead_run_tasks where run = $1 and state = 'waiting') as waiting
from {s}stead_runs where run = $1";

const SELECT_RUNNING: &str = "\
select number, worker from {s}stead_run_tasks where run = $1 and state = 'running' order by number";

const SELECT_WORKERS: &str = "\
select worker, holder, vouched, has_left, extract(epoch from clock_timestamp() - seen)::float8 as age
from {s}stead_run_workers where run = $1 order by worker";

const LEAVE: &str = "\
with {d}, gone as (
  update {s}stead_run_workers set has_left = true from durable where run = $1 and worker = $2
  returning run, worker)
insert into {s}stead_run_events (run, worker, event) select run, worker, 'left' from gone
returning worker";

const END_RUN: &str = "\
with {d}
update {s}stead_runs set status = 'ended', ended = coalesce(ended, clock_timestamp()) from durable
where run = $1 and (status = 'ended' or (status in ('running', 'canceled') and not exists (
  select 1 from {s}stead_run_tasks as t where t.run = $1
    and (t.state = 'running' or (t.state = 'waiting' and status = 'running')))))
returning run";

const CANCEL_RUN: &str = "\
with {d}, canceled as (
  update {s}stead_runs
  set canceled = true, status = case status when 'planning' then 'ended' else 'canceled' end,
    ended = case status when 'planning' then clock_timestamp() end
  from durable where run = $1 and status <> 'ended'
  returning run)
insert into {s}stead_run_events (run, worker, event) select run, '', 'canceled by ' || $2 from canceled
returning run";

const VOUCH: &str = "\
with {d}, dead as (
  update {s}stead_run_workers set vouched = true from durable where run = $1 and worker = $2
  returning run, worker)
insert into {s}stead_run_events (run, worker, event)
select run, worker, 'is dead, states ' || $3 from dead
returning worker";

const SELECT_TASKS: &str = "\
select number, unit, phase, needs, state, worker, epoch, is_begun, exit, message
from {s}stead_run_tasks where run = $1 order by number";

const SELECT_EVENTS: &str = "\
select worker, event, extract(epoch from at)::float8 as at from {s}stead_run_events where run = $1 order by number";

/// Counts the units of the newest runs by the states of their tasks.
const COUNT_UNITS: &str = "\
select c.run, c.state as changes, c.exit, d.state as deletions, count(*) as units
from (select run from {s}stead_runs order by started desc limit 100) as r
join {s}stead_run_tasks as c on c.run = r.run and c.phase = 'changes'
left join {s}stead_run_tasks as d on d.run = c.run and d.unit = c.unit and d.phase = 'deletions'
group by c.run, c.state, c.exit, d.state";

/// Reads the workers of the newest runs that did not leave.
const SELECT_PRESENT_WORKERS: &str = "\
select w.run, worker, holder, vouched, has_left, extract(epoch from clock_timestamp() - seen)::float8 as age
from (select run from {s}stead_runs order by started desc limit 100) as r
join {s}stead_run_workers as w on w.run = r.run
where not has_left order by worker";

/// Records that a machine sends requests with a key, and counts the machines that do.
const SHARE_REQUESTS: &str = "\
with mine as (
  insert into {s}stead_request_shares (account, machine, seen) values ($1, $2, clock_timestamp())
  on conflict (account, machine) do update set seen = excluded.seen),
old as (
  delete from {s}stead_request_shares where seen < clock_timestamp() - interval '1 hour')
select 1 + count(*) as machines from {s}stead_request_shares
where account = $1 and machine <> $2 and seen > clock_timestamp() - make_interval(secs => $3)";

const FREE_SHARE: &str =
    "delete from {s}stead_request_shares where account = $1 and machine = $2 returning machine";

/// The statements for one schema. `$1` is the run, unless stated otherwise.
#[derive(Debug)]
pub(super) struct RunStatements {
    /// Creates the tables if they do not exist.
    pub make: String,
    /// `$2` identity, `$3` planner.
    pub begin: String,
    /// Reads the run.
    pub run: String,
    /// Lists the runs, the newest first; no parameter.
    pub runs: String,
    /// Counts the units of the runs by the states of their tasks; no parameter.
    pub unit_counts: String,
    /// Reads the workers of the runs that did not leave; no parameter.
    pub present_workers: String,
    /// `$2` worker, `$3` holder.
    pub register: String,
    /// `$2` worker, `$3` the planner before, `$4` whether it is proven dead, `$5` seconds of silence.
    pub take_planning: String,
    /// `$2` worker, `$3` unit, `$4` plan.
    pub put_plan: String,
    /// `$2` worker, `$3` tasks, `$4` facts.
    pub publish: String,
    /// `$2` worker, `$3` exit code, `$4` message.
    pub refuse: String,
    /// Reads the plans.
    pub plans: String,
    /// `$2` worker.
    pub claimed: String,
    /// `$2` worker.
    pub claim: String,
    /// `$2` number, `$3` worker, `$4` epoch, `$5` exit code, `$6` message.
    pub finish: String,
    /// `$2` number, `$3` worker, `$4` epoch.
    pub known_end: String,
    /// `$2` number, `$3` worker, `$4` epoch, `$5` seconds.
    pub put_back: String,
    /// Parameters of `take_planning`.
    pub take_over: String,
    /// `$2` worker.
    pub beat: String,
    /// Reads the status and the number of tasks that wait.
    pub progress: String,
    /// Reads the tasks that run.
    pub running: String,
    /// Reads the workers.
    pub workers: String,
    /// `$2` worker.
    pub leave: String,
    /// Ends the run if it is over.
    pub end: String,
    /// `$2` who.
    pub cancel: String,
    /// `$2` worker, `$3` who.
    pub vouch: String,
    /// Reads the tasks.
    pub tasks: String,
    /// Reads the events.
    pub events: String,
    /// `$1` account, `$2` machine, `$3` seconds.
    pub share: String,
    /// `$1` account, `$2` machine.
    pub free_share: String,
}

impl RunStatements {
    /// Returns the statements for a schema, whose name must not need quoting.
    pub(super) fn new(schema: Option<&str>) -> Self {
        let of = |text: &str| in_schema(&text.replace("{dead}", IS_DEAD), schema);
        Self {
            make: of(CREATE_TABLES),
            begin: of(INSERT_RUN),
            run: of(&format!("{RUN_COLUMNS} from {{s}}stead_runs where run = $1")),
            runs: of(&format!("{RUN_COLUMNS} from {{s}}stead_runs order by started desc limit 100")),
            unit_counts: of(COUNT_UNITS),
            present_workers: of(SELECT_PRESENT_WORKERS),
            register: of(INSERT_WORKER),
            take_planning: of(UPDATE_PLANNER),
            put_plan: of(UPSERT_PLAN),
            publish: of(INSERT_TASKS),
            refuse: of(REFUSE_RUN),
            plans: of(SELECT_PLANS),
            claimed: of(SELECT_CLAIMED),
            claim: of(CLAIM_TASK),
            finish: of(FINISH_TASK),
            known_end: of(SELECT_END),
            put_back: of(PUT_TASK_BACK),
            take_over: of(TAKE_TASKS),
            beat: of(BEAT),
            progress: of(SELECT_PROGRESS),
            running: of(SELECT_RUNNING),
            workers: of(SELECT_WORKERS),
            leave: of(LEAVE),
            end: of(END_RUN),
            cancel: of(CANCEL_RUN),
            vouch: of(VOUCH),
            tasks: of(SELECT_TASKS),
            events: of(SELECT_EVENTS),
            share: of(SHARE_REQUESTS),
            free_share: of(FREE_SHARE),
        }
    }
}

/// Returns the SQL that an administrator runs beforehand for a role that may not create tables.
pub(super) fn setup_script(schema: Option<&str>, role: &str) -> String {
    let grant = "grant select, insert, update on {s}stead_runs, {s}stead_run_tasks, {s}stead_run_plans, \
                 {s}stead_run_workers to \"{r}\";\n\
                 grant select, insert on {s}stead_run_events to \"{r}\";\n\
                 grant select, insert, update, delete on {s}stead_request_shares to \"{r}\";\n";
    in_schema(CREATE_TABLES, schema) + &in_schema(grant, schema).replace("{r}", role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_the_tables_for_an_administrator() {
        let pages = [
            include_str!("../../../guide/pages/how-to/apply-on-many-machines.md"),
            include_str!("../../../guide/pages/how-to/share-a-ledger.md"),
        ];
        let script = super::super::tables::setup_script(None, "stead").replace('"', "");
        for statement in script.split_inclusive(";\n") {
            assert!(pages.iter().any(|page| page.contains(statement)), "the guide lacks:\n{statement}");
        }
    }

    #[test]
    fn every_table_of_runs_is_qualified_with_its_schema() {
        let statements = format!("{:?}", RunStatements::new(Some("books")));
        let mentions = statements.matches("stead_r").count();
        assert_eq!(statements.matches(r#"\"books\".stead_r"#).count(), mentions, "{statements}");
        assert!(!statements.contains("{s}") && !statements.contains("{d}"), "{statements}");
        assert!(!statements.contains("{dead}"), "{statements}");
    }
}
