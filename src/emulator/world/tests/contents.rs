//! What is inside a database: the console, browsing, saved queries.

use super::*;
use crate::emulator::world::mutate;

impl Cloud {
    /// Makes a database of an engine that runs.
    fn engine(&mut self, engine: &str, plan: i64) -> String {
        let id = self.make("/databases", json!({"name": engine, "engine": engine, "plan_id": plan}));
        self.wait(47);
        id
    }

    fn query(&mut self, id: &str, query: &str) -> Value {
        self.ok(&format!("POST /databases/{id}/console"), json!({"query": query}))
    }

    fn change(&mut self, id: &str, query: &str) -> Value {
        let body = json!({"query": query, "read_only": false});
        self.ok(&format!("POST /databases/{id}/console"), body)
    }

    fn rows(&mut self, id: &str, query: &str) -> Value {
        self.query(id, query)["rows"].clone()
    }

    fn browse(&mut self, id: &str, path: Value) -> Value {
        let answer = self.ok(&format!("POST /databases/{id}/browse"), json!({"path": path}));
        assert!(answer["path"].is_array());
        answer["entries"].clone()
    }
}

#[test]
fn simple_queries_return_rows() {
    let mut cloud = Cloud::new();
    let id = cloud.database("main");
    assert_eq!(
        cloud.query(&id, "SELECT 1"),
        json!({"columns": ["?column?"], "rows": [[1]], "row_count": 1, "truncated": false})
    );
    cloud.ok(&format!("POST /databases/{id}/users"), json!({"name": "reporting"}));
    for (query, rows) in [
        ("select 1 + 2 * 3 - 1 as n, 'it''s', null, true, -1.5;", json!([[6, "it's", null, true, -1.5]])),
        ("SELECT version()", json!([["postgres 18"]])),
        ("SELECT now()", json!([[cloud.now.to_string()]])),
        ("SELECT current_user, current_database()", json!([["owner", "defaultdb"]])),
        ("SELECT usename FROM pg_user -- all", json!([["owner"], ["reporting"]])),
        ("SELECT * FROM pg_catalog.pg_roles WHERE rolname LIKE 're%'", json!([["reporting"]])),
        ("/* a */ SELECT count(*) FROM pg_user", json!([[2]])),
        ("SELECT * FROM information_schema.tables", json!([])),
        ("SELECT pg_sleep(15)", json!([[0]])),
        ("SELECT * FROM generate_series(1, 3)", json!([[1], [2], [3]])),
        (
            "SELECT generate_series * 2 FROM generate_series(1, 9) WHERE generate_series > 7",
            json!([[16], [18]]),
        ),
        (
            "SELECT * FROM generate_series(1, 9) ORDER BY generate_series DESC LIMIT 2 OFFSET 1",
            json!([[8], [7]]),
        ),
        ("SELECT * FROM generate_series(1, 0)", json!([])),
    ] {
        assert_eq!(cloud.rows(&id, query), rows, "{query}");
    }
}

#[test]
fn a_query_result_has_at_most_5000_rows() {
    let mut cloud = Cloud::new();
    let id = cloud.database("main");
    for (last, rows, truncated) in [(5_000, 5_000, false), (5_001, 5_000, true)] {
        let answer = cloud.query(&id, &format!("SELECT * FROM generate_series(1, {last})"));
        assert_eq!(answer["rows"].as_array().unwrap().len(), rows);
        assert_eq!((&answer["row_count"], &answer["truncated"]), (&json!(rows), &json!(truncated)));
    }
    assert_eq!(cloud.rows(&id, "SELECT count(*) FROM generate_series(1, 90000)"), json!([[90_000]]));
}

#[test]
fn tables_are_made_filled_changed_and_dropped() {
    let mut cloud = Cloud::new();
    let id = cloud.database("main");
    for (query, count) in [
        (
            "CREATE TABLE pets (id int PRIMARY KEY, name varchar(20) NOT NULL, age int, CHECK (age > (1)))",
            0,
        ),
        ("create table if not exists Pets (id int)", 0),
        ("INSERT INTO pets VALUES (1, 'Rex', 3), (2, 'Tom', NULL)", 2),
        ("INSERT INTO public.pets (name, id) VALUES ('Ann', 3)", 1),
        ("UPDATE pets SET age = 9, name = 'Tim' WHERE id = 2 AND age IS NULL", 1),
        ("DELETE FROM pets WHERE age IS NULL", 1),
    ] {
        assert_eq!(cloud.change(&id, query)["row_count"], count, "{query}");
    }
    assert_eq!(
        cloud.rows(&id, "SELECT * FROM pets ORDER BY name DESC"),
        json!([[2, "Tim", 9], [1, "Rex", 3]])
    );
    assert_eq!(
        cloud.query(&id, "SELECT name, age FROM pets WHERE id <> 2")["columns"],
        json!(["name", "age"])
    );
    assert_eq!(cloud.browse(&id, json!(["public"])), json!([{"name": "pets", "type": "table"}]));
    assert_eq!(
        cloud.browse(&id, json!(["public", "pets"]))[1],
        json!({"name": "name", "type": "column", "data_type": "varchar"})
    );
    // What is inside survives a restart.
    let text = serde_json::to_string(&cloud.world).unwrap();
    cloud.world = serde_json::from_str(&text).unwrap();
    assert_eq!(cloud.rows(&id, "SELECT count(*) FROM pets"), json!([[2]]));
    assert_eq!(cloud.change(&id, "TRUNCATE TABLE pets")["row_count"], 2);
    cloud.change(&id, "DROP TABLE pets");
    cloud.change(&id, "DROP TABLE IF EXISTS pets");
    assert_eq!(cloud.rows(&id, "SHOW TABLES"), json!([]));
}

