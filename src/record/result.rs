//! Results of games, and how GGF and SGF state them.

/// How a game came to its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Finish {
    /// By the discs on the board, or unknown.
    #[default]
    Played,
    /// A player gave up.
    Resigned,
    /// A player ran out of time, or lost by an illegal move or a crash: the position does not show it.
    Forfeited,
    /// The players agreed on it.
    Agreed,
}

/// The result of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GameResult {
    /// Disc difference for black, -64 to 64, empty squares going to the winner.
    pub discs: i32,
    /// How it came about.
    pub finish: Finish,
}

impl GameResult {
    /// The result that a record states after subtracting `komi` discs from black's: a number with `:r`, `:t`, `:l` or `:s` as in GGF, or
    /// `B+12`, `W+R`, `Draw` as in SGF. `None` for what cannot be a result, such as Edax's -127 for a game that is not over.
    pub(super) fn parse(text: &str, komi: f64) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let (number, flag) = text.split_once(':').unwrap_or((&text, ""));
        let (after_komi, finish): (f64, _) = match (number.trim().parse(), flag.trim()) {
            (Ok(number), "") => (number, Finish::Played),
            (Ok(number), "r") => (number, Finish::Resigned),
            (Ok(number), "t" | "l") => (number, Finish::Forfeited),
            (Ok(number), "s") => (number, Finish::Agreed),
            (Ok(_), _) => return None,
            (Err(_), _) => of_winner(&text)?,
        };
        let discs = after_komi + komi;
        if matches!(finish, Finish::Resigned | Finish::Forfeited) && discs.is_finite() {
            // It only says who won.
            return Some(Self { discs: discs.clamp(-64.0, 64.0).round() as i32, finish });
        }
        let is_right = (discs - discs.round()).abs() < 1e-3 && discs.abs() < 64.5;
        is_right.then_some(Self { discs: discs.round() as i32, finish })
    }
}

/// SGF's results: the winner, and by how much or how.
fn of_winner(text: &str) -> Option<(f64, Finish)> {
    if text == "draw" {
        return Some((0.0, Finish::Played));
    }
    let (winner, how) = text.split_once('+')?;
    let sign = match winner.trim() {
        "b" | "black" => 1.0,
        "w" | "white" => -1.0,
        _ => return None,
    };
    match how.trim() {
        // A win by an unknown number of discs says as much as a resignation.
        "" | "r" | "resign" => Some((64.0 * sign, Finish::Resigned)),
        "t" | "time" | "f" | "forfeit" => Some((64.0 * sign, Finish::Forfeited)),
        number => {
            number.parse().ok().filter(|number: &f64| *number >= 0.0).map(|number| (sign * number, Finish::Played))
        }
    }
}
