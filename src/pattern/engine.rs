//! How an engine's files hold weights, for the pattern set of an engine.

use serde::{Deserialize, Serialize};

/// Units, range and tables of the engine's files that a pattern set's weights are meant for. Weights learned with them fit into
/// these files without loss.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineTables {
    /// Weight units per disc.
    pub scale: u16,
    /// The smallest and the largest weight, in these units.
    pub range: (i16, i16),
    /// The number of the table for 0, 1, ... 60 discs played.
    tables: Vec<u8>,
}

impl EngineTables {
    /// The number of the table that evaluates positions with `empties` empty squares, at most 60.
    pub fn table_of(&self, empties: u32) -> usize {
        self.tables[60 - empties.min(60) as usize].into()
    }

    /// Number of tables.
    pub fn count(&self) -> usize {
        self.tables.iter().max().map_or(0, |&last| usize::from(last) + 1)
    }

    /// Checks that it makes sense.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let require = |holds: bool, expected| if holds { Ok(()) } else { Err(expected) };
        require(self.scale > 0, "`scale` must be 1 or more units per disc")?;
        require(self.range.0 < 0 && self.range.1 > 0, "`range` must be a number below 0 and one above")?;
        require(self.tables.len() == 61, "`tables` must have 61 numbers, for 0 to 60 discs played")?;
        let all_used = (0..self.count()).all(|table| self.tables.contains(&(table as u8)));
        require(all_used, "`tables` must be numbered from 0 without gaps")
    }
}

#[cfg(test)]
mod tests {
    use crate::pattern::PatternSet;

    #[test]
    fn a_set_says_how_its_weights_are_kept() {
        let set = |engine: &str| {
            PatternSet::from_toml(&format!("name = 'own'\npatterns = {{ corner = 'a1' }}\n[engine]\n{engine}"))
        };
        // Two tables: for the first half of the game, and for the rest.
        let halves: Vec<u8> = (0..61).map(|played| u8::from(played > 30)).collect();
        let engine = set(&format!("scale = 50\nrange = [-100, 120]\ntables = {halves:?}")).unwrap().engine.unwrap();
        assert_eq!((engine.scale, engine.range, engine.count()), (50, (-100, 120), 2));
        assert_eq!([60, 30, 29, 0].map(|empties| engine.table_of(empties)), [0, 0, 1, 1]);

        let refused = |engine: String| set(&engine).unwrap_err().to_string();
        assert!(refused(format!("scale = 0\nrange = [-1, 1]\ntables = {halves:?}")).contains("`scale`"));
        assert!(refused(format!("scale = 1\nrange = [1, 2]\ntables = {halves:?}")).contains("`range`"));
        assert!(refused(format!("scale = 1\nrange = [-1, 1]\ntables = {:?}", &halves[1..])).contains("61 numbers"));
        let gap: Vec<u8> = halves.iter().map(|table| 2 * table).collect();
        assert!(refused(format!("scale = 1\nrange = [-1, 1]\ntables = {gap:?}")).contains("without gaps"));
        assert!(refused("scale = 1".to_owned()).contains("range"));
    }
}