#[test]
fn a_console_is_read_only_by_default() {
    let mut cloud = Cloud::new();
    let id = cloud.database("main");
    let console = format!("POST /databases/{id}/console");
    for query in [
        "CREATE TABLE a (b int)",
        "insert into a values (1)",
        "ALTER TABLE a ADD c int",
        "GRANT ALL ON a TO b",
        "/* hidden */ DROP TABLE a",
        "-- hidden\nDELETE FROM a",
    ] {
        cloud.refuses(&console, json!({"query": query}), 400, "read_only");
        cloud.refuses(&console, json!({"query": query, "read_only": true}), 400, "read_only");
    }
    for (query, words) in [
        ("", "query must be"),
        ("SELEC 1", "syntax error near selec"),
        ("SELECT 1; DROP TABLE a", "syntax error near drop"),
        ("SELECT 'a", "not closed"),
        ("SELECT 1 /* a", "comment"),
        ("SELECT 1 /*/ a", "comment"),
        ("SELECT ^", "syntax error"),
        ("SELECT *", "needs a table"),
        ("SELECT * FROM nowhere", "does not exist"),
        ("SELECT * FROM mysql.user", "does not exist"),
        ("SELECT nothing FROM pg_user", "column nothing"),
        ("SELECT * FROM pg_user WHERE nothing = 1", "column nothing"),
        ("SELECT * FROM pg_user ORDER BY nothing", "column nothing"),
        ("SELECT * FROM pg_user LIMIT -1", "whole number"),
        ("SELECT * FROM numbers(3)", "table function numbers"),
        ("SELECT nothing()", "function nothing"),
        ("SELECT 9223372036854775807 + 1", "out of range"),
        ("SELECT 'a' + 1", "whole numbers"),
        ("SELECT count(*), usename FROM pg_user", "stands alone"),
        ("SELECT pg_sleep(15.1)", "longer than 15 seconds"),
        ("SELECT * FROM generate_series(1, 1000000000)", "longer than 15 seconds"),
        (
            "SELECT * FROM generate_series(-9223372036854775807, 9223372036854775807)",
            "longer than 15 seconds",
        ),
    ] {
        cloud.refuses(&console, json!({"query": query}), 400, words);
    }
}

#[test]
fn a_wrong_statement_of_a_console_that_writes_is_rejected() {
    let mut cloud = Cloud::new();
    let id = cloud.database("main");
    let console = format!("POST /databases/{id}/console");
    cloud.change(&id, "CREATE TABLE a (b int)");
    for (query, words) in [
        ("CREATE TABLE a (b int)", "exists already"),
        ("CREATE TABLE b ()", "syntax error"),
        ("CREATE TABLE b (c int", "syntax error near the end"),
        ("INSERT INTO a VALUES (1, 2)", "1 values are needed"),
        ("INSERT INTO a (c) VALUES (1)", "column c"),
        ("UPDATE a SET c = 1", "column c"),
        ("DELETE FROM b", "table b"),
        ("DROP TABLE b", "table b"),
        ("ALTER TABLE a ADD c int", "syntax error near alter"),
    ] {
        cloud.refuses(&console, json!({"query": query, "read_only": false}), 400, words);
    }
    let rows = vec!["(1)"; 10_001].join(",");
    let body = json!({"query": format!("INSERT INTO a VALUES {rows}"), "read_only": false});
    cloud.refuses(&console, body, 400, "at most 10000 rows");
    cloud.refuses(&console, json!({}), 400, "query is required");
    cloud.refuses(&console, json!({"query": "SELECT 1", "read_only": 1}), 400, "true or false");
    cloud.refuses(
        &format!("POST /databases/{NOBODY}/console"),
        json!({"query": "SELECT 1"}),
        404,
        "database",
    );
}

