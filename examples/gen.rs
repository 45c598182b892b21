use flipside::board::*;
use flipside::search::endgame::EndgameSolver;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).unwrap();
    let from: u32 = args[2].parse().unwrap();
    let to: u32 = args[3].parse().unwrap();
    let mut s = EndgameSolver::new(20);
    let mut line = vec![];
    for d in parse_scored_diagrams(&text).unwrap() {
        if d.diagram.position.empties() != from {
            continue;
        }
        s.new_game();
        s.solve_line(d.diagram.position, &mut line);
        let mut g = d.diagram;
        for &m in &line {
            if g.position.empties() == to {
                break;
            }
            if g.position.moves() == 0 {
                g = g.pass();
            }
            g = g.try_play(m).unwrap();
        }
        if g.position.moves() == 0 {
            g = g.pass();
        }
        if g.position.empties() == to {
            println!("{g}");
        }
    }
}
