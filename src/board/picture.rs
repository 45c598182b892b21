//! A board drawn for people.

use super::square::Square;

/// A board with its coordinates: a line of letters, then rows 1 to 8 from the top down. `cell` gives what to show for a square,
/// one character wide when printed. There is no newline at the end.
pub fn picture(cell: impl Fn(Square) -> String) -> String {
    let cells: Vec<_> = Square::all().map(cell).collect();
    let rows = cells.chunks(8).zip(1..).map(|(row, number)| format!("\n{number} {}", row.join(" ")));
    "  a b c d e f g h".to_owned() + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_square_stands_under_its_letter_and_beside_its_number() {
        let f5: Square = "f5".parse().unwrap();
        let drawn = picture(|square| if square == f5 { "X".to_owned() } else { "-".to_owned() });
        let lines: Vec<_> = drawn.lines().collect();
        assert_eq!(lines.len(), 9);
        assert_eq!(lines[5], "5 - - - - - X - -");
        assert_eq!(lines[0].find('f'), lines[5].find('X'));
    }
}