#[test]
fn a_stopped_database_rejects_queries() {
    let mut cloud = Cloud::new();
    let id = cloud.make("/databases", json!({"name": "a", "plan_id": 102}));
    for line in ["POST /databases/X/console", "POST /databases/X/browse", "PUT /databases/X/saved-queries"]
    {
        let body = json!({"query": "SELECT 1", "name": "a"});
        cloud.refuses(&line.replace('X', &id), body, 409, "must be running");
    }
}

#[test]
fn a_read_only_role_cannot_write_in_the_console() {
    let mut cloud = Cloud::new();
    let id = cloud.database("main");
    let roles = cloud.get("/roles");
    let viewer = roles.as_array().unwrap().iter().find(|role| role["slug"] == "viewer").unwrap();
    let made = cloud.ok("POST /api-keys", json!({"name": "a", "role_id": viewer["id"]}));
    cloud.key = made["secret"].as_str().unwrap().to_owned();
    assert_eq!(cloud.rows(&id, "SELECT 1"), json!([[1]]));
    cloud.browse(&id, json!([]));
    let body = json!({"query": "CREATE TABLE a (b int)", "read_only": false});
    cloud.refuses(&format!("POST /databases/{id}/console"), body, 403, "databases:write");
}

#[test]
fn each_sql_engine_has_its_own_catalog() {
    let mut cloud = Cloud::new();
    let mysql = cloud.engine("mysql", 201);
    assert_eq!(cloud.rows(&mysql, "SELECT user FROM mysql.user"), json!([["owner"]]));
    assert_eq!(cloud.rows(&mysql, "SHOW DATABASES")[0], json!(["defaultdb"]));
    assert_eq!(cloud.browse(&mysql, json!([]))[2], json!({"name": "mysql", "type": "schema"}));
    assert_eq!(cloud.browse(&mysql, json!(["mysql", "user"]))[0]["name"], "user");
    let clickhouse = cloud.engine("clickhouse", 401);
    assert_eq!(cloud.rows(&clickhouse, "SELECT * FROM numbers(2)"), json!([[0], [1]]));
    assert_eq!(cloud.rows(&clickhouse, "SELECT * FROM system.one"), json!([[0]]));
    cloud.change(&clickhouse, "CREATE TABLE hits (day Date) ENGINE = MergeTree ORDER BY day");
    assert_eq!(cloud.rows(&clickhouse, "SELECT name FROM system.tables"), json!([["hits"]]));
    let browse = format!("POST /databases/{clickhouse}/browse");
    for (path, status, words) in [
        (json!(["nowhere"]), 404, "schema"),
        (json!(["system", "nothing"]), 404, "table"),
        (json!(["default", "hits", "day"]), 400, "at most 2"),
        (json!("default"), 400, "list"),
        (json!([true]), 400, "path must be"),
    ] {
        cloud.refuses(&browse, json!({"path": path}), status, words);
    }
}

#[test]
fn valkey_accepts_its_own_commands() {
    let mut cloud = Cloud::new();
    let id = cloud.engine("valkey", 302);
    let console = format!("POST /databases/{id}/console");
    assert_eq!(cloud.rows(&id, "ping"), json!([["PONG"]]));
    cloud.refuses(&console, json!({"query": "SET a 1"}), 400, "read_only");
    for (command, result) in [
        ("SET user:1 ann", json!("OK")),
        ("SET user:2 bob", json!("OK")),
        ("INCR visits", json!(1)),
        ("incr visits", json!(2)),
    ] {
        assert_eq!(cloud.change(&id, command)["rows"], json!([[result]]), "{command}");
    }
    for (command, rows) in [
        ("GET user:1", json!([["ann"]])),
        ("GET user:3", json!([[null]])),
        ("MGET visits user:3", json!([["2"], [null]])),
        ("KEYS user:*", json!([["user:1"], ["user:2"]])),
        ("KEYS *:?", json!([["user:1"], ["user:2"]])),
        ("EXISTS user:1 user:3", json!([[1]])),
        ("DBSIZE", json!([[3]])),
        ("TYPE visits", json!([["string"]])),
        ("TTL visits", json!([[-1]])),
        ("ECHO hi", json!([["hi"]])),
    ] {
        assert_eq!(cloud.rows(&id, command), rows, "{command}");
    }
    assert_eq!(cloud.browse(&id, json!([]))[0], json!({"name": "user:1", "type": "string"}));
    assert_eq!(cloud.browse(&id, json!(["visits"]))[0]["value"], "2");
    cloud.refuses(&format!("POST /databases/{id}/browse"), json!({"path": ["x"]}), 404, "key");
    cloud.refuses(
        &format!("POST /databases/{id}/browse"),
        json!({"path": ["visits", 1]}),
        400,
        "below a key",
    );
    cloud.refuses(&console, json!({"query": "INCR user:1", "read_only": false}), 400, "not an integer");
    cloud.refuses(&console, json!({"query": "SELECT 1"}), 400, "unknown command SELECT");
    assert_eq!(cloud.change(&id, "DEL user:1 user:3")["rows"], json!([[1]]));
    cloud.change(&id, "FLUSHDB");
    assert_eq!(cloud.rows(&id, "DBSIZE"), json!([[0]]));
}

