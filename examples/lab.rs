use std::sync::{Arc, atomic::AtomicBool};
use std::time::Duration;
fn ticks()->f64{ let s=std::fs::read_to_string("/proc/self/stat").unwrap(); let f:Vec<&str>=s[s.rfind(')').unwrap()+2..].split(' ').collect(); (f[11].parse::<f64>().unwrap()+f[12].parse::<f64>().unwrap())/100.0 }
#[derive(Clone,Copy)] struct Instant(f64); impl Instant { fn now()->Self{Instant(ticks())} fn elapsed(&self)->Duration{ Duration::from_secs_f64((ticks()-self.0).max(0.0)) } }
use flipside::{board::*, eval::*, learn::*, pattern::*, selfplay::*, search::*};

fn accuracy(ev: &PatternEvaluator, file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let mut by: std::collections::BTreeMap<u32, Vec<f64>> = Default::default();
    for d in parse_scored_diagrams(&text).unwrap() {
        let p = d.diagram.position;
        let e = ev.evaluate_position(&p).discs() as f64;
        by.entry(p.empties()).or_default().push(e.clamp(-64.0, 64.0) - d.score.unwrap() as f64);
    }
    by.iter().map(|(k, v)| { let n = v.len() as f64; let b = v.iter().sum::<f64>() / n; let r = (v.iter().map(|x| x * x).sum::<f64>() / n).sqrt();
        format!("{k}: {:.2}({:+.1})", (r*r-b*b).sqrt(), b) }).collect::<Vec<_>>().join(" ")
}
fn arg<T: std::str::FromStr>(name: &str, default: T) -> T {
    let a: Vec<String> = std::env::args().collect();
    a.iter().position(|x| x == name).and_then(|i| a[i + 1].parse().ok()).unwrap_or(default)
}
fn main() {
    let minutes: f64 = arg("--minutes", 2.0);
    let depth = arg("--depth", 4u32);
    let games: u32 = arg("--games", 8000);
    let window: usize = arg("--window", 5);
    let passes: usize = arg("--passes", 2);
    let lambda: f32 = arg("--lambda", 0.9);
    let rate: f32 = arg("--rate", 1.0);
    let half: f32 = arg("--half", 30.0);
    let floor: f32 = arg("--floor", 0.01);
    let exact: u32 = arg("--exact", 12);
    let opening: u32 = arg("--opening", 30);
    let exploration: f64 = arg("--eps", 0.02);
    let coarse: f64 = arg("--coarse", 0.0);
    let growth: f64 = arg("--growth", 1.0);
    let rule = match arg("--rule", "decayed".to_string()).as_str() {
        "decayed" => StepRule::Decayed { rate, half, floor },
        "tc" => StepRule::TemporalCoherence { rate },
        "adagrad" => StepRule::AdaGrad { rate },
        _ => StepRule::Fixed { rate },
    };
    let set = PatternSet::from_toml(&std::fs::read_to_string(arg("--set", "data/patterns/classic.toml".to_string())).unwrap()).unwrap();
    let layout = Arc::new(Layout::new(&set).unwrap());
    let fine = StageMap::uniform(arg("--plies", 1));
    let mut coarse_on = coarse > 0.0;
    let mut learner = Learner::new(layout.clone(), if coarse_on { StageMap::uniform(arg("--coarse-plies", 6)) } else { fine.clone() }, rule);
    let config = SelfPlayConfig { depth, exact_empties: exact, opening_plies: opening, exploration, update: UpdateTarget::Td };
    let t0 = Instant::now();
    let mut sets: Vec<SampleSet> = vec![];
    let (mut tp, mut tl, mut te) = (0.0, 0.0, 0.0);
    let (mut total, mut updates) = (0usize, 0usize);
    let mut n_games = games as f64;
    let mut generation = 0;
    while t0.elapsed().as_secs_f64() < minutes * 60.0 {
        if coarse_on && t0.elapsed().as_secs_f64() > coarse * 60.0 { coarse_on = false; learner.set_stages(fine.clone()); }
        let t = Instant::now();
        let ev = PatternEvaluator::with_layout(&learner.model(), layout.clone()).unwrap();
        te += t.elapsed().as_secs_f64();
        let t = Instant::now();
        let sp = SelfPlay::new(&ev, config);
        let records = sp.play_games(1, generation, 0, n_games as u32, &AtomicBool::new(false)).unwrap();
        let mut new = SampleSet::default();
        for r in &records { for s in lambda_returns(r, lambda) { new.push(s); } }
        tp += t.elapsed().as_secs_f64();
        total += new.len();
        sets.push(new);
        if sets.len() > window { sets.remove(0); }
        let t = Instant::now();
        let mut loss0 = None;
        // newest first-time pass is on the newest only, then replays
        let newest = sets.last().unwrap();
        loss0.get_or_insert(learner.pass(newest).unwrap());
        updates += newest.len();
        for _ in 1..passes { for s in &sets { learner.pass(s).unwrap(); updates += s.len(); } }
        tl += t.elapsed().as_secs_f64();
        generation += 1;
        n_games *= growth;
        if generation % arg("--report", 10u32) == 0 {
            let ev = PatternEvaluator::with_layout(&learner.model(), layout.clone()).unwrap();
            println!("{:5.0}s g{generation} play {tp:.1}s learn {tl:.1}s ev {te:.1}s pos {:.2}M {:.0}/s upd {:.2}M/s loss {:.2} | {} | {}", t0.elapsed().as_secs_f64(), total as f64 / 1e6, total as f64 / t0.elapsed().as_secs_f64(), updates as f64 / tl / 1e6, loss0.unwrap().rmse(),
              accuracy(&ev, "../shared/data/positions/human-dev.txt"), accuracy(&ev, "../shared/data/positions/mid-dev.txt"));
        }
    }
    let m = learner.model();
    let bytes = bincode::serde::encode_to_vec(&m, bincode::config::standard().with_fixed_int_encoding()).unwrap();
    std::fs::write(arg("--out", "/tmp/lab.model".to_string()), bytes).unwrap();
    let _ = Searcher::new(&PatternEvaluator::new(&m).unwrap(), 10);
}
