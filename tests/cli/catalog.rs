//! `stead catalog`: the service's names and prices, and those that a stack pins.
#![allow(clippy::disallowed_methods, reason = "tests look at the files that commands leave")]

use crate::case::Case;

#[test]
fn catalog_plans_are_filtered_by_attributes_without_an_api_key() {
    let case = Case::new().emulator();
    let keyless = |args: &str| {
        let output = case.command(args).env_remove("STEAD_API_KEY").output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, vms) = keyless("catalog vm --min-cpu 2 --min-ram 4GB --max-price 36 --sort -monthly_price");
    let names: Vec<&str> =
        vms.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!((code, names), (0, vec!["cpu-2c-4g", "std-2c-4g"]), "{vms}");
    assert!(vms.starts_with("NAME") && vms.contains("PRICE_PER_HOUR") && vms.contains("$20.00"), "{vms}");
    for table in ["regions", "templates", "database", "kubernetes", "ip", "volume", "snapshot", "backup"] {
        let (code, text) = keyless(&format!("catalog {table}"));
        assert!(code == 0 && text.lines().count() > 1, "{table}: {text}");
    }
    assert_eq!(keyless("catalog app").0, 7, "sizes of apps need a key");
    case.ok("catalog app").says(&["MONTHLY_PRICE", "app-xs"]);
    let rows = case.ok("catalog database --engine mysql --output json").json();
    let offers = rows["offers"].as_array().unwrap();
    assert!(!offers.is_empty() && offers.iter().all(|offer| offer["engine"] == "mysql"));
    assert!(offers[0]["monthly_price"].is_number() && offers[0]["price_per_hour"].is_number());
    case.ok("catalog templates --search UBUNTU").says(&["ubuntu"]);
    case.ok("catalog").says(&["TABLE", "vm", "no"]);
    case.fails(64, "catalog databse").says(&["Did you mean database?"]);
    case.fails(64, "catalog vm --engine postgres").says(&["the table has no engine", "It has:"]);
}

#[test]
fn catalog_update_renews_the_pins() {
    let case = Case::example("minimal").emulator();
    case.ok("apply --yes");
    case.ok("catalog update").says(&["up to date"]);
    let lock = std::fs::read_to_string(case.path("stead.lock")).unwrap();
    let price = lock.lines().find(|line| line.contains("monthly_price:")).unwrap();
    case.edit("stead.lock", price, &price.replace(|c: char| c.is_ascii_digit(), "7"));
    case.fails(2, "catalog update --check").says(&["~ vm", "monthly_price"]);
    assert_ne!(std::fs::read_to_string(case.path("stead.lock")).unwrap(), lock);
    case.ok("catalog update").says(&["~ vm", "monthly_price", "Written to stead.lock"]);
    case.ok("catalog update --check").says(&["up to date"]);
}

#[test]
fn cost_prices_the_stack_before_after_per_environment_and_offline() {
    let case = Case::example("shop").emulator();
    case.ok("cost").says(&[
        "shop/staging",
        "after against now: +$177.00",
        "RESOURCE",
        "NOW",
        "AFTER",
        "total",
        "$177.00",
    ]);
    let plan = case.ok("plan -o shop.plan --output json").json();
    let total = |args: &str| case.ok(&format!("cost {args} --output json")).json()["total"][0].clone();
    assert_eq!(total("")["after"], plan["cost"]["monthly_after"]);
    assert_eq!(total("shop.plan")["after"], plan["cost"]["monthly_after"]);
    case.ok("apply --yes");
    // Once it is there, the service tells prices that no table does.
    let plan = case.ok("plan --output json").json();
    assert_eq!(total("")["now"], plan["cost"]["monthly_before"]);
    assert_eq!(total("")["after"], plan["cost"]["monthly_after"]);
    let rows = case.ok("cost --output json").json();
    let rows: f64 =
        rows["resources"].as_array().unwrap().iter().map(|row| row["after"].as_f64().unwrap()).sum();
    assert!(
        (rows - plan["cost"]["monthly_after"].as_f64().unwrap()).abs() < 0.005,
        "the rows add up: {rows}"
    );
    let beside = total("--vs prod");
    assert!(beside["prod"].as_f64().unwrap() > beside["staging"].as_f64().unwrap(), "{beside}");
    // Nobody is asked, and nothing but the files counts.
    let mut offline = case.command("cost --offline");
    let output = offline.env_remove("STEAD_API_URL").env_remove("STEAD_API_KEY").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("prices of the built-in cloud, not of your account"), "{told}");
    assert!(told.contains("$177.00"), "{told}");
}
