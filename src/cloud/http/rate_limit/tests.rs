//! The limiter against an independent model of the service's, written from the contract.

use proptest::prelude::*;

use super::*;

/// The service: at most `rate` in any sliding second; above that a budget, whole again every minute.
struct Service {
    rate: usize,
    budget: usize,
    accepted: Vec<Duration>,
    window: Option<Duration>,
    left: usize,
    /// Whether the minute starts anew with the first request after it, or goes on from the first.
    restarts: bool,
    /// Whether requests that the budget paid for fill the second, too.
    counts_paid: bool,
}

impl Service {
    fn new(rate: usize, restarts: bool, counts_paid: bool) -> Self {
        let budget = rate * 2;
        Self { rate, budget, accepted: Vec::new(), window: None, left: budget, restarts, counts_paid }
    }

    fn accepts(&mut self, at: Duration) -> bool {
        let minute = Duration::from_mins(1);
        match self.window {
            Some(start) if at >= start + minute => {
                let whole = at.saturating_sub(start).as_secs() / 60;
                let aligned = start + minute * u32::try_from(whole).unwrap();
                self.window = Some(if self.restarts { at } else { aligned });
                self.left = self.budget;
            }
            None => self.window = Some(at),
            Some(_) => {}
        }
        let recent = self.accepted.iter().rev().take_while(|t| **t + Duration::from_secs(1) > at);
        if recent.count() < self.rate {
            self.accepted.push(at);
            return true;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if self.counts_paid {
            self.accepted.push(at);
        }
        true
    }
}

/// Sends `count` requests as fast as the limiter lets them; returns when each left.
fn run(limiter: &mut RateLimit, now: Duration, count: usize) -> Vec<Duration> {
    run_late(limiter, now, count, &mut || 0)
}

/// Sends `count` requests with a timer that ends each wait by some microseconds too late; returns when each left.
fn run_late(
    limiter: &mut RateLimit,
    mut now: Duration,
    count: usize,
    lateness: &mut dyn FnMut() -> u64,
) -> Vec<Duration> {
    let mut left = Vec::new();
    while left.len() < count {
        match limiter.admit(now) {
            Ok(()) => left.push(now),
            Err(wait) => {
                assert!(!wait.is_zero(), "a wait of nothing would spin");
                now += wait + Duration::from_micros(lateness());
            }
        }
    }
    left
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn a_single_client_is_never_rate_limited(
        bursts in prop::collection::vec((0u64..90_000, 1usize..220), 1..8),
        jitter in prop::collection::vec(0u64..20, 64),
        lateness in prop::collection::vec(0u64..9_000, 48),
        restarts: bool,
        counts_paid: bool,
    ) {
        let mut limiter = RateLimit::default();
        let mut arrivals = Vec::new();
        let mut now = Duration::from_secs(5);
        for (idle, count) in bursts {
            now += Duration::from_millis(idle);
            let mut late = lateness.iter().copied().cycle();
            let left = run_late(&mut limiter, now, count, &mut || late.next().unwrap_or_default());
            now = left.last().copied().unwrap_or(now);
            arrivals.extend(left);
        }
        let mut arrivals: Vec<_> = arrivals
            .iter()
            .enumerate()
            .map(|(i, at)| *at + Duration::from_millis(40 + jitter[i % jitter.len()]))
            .collect();
        arrivals.sort();
        let mut service = Service::new(30, restarts, counts_paid);
        for at in arrivals {
            prop_assert!(service.accepts(at), "refused at {at:?}");
        }
    }
}

#[test]
fn a_small_plan_is_sent_without_a_delay() {
    let left = run(&mut RateLimit::default(), Duration::ZERO, 15);
    assert_eq!(left.last(), Some(&Duration::ZERO));
    let left = run(&mut RateLimit::default(), Duration::ZERO, 87);
    assert_eq!(left.last(), Some(&Duration::ZERO), "the burst budget is there to be used");
}

#[test]
fn a_long_load_uses_the_full_rate() {
    let left = run(&mut RateLimit::default(), Duration::ZERO, 3_000);
    let seconds = left.last().unwrap().as_secs_f64();
    assert!(3_000.0 / seconds >= 28.9, "{} a second", 3_000.0 / seconds);
}

/// A request that arrives too close to the others takes from the burst budget, so the full rate needs one.
#[test]
fn the_full_rate_waits_for_the_burst_budget() {
    let (mut limiter, mut now, mut left) = (RateLimit::default(), Duration::ZERO, Vec::new());
    while now < Duration::from_secs(130) {
        match limiter.admit(now) {
            // Requests do not leave at the same instant.
            Ok(()) => {
                left.push(now);
                now += Duration::from_millis(8);
            }
            Err(wait) => now += wait,
        }
    }
    let rate = |from: u64, to: u64| {
        let within = left.iter().filter(|at| (from..to).contains(&at.as_secs()));
        f64::from(u32::try_from(within.count()).unwrap()) / f64::from(u32::try_from(to - from).unwrap())
    };
    assert!(rate(10, 60) < 28.5, "{}", rate(10, 60));
    assert!(rate(65, 125) > 28.9, "{}", rate(65, 125));
}

#[test]
fn a_late_timer_does_not_lower_the_rate() {
    let rate = |lateness: u64| {
        let left = run_late(&mut RateLimit::default(), Duration::ZERO, 3_000, &mut || lateness);
        3_000.0 / left.last().unwrap().as_secs_f64()
    };
    assert!(rate(2_500) > rate(0) * 0.985, "{} {}", rate(2_500), rate(0));
}

#[test]
fn the_rate_tier_is_learned_from_responses() {
    let mut limiter = RateLimit::default();
    let answer = |status, limit, retry_after| HttpResponse {
        status,
        retry_after,
        limit,
        remaining: None,
        date: None,
        request_id: None,
        body: Vec::new(),
    };
    limiter.observe_answer(&answer(200, Some(100), None), Duration::ZERO, 0.0);
    let left = run(&mut limiter, Duration::ZERO, 2_000);
    assert!(2_000.0 / left.last().unwrap().as_secs_f64() > 90.0);
    limiter.observe_answer(&answer(200, Some(0), None), Duration::ZERO, 0.0);
    limiter.observe_answer(&answer(200, Some(u32::MAX), None), Duration::ZERO, 0.0);
    assert_eq!(limiter.rate, 100, "nonsense is not learned");
}

#[test]
fn refused_requests_back_off_all_clients_with_growing_delays() {
    let mut limiter = RateLimit::default();
    let refusal = HttpResponse {
        status: 429,
        retry_after: Some(1),
        limit: None,
        remaining: None,
        date: None,
        request_id: None,
        body: vec![],
    };
    let mut now = Duration::from_secs(100);
    let mut waits = Vec::new();
    for _ in 0..8 {
        limiter.observe_answer(&refusal, now, 0.0);
        // Another answer of the same moment counts once.
        limiter.observe_answer(&refusal, now, 0.0);
        waits.push(limiter.blocked_for(now).as_secs());
        assert!(limiter.admit(now).is_err());
        now += limiter.blocked_for(now);
        assert!(limiter.admit(now).is_ok());
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    let long = HttpResponse { retry_after: Some(90), ..refusal };
    limiter.observe_answer(&long, now, 0.9);
    assert_eq!(limiter.blocked_for(now).as_secs(), 90, "what the service asks for is honoured");
    let fine = HttpResponse { status: 200, ..long.clone() };
    limiter.observe_answer(&fine, now + Duration::from_secs(91), 0.0);
    limiter.observe_answer(&long, now + Duration::from_secs(92), 0.0);
    assert_eq!(limiter.refusals, 1, "success starts the count again");
}

#[test]
fn machines_that_share_a_key_stay_below_its_limit_together() {
    for machines in 1..=7 {
        let mut limiters: Vec<RateLimit> = (0..machines).map(|_| RateLimit::default()).collect();
        let now = Duration::from_secs(1_000);
        let mut admitted = 0;
        for limiter in &mut limiters {
            limiter.share_with_machines(machines);
            admitted += (0..200).filter(|_| limiter.admit(now).is_ok()).count();
        }
        assert!(admitted <= 87, "{machines} machines sent {admitted}: 29 and a burst of 58");
        assert!(admitted >= 87 - 3 * machines as usize, "{machines} machines sent {admitted}");
    }
    let mut one = RateLimit::default();
    one.share_with_machines(0);
    assert!(one.admit(Duration::from_secs(1)).is_ok(), "no machine is this one alone");
}
