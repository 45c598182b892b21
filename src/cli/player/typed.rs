//! Players as they are typed.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use crate::cli::error::CliError;
use crate::cli::evaluator::EvaluatorChoice;
use crate::cli::external::ExternalChoice;
use crate::cli::input::{parse_discs, parse_move_time};
use crate::cli::strength::{DEFAULT_STRENGTH, StrengthArguments, parse_selectivity};
use crate::cli::with_book::ChoiceName;
use flipside::book::Choice;
use flipside::search::{Deviations, Strength};

/// A player as typed.
#[derive(Clone, PartialEq, Debug)]
pub enum PlayerChoice {
    /// Our own search with an evaluation.
    Own(OwnPlayer),
    /// Another program.
    External(ExternalChoice),
}

/// Our own search as typed: an evaluation, and options that override the command's, like `default:depth=8,selectivity=1.5`.
#[derive(Clone, PartialEq, Debug)]
pub struct OwnPlayer {
    pub(super) typed: String,
    /// Whether any options were typed.
    options: bool,
    pub(super) evaluator: EvaluatorChoice,
    pub(super) depth: Option<u32>,
    pub(super) exact: Option<u32>,
    pub(super) selectivity: Option<Deviations>,
    /// Time per move, instead of the command's depth.
    pub(super) time: Option<Duration>,
    /// Nodes per move, instead of the command's depth.
    pub(super) nodes: Option<u64>,
    pub(super) book: Option<String>,
    /// Which of its book's moves it plays, instead of the best.
    pub(super) choice: Option<Choice>,
}

impl FromStr for PlayerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if ExternalChoice::is_meant(text) {
            return text.parse().map(Self::External);
        }
        text.parse().map(Self::Own)
    }
}

impl FromStr for OwnPlayer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Without a `=` a colon is part of a file's name.
        let (name, options) = text.rsplit_once(':').filter(|(_, options)| options.contains('=')).unwrap_or((text, ""));
        let evaluator = EvaluatorChoice::from(Path::new(name));
        let (typed, any) = (text.to_owned(), !options.is_empty());
        let mut player = Self {
            typed,
            options: any,
            evaluator,
            depth: None,
            exact: None,
            selectivity: None,
            time: None,
            nodes: None,
            book: None,
            choice: None,
        };
        let (mut choice, mut within) = (None, None);
        let mut names = Vec::new();
        for option in options.split_terminator(',') {
            let unknown = || {
                let known =
                    "depth=N, exact=N, selectivity=T, time=TIME, nodes=N, book=FILE, choice=CHOICE and within=DISCS";
                format!("`{option}` is none of {known}")
            };
            let (name, value) = option.split_once('=').ok_or_else(unknown)?;
            if names.contains(&name) {
                return Err(format!("`{name}` is given twice"));
            }
            names.push(name);
            let number = |min: u32, max: u32| {
                let number = value.parse().ok().filter(|number| (min..=max).contains(number));
                number.ok_or_else(|| format!("`{option}`: expected a number from {min} to {max}"))
            };
            match name {
                "depth" => player.depth = Some(number(1, Strength::MAX_DEPTH)?),
                "exact" => player.exact = Some(number(0, Strength::MAX_EXACT_EMPTIES)?),
                "selectivity" => player.selectivity = Some(parse_selectivity(value)?),
                "time" => player.time = Some(parse_move_time(value).map_err(|error| format!("`{option}`: {error}"))?),
                "nodes" => {
                    let nodes = value.parse().ok().filter(|&nodes| nodes > 0);
                    player.nodes = Some(nodes.ok_or_else(|| format!("`{option}`: expected a number from 1 on"))?);
                }
                "book" => player.book = Some(value.to_owned()),
                "choice" => {
                    let known = <ChoiceName as clap::ValueEnum>::from_str(value, true);
                    choice = Some(known.map_err(|_| format!("`{option}`: expected best, varied or surprising"))?);
                }
                "within" => within = Some(parse_discs(value)?),
                _ => return Err(unknown()),
            }
        }
        player.choice = match (choice, within) {
            (None | Some(ChoiceName::Best), Some(_)) => {
                return Err("`within` needs `choice=varied` or `choice=surprising`".into());
            }
            (choice, within) => choice.map(|choice| choice.within(within)),
        };
        if player.exact.is_some() && player.has_only_limits() {
            return Err("`exact` needs a `depth`: without one, all that time or nodes allow is solved".into());
        }
        Ok(player)
    }
}

impl OwnPlayer {
    /// Whether it has a limit of time or nodes and no depth: it solves all that this allows.
    pub(super) fn has_only_limits(&self) -> bool {
        self.depth.is_none() && (self.time.is_some() || self.nodes.is_some())
    }

    /// Whether it searches to the command's depth.
    pub fn takes_depth(&self) -> bool {
        self.depth.is_none() && !self.has_only_limits()
    }

    /// Whether it solves from the command's number of empty squares on.
    pub fn takes_exact_empties(&self) -> bool {
        self.exact.is_none() && !self.has_only_limits()
    }
}

impl fmt::Display for PlayerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(player) => f.write_str(&player.typed),
            Self::External(choice) => choice.fmt(f),
        }
    }
}

impl PlayerChoice {
    /// The player's name, with `depth` added unless it has a depth, time or nodes of its own.
    pub fn name_at(&self, depth: u32) -> String {
        match self {
            Self::Own(player) if player.takes_depth() => {
                format!("{}{}depth={depth}", player.typed, if player.options { ',' } else { ':' })
            }
            _ => self.to_string(),
        }
    }

