//! What one request of the emulator costs, over the number of objects in the cloud.

#![allow(clippy::expect_used, reason = "a bench that cannot run should stop")]

use divan::{Bencher, black_box};
use stead::emulator::seed::seed_objects;
use stead::emulator::world::{ApiRequest, RateTier, Time, World, WorldSetup, handle_request};
use stead::model::schema::Method;

const SIZES: [usize; 2] = [1_000, 100_000];
const KEY: &str = "sk_bench";

fn main() {
    divan::main();
}

fn world(objects: usize) -> World {
    let setup = WorldSetup { seed: 1, api_key: KEY.to_owned(), tier: RateTier::Standard };
    let mut world = World::new(&setup, Time::UNIX_EPOCH);
    seed_objects(&mut world, KEY, objects, Time::UNIX_EPOCH).expect("a generated world is legal");
    world.take_rows();
    world
}

fn get(path: &str, query: &[(&str, String)]) -> ApiRequest {
    ApiRequest {
        method: Method::Get,
        path: path.to_owned(),
        query: query.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        api_key: Some(KEY.to_owned()),
        project: None,
        body: Vec::new(),
    }
}

fn repeat(bencher: Bencher<'_, '_>, objects: usize, request: &ApiRequest) {
    let mut world = world(objects);
    let now = world.latest_time();
    bencher.bench_local(|| black_box(handle_request(&mut world, request, now)));
}

#[divan::bench(args = SIZES)]
fn page_of_100_in_the_middle(bencher: Bencher<'_, '_>, objects: usize) {
    let middle = (objects / 5).to_string();
    repeat(bencher, objects, &get("/api/v1/vms", &[("limit", "100".to_owned()), ("offset", middle)]));
}

#[divan::bench(args = SIZES)]
fn first_page_of_20(bencher: Bencher<'_, '_>, objects: usize) {
    repeat(bencher, objects, &get("/api/v1/volumes", &[]));
}

#[divan::bench(args = SIZES)]
fn one_by_id(bencher: Bencher<'_, '_>, objects: usize) {
    let mut seeded = world(objects);
    let now = seeded.latest_time();
    let list = handle_request(&mut seeded, &get("/api/v1/databases", &[]), now);
    let text = String::from_utf8(list.body).expect("answers are text");
    let (_, rest) = text.split_once("\"id\":\"").expect("a generated world has databases");
    let request = get(&format!("/api/v1/databases/{}", &rest[..36]), &[]);
    bencher.bench_local(|| black_box(handle_request(&mut seeded, &request, now)));
}

#[divan::bench(args = SIZES, sample_count = 3)]
fn load_from_rows(bencher: Bencher<'_, '_>, objects: usize) {
    let mut seeded = world(0);
    seed_objects(&mut seeded, KEY, objects, Time::UNIX_EPOCH).expect("a generated world is legal");
    let rows: Vec<_> = {
        let rows = seeded.take_rows().into_iter();
        let mut rows: Vec<_> = rows.filter_map(|row| Some((row.key, row.value?))).collect();
        let account = seeded.account_row();
        rows.extend(account.value.map(|value| (account.key, value)));
        rows
    };
    bencher
        .with_inputs(|| rows.clone())
        .bench_local_values(|rows| black_box(World::from_rows(rows).is_ok()));
}