#[test]
fn kafka_lists_topics_messages_and_consumers() {
    let mut cloud = Cloud::new();
    let id = cloud.engine("kafka", 501);
    assert_eq!(cloud.rows(&id, "TOPICS"), json!([]));
    let message = |partition: i64, value: &str| json!({"partition": partition, "value": value});
    let topic = json!({
        "partitions": 2, "copies": 3,
        "messages": [message(0, "a"), message(1, "b"), message(0, "c")],
        "readers": {"billing": [1, 1], "audit": []},
    });
    let set = json!({"contents": {"topics": {"orders": topic}}});
    mutate(&mut cloud.world, "database", &id, set.as_object().unwrap(), cloud.now).unwrap();
    let answer = cloud.query(&id, "topics;");
    assert_eq!(answer["columns"][6], "lag");
    assert_eq!(answer["rows"], json!([["orders", 2, 3, 168, 3, 2, 4]]));
    assert_eq!(
        cloud.get(&format!("/databases/{id}/consumers")),
        json!([
            {"group": "audit", "topic": "orders", "partitions": 2, "lag": 3},
            {"group": "billing", "topic": "orders", "partitions": 2, "lag": 1},
        ])
    );
    assert_eq!(cloud.browse(&id, json!([])), json!([{"name": "orders", "type": "topic", "partitions": 2}]));
    let values = |entries: Value| {
        entries.as_array().unwrap().iter().map(|entry| entry["value"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(values(cloud.browse(&id, json!(["orders"]))), ["c", "a", "b"]);
    for partition in [json!(0), json!("0")] {
        assert_eq!(values(cloud.browse(&id, json!(["orders", partition]))), ["c", "a"]);
    }
    assert_eq!(cloud.browse(&id, json!(["orders", 1]))[0]["offset"], 0);
    let browse = format!("POST /databases/{id}/browse");
    cloud.refuses(&browse, json!({"path": ["nothing"]}), 404, "topic");
    cloud.refuses(&browse, json!({"path": ["orders", 2]}), 404, "partition");
    cloud.refuses(&format!("POST /databases/{id}/console"), json!({"query": "SELECT 1"}), 400, "TOPICS");
}

#[test]
fn queries_are_saved_replaced_and_deleted() {
    let mut cloud = Cloud::new();
    let id = cloud.database("main");
    let queries = format!("/databases/{id}/saved-queries");
    let put = format!("PUT {queries}");
    let made = cloud.ok(&put, json!({"name": "top ten", "query": "SELECT 1"}));
    assert_eq!((&made["name"], &made["query"]), (&json!("top ten"), &json!("SELECT 1")));
    cloud.wait(1);
    let changed = cloud.ok(&put, json!({"name": "top ten", "query": "SELECT 2"}));
    assert_eq!(changed["created_at"], made["created_at"]);
    assert_ne!(changed["updated_at"], made["updated_at"]);
    let listed = cloud.send(&format!("GET {queries}"), Value::Null).1;
    assert_eq!((&listed["total"], &listed["data"][0]), (&json!(1), &changed));
    for (body, words) in [
        (json!({"query": "SELECT 1"}), "name is required"),
        (json!({"name": "a"}), "query is required"),
        (json!({"name": "", "query": "a"}), "1 to 128"),
        (json!({"name": "a\u{7}", "query": "a"}), "control"),
        (json!({"name": "a", "query": ""}), "query must be"),
    ] {
        cloud.refuses(&put, body, 400, words);
    }
    cloud.ok(&put, json!({"name": "a/b é", "query": "SELECT 1"}));
    cloud.ok(&format!("DELETE {queries}/a%2Fb%20%C3%A9"), Value::Null);
    for n in 1..100 {
        cloud.ok(&put, json!({"name": format!("q{n}"), "query": "SELECT 1"}));
    }
    cloud.refuses(&put, json!({"name": "one more", "query": "SELECT 1"}), 400, "at most 100");
    cloud.ok(&format!("DELETE {queries}/top%20ten"), Value::Null);
    cloud.refuses(&format!("DELETE {queries}/top%20ten"), Value::Null, 404, "saved query");
}