    /// Checks that some player takes the options of a command that are not the defaults.
    ///
    /// # Errors
    /// Every player has its own, or is another program.
    pub fn check_used(players: &[Self], typed: StrengthArguments) -> Result<(), CliError> {
        let strength = typed.strength();
        let check = |option: &str, given: bool, own: &str, takes: fn(&OwnPlayer) -> bool| {
            if !given || Self::any_own(players, takes) {
                return Ok(());
            }
            Err(CliError::Usage(format!("{option} is for flipside's own players without {own}, and there are none")))
        };
        check("--depth", strength.depth != DEFAULT_STRENGTH.depth, "a depth, time or nodes", OwnPlayer::takes_depth)?;
        check("--selectivity", typed.selectivity().is_some(), "a `selectivity=`", |player| {
            player.selectivity.is_none()
        })?;
        let is_given = strength.exact_empties != DEFAULT_STRENGTH.exact_empties;
        check("--exact-empties", is_given, "an `exact=`, time or nodes", OwnPlayer::takes_exact_empties)
    }

    /// Whether any of our own players takes an option of the command.
    pub fn any_own(players: &[Self], takes: fn(&OwnPlayer) -> bool) -> bool {
        players.iter().any(|player| matches!(player, Self::Own(player) if takes(player)))
    }

    /// The other programs among players.
    pub fn programs(players: &[Self]) -> Vec<&ExternalChoice> {
        players.iter().filter_map(Self::program).collect()
    }

    fn program(&self) -> Option<&ExternalChoice> {
        if let Self::External(choice) = self { Some(choice) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flipside::protocol::ProcessLimits;

    #[test]
    fn a_player_may_have_options_of_its_own() {
        let own = |text: &str| match text.parse() {
            Ok(PlayerChoice::Own(player)) => player,
            other => panic!("{other:?}"),
        };
        let player = own("squares:depth=9,selectivity=1.5");
        assert_eq!((player.depth, player.exact), (Some(9), None));
        assert_eq!(player.selectivity, Some(Some(1.5)));
        assert_eq!(player.evaluator, EvaluatorChoice::Squares);
        assert_eq!(PlayerChoice::Own(player).to_string(), "squares:depth=9,selectivity=1.5");
        assert_eq!(own("squares:selectivity=off").selectivity, Some(None));
        assert_eq!(own("a:b=c/w.fsw:exact=4").evaluator, EvaluatorChoice::File("a:b=c/w.fsw".into()));
        assert_eq!(own("C:w.fsw").evaluator, EvaluatorChoice::File("C:w.fsw".into()));
        let refused = |text: &str| text.parse::<PlayerChoice>().unwrap_err();
        assert!(refused("squares:depht=9").contains("`depht=9` is none of"));
        assert!(refused("squares:depth=9,exact").contains("`exact` is none of"));
        assert!(refused("squares:depth=2,exact=4,depth=3").contains("`depth` is given twice"));
        assert_eq!(own("squares:choice=best").choice, Some(Choice::Best));
        assert_eq!(own("squares:choice=varied").choice, Some(Choice::Varied { within: 1.0 }));
        assert_eq!(own("squares:within=2.5,choice=surprising").choice, Some(Choice::Surprising { within: 2.5 }));
        assert!(refused("squares:within=2").contains("needs `choice=varied`"));
        assert!(refused("squares:within=2,choice=best").contains("needs `choice=varied`"));
        assert!(refused("squares:depth=61").contains("1 to 60"));
        assert!(refused("squares:selectivity=-1").contains("off"));
        let name_at = |text: &str| text.parse::<PlayerChoice>().unwrap().name_at(7);
        assert_eq!(name_at("squares"), "squares:depth=7");
        assert_eq!(name_at("squares:exact=4"), "squares:exact=4,depth=7");
        assert_eq!(name_at("squares:depth=9"), "squares:depth=9");
        assert_eq!(name_at("squares:time=5ms"), "squares:time=5ms");
        assert_eq!(name_at("squares:nodes=5000"), "squares:nodes=5000");
        assert_eq!(own("squares:nodes=5000").nodes, Some(5000));
        assert!(refused("squares:nodes=0").contains("from 1 on"));
        assert!(refused("squares:nodes=9,exact=14").contains("`exact` needs a `depth`"));
        assert_eq!(own("squares:nodes=9,exact=14,depth=8").exact, Some(14));
        assert_eq!(own("squares:time=5ms").time, Some(Duration::from_millis(5)));
        assert_eq!(own("squares:time=1.5s").time, Some(Duration::from_millis(1500)));
        for wrong in ["5", "0ms", "-1s", "99999999999999999999s", "18446744073709551615s", "1.5", "nans"] {
            assert!(refused(&format!("squares:time={wrong}")).contains("expected a time"), "{wrong}");
        }
    }

    #[test]
    fn an_nboard_engine_may_have_a_depth_of_its_own() {
        let load = |text: &str| match text.parse() {
            Ok(PlayerChoice::External(choice)) => {
                let (spec, limits, _) = choice.load(ProcessLimits::default());
                (spec.to_string(), limits.depth)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(load("nboard:engine -x:depth=9"), ("nboard:engine -x".to_owned(), Some(9)));
        assert_eq!(load("nboard:engine --at:depth=all"), ("nboard:engine --at:depth=all".to_owned(), None));
        assert_eq!(load("gtp:engine"), ("gtp:engine".to_owned(), None));
        assert!("gtp:engine:depth=9".parse::<PlayerChoice>().unwrap_err().contains("GTP"));
        assert!("nboard:engine:depth=0".parse::<PlayerChoice>().unwrap_err().contains("1 to 60"));
    }
}
