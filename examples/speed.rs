struct Instant(u64); fn cpu()->u64{ std::fs::read_to_string("/proc/self/schedstat").unwrap().split(' ').next().unwrap().parse().unwrap() } impl Instant { fn now()->Self{ std::thread::yield_now(); Instant(cpu()) } fn elapsed(&self)->std::time::Duration{ std::thread::yield_now(); std::time::Duration::from_nanos(cpu()-self.0) } }
use std::sync::Arc;
use flipside::{board::*, eval::*, pattern::*, search::*};
use rand::{RngExt, SeedableRng};
fn main() {
    let path = std::env::args().nth(1).unwrap_or("/tmp/lab.model".into());
    let bytes = std::fs::read(path).unwrap();
    let (m, _): (Model, usize) = bincode::serde::decode_from_slice(&bytes, bincode::config::standard().with_fixed_int_encoding()).unwrap();
    let layout = Arc::new(Layout::new(&m.set).unwrap());
    let ev = PatternEvaluator::with_layout(&m, layout).unwrap();
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    let mut games = vec![];
    for _ in 0..400 { let mut p = Position::START; let mut g = vec![]; while !p.is_game_over() { let mv = p.moves(); if mv == 0 { p = p.pass(); continue } g.push(p); p = p.play(squares(mv).nth(rng.random_range(0..mv.count_ones() as usize)).unwrap()); } games.push(g); }
    for rep in 0..2 {
    // pure eval
    let ps: Vec<_> = games.iter().flatten().filter(|p| p.empties() > 12 && p.empties() < 50).map(|p| (*p, ev.state(p))).collect();
    let t = Instant::now(); let mut s = 0; for _ in 0..20 { for (p, st) in &ps { s += ev.evaluate(p, st).0; } }
    println!("eval (all stages mixed) {:.1} ns", t.elapsed().as_nanos() as f64 / ps.len() as f64 / 20.0);
    let ps1: Vec<_> = ps.iter().filter(|(p, _)| p.empties() == 30).collect();
    let t = Instant::now(); for _ in 0..400 { for (p, st) in &ps1 { s += ev.evaluate(p, st).0; } }
    println!("eval (one stage) {:.1} ns  {s}", t.elapsed().as_nanos() as f64 / ps1.len() as f64 / 400.0);
    let t = Instant::now(); let mut n = 0u64; let mut x = 0i32; for (p, st) in &ps { for to in squares(p.moves()) { let f = p.flips(to); let c = ev.play(st, to, f); let q = p.play_unchecked(to, f); x += ev.evaluate(&q, &c).0; n += 1; } }
    println!("flip+update+eval {:.1} ns {x}", t.elapsed().as_nanos() as f64 / n as f64);
    for depth in [1, 2, 3, 4, 5, 6, 8] {
        let mut se = Searcher::new(&ev, 12);
        let t = Instant::now(); let (mut n, mut nodes) = (0, 0u64);
        for g in games.iter().take(if depth > 6 { 4 } else { 60 }) { se.forget(); for p in g { if p.empties() > 12 { let r = se.search(p, depth); nodes += r.nodes; n += 1; } } }
        let e = t.elapsed().as_secs_f64();
        println!("depth {depth}: {:.1} us/search, {:.0} nodes/search, {:.2} Mnps", e * 1e6 / n as f64, nodes as f64 / n as f64, nodes as f64 / e / 1e6);
    }
    if rep == 0 {
    let mut so = EndgameSolver::new(13); let mut line = vec![];
    for emp in [8, 10, 12, 14] {
        let t = Instant::now(); let (mut n, mut nodes) = (0, 0u64);
        for p in games.iter().flatten() { if p.empties() == emp { so.new_game(); nodes += so.solve_line(*p, &mut line).nodes; n += 1; } }
        let e = t.elapsed().as_secs_f64();
        println!("solve {emp}: {:.0}/s, {:.0} nodes, {:.1} Mnps", n as f64 / e, nodes as f64 / n as f64, nodes as f64 / e / 1e6);
    } }
    }
}
