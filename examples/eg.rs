use flipside::board::*;
use flipside::search::endgame::EndgameSolver;

fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mode = &args[1];
    let bits: u32 = args[2].parse().unwrap();
    let from: usize = args[4].parse().unwrap();
    let to: usize = args[5].parse().unwrap();
    let reps: usize = args.get(6).map_or(1, |r| r.parse().unwrap());
    let text = std::fs::read_to_string(&args[3]).unwrap();
    let positions = parse_scored_diagrams(&text).unwrap();
    let mut solver = EndgameSolver::new(bits);
    let mut line = vec![];
    let (mut best, mut nodes, mut n, mut sum) = (f64::MAX, 0, 0, 0i64);
    for _ in 0..reps {
        (nodes, n, sum) = (0, 0, 0);
        let start = cpu();
        for d in &positions[from..to.min(positions.len())] {
            let t = cpu();
            solver.new_game();
            let s = match mode.as_str() {
                "line" => solver.solve_line(d.diagram.position, &mut line),
                _ => solver.solve(d.diagram.position, -64, 64),
            };
            nodes += s.nodes;
            n += 1;
            sum += s.score as i64;
            if let Some(score) = d.score
                && score != s.score
            {
                println!("WRONG {} {} {:?}", d.diagram, score, s);
            }
            if mode == "v" {
                println!("{} {:+} {:?} {} {:.3}", d.diagram.position.empties(), s.score, s.best, s.nodes, cpu() - t);
            }
        }
        best = f64::min(best, cpu() - start);
    }

    println!(
        "{n} positions, {nodes} nodes, {:.3} s, {:.1} Mnps, {:.1} solves/s, {:.0} nodes each, sum {sum}",
        best,
        nodes as f64 / best / 1e6,
        n as f64 / best,
        nodes as f64 / n as f64
    );
}
