//! Graphs of stacks, and their drawings.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use super::*;
use crate::config::input::files::{DirectoryEntry, Files};
use crate::config::input::request::LoadRequest;
use crate::config::load::load;
use crate::kinds::REGISTRY;
use crate::model::source::{Source, Sources};

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    fn list(&self, _: &Path) -> std::io::Result<Vec<DirectoryEntry>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

fn graph(text: &str) -> DependencyGraph {
    let mut sources = Sources::default();
    sources.add(Source::new("stead.yaml", format!("stead: 1\nstack: s\n{text}")));
    let (stack, _) =
        load(REGISTRY, sources, &LoadRequest::default(), &NoFiles).map_err(|e| e.diagnostics).unwrap();
    DependencyGraph::from_stack(&stack)
}

const SHOP: &str = "\
vpc: { main: { cidr: 10.0.0.0/16 } }
vm:
  web: { for_each: [a, b], template: t, plan: p, vpc: $vpc.main }
volume: { media: { size: 10, vm: $vm.web.a } }
database: { main: { plan: p, vpc: $vpc.main, users: { reporting: {} } } }
data: { ssh_key: { shared: { name: ops } } }
app:
  site:
    { image: x, type: web, port: 80, env_vars: { IP: $vm.web.b.public_ipv4_address, DB: $database.main.connection_host, K: $data.ssh_key.shared.name } }
";

