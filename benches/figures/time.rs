//! Runs one command and says what it cost.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Wall seconds and peak resident MiB of a process.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    pub wall: f64,
    pub memory: f64,
}

/// Runs a command to its end, reading its peak memory from the kernel while it lives.
pub fn run(program: &str, args: &[&str], directory: &Path, environment: &[(&str, String)]) -> Cost {
    let mut command = Command::new(program);
    command.args(args).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let start = Instant::now();
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0.0_f64;
    let ended = loop {
        if let Some(peak) = peak_memory(&status) {
            memory = memory.max(peak);
        }
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let wall = start.elapsed().as_secs_f64();
    assert!(ended.success(), "{program} {args:?}: {ended}");
    Cost { wall, memory }
}

fn peak_memory(status: &str) -> Option<f64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// The median of each figure.
pub fn median(costs: &[Cost]) -> Cost {
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Cost {
        wall: middle(costs.iter().map(|cost| cost.wall).collect()),
        memory: middle(costs.iter().map(|cost| cost.memory).collect()),
    }
}

/// Slope of the least-squares line through (log n, log cost).
pub fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(n, cost)| (n.ln(), cost.ln())).collect();
    let count = logs.len() as f64;
    let (mx, my) =
        (logs.iter().map(|p| p.0).sum::<f64>() / count, logs.iter().map(|p| p.1).sum::<f64>() / count);
    logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>()
        / logs.iter().map(|(x, _)| (x - mx).powi(2)).sum::<f64>()
}
