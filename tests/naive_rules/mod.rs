//! The rules of Othello again, square by square, for referees independent of the program.

/// A board: 1 for black's discs, -1 for white's, 0 for empty squares; and the side to move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Board {
    cells: [[i8; 8]; 8],
    pub side: i8,
}

impl Board {
    pub fn start() -> Self {
        let mut cells = [[0; 8]; 8];
        (cells[3][3], cells[4][4], cells[3][4], cells[4][3]) = (-1, -1, 1, 1);
        Self { cells, side: 1 }
    }

    /// The discs that a move to a square given as `(row, column)` turns over.
    fn turned(&self, row: usize, column: usize) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        if self.cells[row][column] != 0 {
            return all;
        }
        for (down, right) in [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)] {
            let mut line = Vec::new();
            let (mut r, mut c) = (row as i32 + down, column as i32 + right);
            while (0..8).contains(&r) && (0..8).contains(&c) && self.cells[r as usize][c as usize] == -self.side {
                line.push((r as usize, c as usize));
                (r, c) = (r + down, c + right);
            }
            if (0..8).contains(&r) && (0..8).contains(&c) && self.cells[r as usize][c as usize] == self.side {
                all.extend(line);
            }
        }
        all
    }

    /// The legal moves of the side to move, as `a1` to `h8`, in the order of the squares.
    pub fn moves(&self) -> Vec<String> {
        let squares = (0..8).flat_map(|row| (0..8).map(move |column| (row, column)));
        let legal = squares.filter(|&(row, column)| !self.turned(row, column).is_empty());
        legal.map(|(row, column)| format!("{}{}", (b'a' + column as u8) as char, row + 1)).collect()
    }

    /// Plays a move like `f5`, or passes with `pa`, in upper or lower case, if that is legal.
    pub fn play(&mut self, text: &str) -> Result<(), String> {
        let text = text.to_ascii_lowercase();
        let moves = self.moves();
        if text == "pa" {
            if !moves.is_empty() {
                return Err("a pass with legal moves".into());
            }
        } else {
            if !moves.contains(&text) {
                return Err(format!("{text} is not one of {moves:?}"));
            }
            let (row, column) = (usize::from(text.as_bytes()[1] - b'1'), usize::from(text.as_bytes()[0] - b'a'));
            for (r, c) in self.turned(row, column) {
                self.cells[r][c] = self.side;
            }
            self.cells[row][column] = self.side;
        }
        self.side = -self.side;
        Ok(())
    }

    pub fn is_over(&self) -> bool {
        let other = Self { side: -self.side, ..self.clone() };
        self.moves().is_empty() && other.moves().is_empty()
    }

    /// Black's discs minus white's, empty squares going to the winner.
    pub fn score(&self) -> i32 {
        let discs = |side| self.cells.iter().flatten().filter(|&&cell| cell == side).count() as i32;
        let (difference, empty) = (discs(1) - discs(-1), discs(0));
        difference + difference.signum() * empty
    }
}