#[test]
fn the_tree_shows_dependencies_and_dependents() {
    let graph = graph(SHOP);
    insta::assert_snapshot!(render_tree(&graph, None, TraversalDirection::Dependencies, true), @r#"
    app.site
    ├─ database.main
    │  └─ vpc.main
    ├─ vm.web.b
    │  └─ vpc.main
    └─ data.ssh_key.shared
    database.main.users.reporting
    └─ database.main …
    volume.media
    └─ vm.web.a
       └─ vpc.main
    "#);
    insta::assert_snapshot!(render_dot(&graph), @r#"
    digraph stack {
      rankdir=LR;
      node [shape=box, style=rounded];
      "app.site";
      "database.main";
      "database.main.users.reporting";
      "vm.web.a";
      "vm.web.b";
      "volume.media";
      "vpc.main";
      "data.ssh_key.shared" [style=dashed];
      "database.main" -> "app.site" [label="env_vars"];
      "vm.web.b" -> "app.site" [label="env_vars"];
      "data.ssh_key.shared" -> "app.site" [label="env_vars"];
      "vpc.main" -> "database.main" [label="vpc"];
      "database.main" -> "database.main.users.reporting" [label="inside"];
      "vpc.main" -> "vm.web.a" [label="vpc"];
      "vpc.main" -> "vm.web.b" [label="vpc"];
      "vm.web.a" -> "volume.media" [label="vm"];
    }
    "#);
    insta::assert_snapshot!(render_mermaid(&graph), @r#"
    flowchart LR
      n0["app.site"]
      n1["database.main"]
      n2["database.main.users.reporting"]
      n3["vm.web.a"]
      n4["vm.web.b"]
      n5["volume.media"]
      n6["vpc.main"]
      n7(["data.ssh_key.shared"])
      n1 --> n0
      n4 --> n0
      n7 --> n0
      n6 --> n1
      n1 --> n2
      n6 --> n3
      n6 --> n4
      n3 --> n5
    "#);
    let tie = &graph.edges.iter().find(|edge| edge.ties.iter().any(|tie| tie.by == "vpc")).unwrap().ties[0];
    assert!(tie.source.is_some());
}

#[test]
fn a_focus_keeps_dependencies_and_dependents() {
    let graph = graph(SHOP);
    let around = |address: &str, depth| -> Vec<String> {
        let part = graph.subgraph_around(&graph.nodes_at(address), depth);
        part.nodes.iter().map(|node| node.address.to_string()).collect()
    };
    assert_eq!(around("vm.web.a", usize::MAX), ["vm.web.a", "volume.media", "vpc.main"]);
    assert_eq!(around("vpc.main", 1), ["database.main", "vm.web.a", "vm.web.b", "vpc.main"]);
    assert_eq!(around("vm.web", 0), ["vm.web.a", "vm.web.b"]);
    assert!(graph.nodes_at("vm.wep").is_empty() && graph.nodes_at("no address").is_empty());
}

fn large(columns: usize, rows: usize) -> DependencyGraph {
    let mut text = String::from("project: { p: {} }\nvpc:\n");
    for n in 0..rows {
        _ = writeln!(text, "  v{n}: {{ cidr: 10.{n}.0.0/16 }}");
    }
    text += "vm:\n";
    for column in 0..columns {
        for n in 0..rows {
            let before = if column == 0 {
                String::new()
            } else {
                format!(", depends_on: [vm.m{}-{}]", column - 1, (n * 3) % rows)
            };
            _ = writeln!(text, "  m{column}-{n}: {{ template: t, plan: p, vpc: $vpc.v{n}{before} }}");
        }
    }
    graph(&text)
}

/// The boxes of a picture: left, top, width.
fn boxes(svg: &str) -> Vec<(f64, f64, f64)> {
    let number = |text: &str, name: &str| -> f64 {
        let (_, rest) = text.split_once(&format!(" {name}=\"")).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    svg.split("<rect")
        .skip(1)
        .map(|text| (number(text, "x"), number(text, "y"), number(text, "width")))
        .collect()
}

#[test]
fn sixty_nodes_do_not_overlap_in_the_svg() {
    let graph = large(5, 10);
    assert_eq!(graph.nodes.len(), 61);
    let picture = render_svg(&graph);
    let boxes = boxes(&picture);
    assert_eq!(boxes.len(), 61);
    for (n, a) in boxes.iter().enumerate() {
        for b in &boxes[n + 1..] {
            let beside = a.0 + a.2 <= b.0 || b.0 + b.2 <= a.0;
            assert!(beside || (a.1 - b.1).abs() >= 40.0, "{a:?} {b:?}");
        }
    }
    // A VM needs its VPC, which needs the project: no line from the project to the VM.
    let drawn = picture.matches("<path").count();
    assert!(drawn < graph.edges.len() && drawn >= 60, "{drawn} of {}", graph.edges.len());
    let height: f64 =
        picture.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    assert!(height < 1_200.0, "{height}");
}

#[test]
fn every_edge_connects_two_boxes() {
    let graph = graph(
        "vpc: { a-network-with-a-long-name: { cidr: 10.0.0.0/16 }, b: { cidr: 10.1.0.0/16 } }\nvm:\n  \
         x: { template: t, plan: p, vpc: $vpc.a-network-with-a-long-name }\n  y: { template: t, plan: p, vpc: $vpc.b }\n",
    );
    let picture = render_svg(&graph);
    let boxes = boxes(&picture);
    let lines: Vec<Vec<f64>> = picture
        .split("<path d=\"M")
        .skip(1)
        .map(|line| line.split('"').next().unwrap())
        .map(|line| line.split([' ', 'L', 'C']).filter_map(|number| number.parse().ok()).collect())
        .collect();
    assert_eq!(lines.len(), 2, "{picture}");
    for line in lines {
        let (start, end) = (line[0], line[line.len() - 2]);
        assert!(
            boxes.iter().any(|(left, _, width)| (left + width - start).abs() < 0.2),
            "{start} {boxes:?}"
        );
        assert!(boxes.iter().any(|(left, ..)| (left - end).abs() < 0.2), "{end} {boxes:?}");
    }
}

#[test]
fn every_arrow_points_to_the_right() {
    let graph = large(3, 4);
    let layout = graph.layout();
    assert!(graph.edges.iter().all(|edge| layout.columns[edge.to] < layout.columns[edge.from]));
    for line in layout.lines.iter().map(|line| &line.points) {
        assert!(line.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0), "{line:?}");
    }
    let places: BTreeSet<_> = layout
        .columns
        .iter()
        .zip(&layout.rows)
        .map(|(column, row)| (*column, format!("{row:.3}")))
        .collect();
    assert_eq!(places.len(), graph.nodes.len());
}

#[test]
fn names_are_escaped() {
    let node = |address: &str| DependencyNode {
        address: serde_json::from_value(serde_json::json!(address)).unwrap(),
        kind: None,
        source: Some(SourceLocation { file: "a\"<b>&.yaml".into(), line: 1, column: 1 }),
        elsewhere: true,
    };
    let graph = DependencyGraph { nodes: vec![node("stacks.net")], edges: Vec::new() };
    let picture = render_svg(&graph);
    assert!(
        picture.contains("a&quot;&lt;b&gt;&amp;.yaml:1") && picture.contains("class=\"elsewhere\""),
        "{picture}"
    );
    assert!(render_svg(&DependencyGraph::default()).contains("</svg>"));
}

#[test]
fn a_long_chain_is_drawn() {
    let node = |n: usize| DependencyNode {
        address: Address::new("vm", &format!("m{n}")),
        kind: None,
        source: None,
        elsewhere: false,
    };
    let edges = (1..5_000).map(|n| DependencyEdge { from: n, to: n - 1, ties: Vec::new() }).collect();
    let graph = DependencyGraph { nodes: (0..5_000).map(node).collect(), edges };
    assert_eq!(render_tree(&graph, Some(&[3]), TraversalDirection::Dependencies, false).lines().count(), 4);
    assert_eq!(render_svg(&graph).matches("<rect").count(), 5_000);
    assert_eq!(graph.reachable_from(&[10], TraversalDirection::Dependencies, usize::MAX).len(), 10);
}
