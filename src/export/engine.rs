//! The engines whose weight files are read and written.

use std::ops::RangeInclusive;
use std::sync::{LazyLock, OnceLock};

use super::order::{Digits, Table, file_order};
use crate::eval::{Model, StageMap};
use crate::names::names;
use crate::pattern::{EngineTables, Layout, PatternSet, Scalar};

/// An engine with weight files of its own. Its name is also that of its pattern set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Engine {
    /// Edax 4: `eval.dat`.
    Edax,
    /// Egaroucid 7.8: `eval.egev2`.
    Egaroucid,
    /// NTest: `JAa.cof` to `JAj.cof`.
    Ntest,
    /// Zebra: `coeffs2.bin`.
    Zebra,
}

names! { Engine, "an engine whose weights are known":
    Edax = "edax"
    Egaroucid = "egaroucid"
    Ntest = "ntest"
    Zebra = "zebra"
}

impl Engine {
    /// The pattern set of its files.
    pub fn set(self) -> PatternSet {
        self.built_in().of_model()
    }

    fn built_in(self) -> &'static PatternSet {
        static SETS: LazyLock<[PatternSet; 4]> = LazyLock::new(|| {
            Engine::ALL.map(|engine| PatternSet::built_in(engine.name()).expect("every engine's set is built in"))
        });
        &SETS[self as usize]
    }

    /// The layout of its set.
    pub(super) fn layout(self) -> &'static Layout {
        static LAYOUTS: [OnceLock<Layout>; 4] = [const { OnceLock::new() }; 4];
        LAYOUTS[self as usize].get_or_init(|| Layout::new(&self.set()).expect("built-in sets have layouts"))
    }

    fn file_tables(self) -> &'static EngineTables {
        self.built_in().engine.as_ref().expect("the built-in sets of engines say how they are kept")
    }

    /// Units of its weights per disc.
    pub fn scale(self) -> u16 {
        self.file_tables().scale
    }

    /// The weights its files can hold.
    pub fn range(self) -> RangeInclusive<i16> {
        let (smallest, largest) = self.file_tables().range;
        smallest..=largest
    }

    /// The number of table sets in its files; for Zebra, which interpolates, the largest possible number.
    pub fn stages(self) -> usize {
        self.file_tables().count()
    }

    /// The table set for positions with a number of empties, even if the engine never evaluates such positions.
    pub fn stage_of(self, empties: u32) -> usize {
        self.file_tables().table_of(empties)
    }

    /// The numbers of empties that its files have tables for. The others are those of the start position and of full boards.
    pub const fn covers(self) -> RangeInclusive<u32> {
        match self {
            Self::Edax => 0..=60,
            Self::Egaroucid => 1..=60,
            Self::Ntest => 0..=59,
            Self::Zebra => 1..=59,
        }
    }

    const fn digits(self) -> Digits {
        match self {
            Self::Edax | Self::Egaroucid => [1, 2, 0],
            Self::Ntest => [0, 1, 2],
            Self::Zebra => [2, 1, 0],
        }
    }

    /// The tables of one stage of its files, in order.
    fn tables(self) -> Vec<Table> {
        use Table::{Full, Packed};
        match self {
            Self::Edax => (0..12).map(Packed).chain([Table::Scalar(Scalar::Constant)]).collect(),
            Self::Egaroucid => (0..16).map(Full).chain([Table::Scalar(Scalar::PlayerDiscs)]).collect(),
            Self::Ntest => {
                let scalars = self.set().scalars.into_iter().map(Table::Scalar);
                (0..9).map(Packed).chain([Full(9), Full(10), Packed(11)]).chain(scalars).collect()
            }
            Self::Zebra => {
                let scalars = [Scalar::Constant, Scalar::Parity].map(Table::Scalar);
                scalars.into_iter().chain((0..10).map(Packed)).chain([Full(10)]).collect()
            }
        }
    }

    /// For each entry of one stage of its files, the number of its weight in [`Self::layout`].
    pub(super) fn file_order(self) -> Vec<u32> {
        file_order(self.layout(), self.digits(), &self.tables())
    }

    /// A model from the weights of each of its table sets; equal ones become one stage.
    pub(super) fn model(self, stages: &[Vec<i16>]) -> Model {
        let map = StageMap::grouped(|empties| &stages[self.stage_of(empties)]);
        let weights = (0..map.count()).map(|stage| stages[self.stage_of(map.empties_of(stage)[0])].clone());
        Model { set: self.set(), scale: self.scale(), weights: weights.collect(), stages: map, hidden: None }
    }
}
