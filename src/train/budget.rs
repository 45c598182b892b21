//! When a run is finished.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::{counted, duration};

/// When a run is finished; the first limit reached counts.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Seconds of work. They include the last gate and checkpoint, estimated from those before; the first generation is always played
    /// to its end, and so are the games of a later one that each thread is playing (up to 256, or fewer if they are deep).
    pub seconds: Option<f64>,
    /// Generations.
    pub generations: Option<u32>,
    /// Games.
    pub games: Option<u64>,
}

impl fmt::Display for Budget {
    /// The limits, as in `2 min 0 s or 7 generations`; empty if there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = [
            self.seconds.map(duration),
            self.generations.map(|generations| counted(generations.into(), "generation")),
            self.games.map(|games| counted(games, "game")),
        ];
        f.write_str(&limits.into_iter().flatten().collect::<Vec<_>>().join(" or "))
    }
}

impl Budget {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What is left of each limit; `None` if one is reached.
    #[must_use]
    pub fn left_after(self, seconds: f64, generations: u32, games: u64) -> Option<Self> {
        let Self { seconds: time, generations: learned, games: played } = self;
        let is_reached = time.is_some_and(|limit| limit <= seconds)
            || learned.is_some_and(|limit| limit <= generations)
            || played.is_some_and(|limit| limit <= games);
        (!is_reached).then(|| Self {
            seconds: time.map(|limit| limit - seconds),
            generations: learned.map(|limit| limit - generations),
            games: played.map(|limit| limit - games),
        })
    }

    /// The share of the budget that is used, 0 to 1, and the seconds that are left at the pace so far, if known: how long the last fit
    /// and gate take after the last of a number of generations or games is not. `done` and `before` are generations and games, played so
    /// far and by the runs that this one continues. Of the current generation `played` games of `all` are there.
    pub fn used_after(
        self,
        seconds: f64,
        done: (u32, u64),
        before: (u32, u64),
        [played, all]: [u32; 2],
    ) -> (f64, Option<f64>) {
        let share = |done: f64, limit: f64| if limit > 0.0 { done / limit } else { 1.0 };
        let own = |count: u64, before: u64| count.saturating_sub(before) as f64;
        let generations = own(done.0.into(), before.0.into()) + f64::from(played) / f64::from(all.max(1));
        let games = own(done.1 + u64::from(played), before.1);
        let shares = [
            self.seconds.map(|limit| share(seconds, limit)),
            self.generations.map(|limit| share(generations, own(limit.into(), before.0.into()))),
            self.games.map(|limit| share(games, own(limit, before.1))),
        ];
        let used = shares.into_iter().flatten().fold(0.0, f64::max).min(1.0);
        let left = if seconds > 0.0 && used > 0.0 { Some(seconds * (1.0 / used - 1.0)) } else { self.seconds };
        let is_time_up = self.seconds.is_some_and(|limit| seconds >= limit);
        (used, left.filter(|_| used < 1.0 || is_time_up))
    }

    /// Each limit raised by what was used before.
    #[must_use]
    pub(super) fn after(self, seconds: f64, generations: u32, games: u64) -> Self {
        Self {
            seconds: self.seconds.map(|limit| limit + seconds),
            generations: self.generations.map(|limit| limit.saturating_add(generations)),
            games: self.games.map(|limit| limit.saturating_add(games)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_the_pace_and_the_nearest_limit() {
        let none = Budget::default();
        let limits = Budget { seconds: Some(120.0), generations: Some(7), games: None };
        assert_eq!((limits.to_string().as_str(), none.to_string().as_str()), ("2 min 0 s or 7 generations", ""));
        let after_an_hour = |budget: Budget| budget.used_after(3600.0, (4, 4000), (0, 0), [500, 1000]);
        assert_eq!(after_an_hour(none), (0.0, None));
        assert_eq!(after_an_hour(Budget { generations: Some(18), ..none }), (0.25, Some(10_800.0)));
        assert_eq!(after_an_hour(Budget { games: Some(18_000), ..none }), (0.25, Some(10_800.0)));
        let hours = Budget { seconds: Some(7200.0), ..none };
        assert_eq!(after_an_hour(Budget { generations: Some(18), ..hours }), (0.5, Some(3600.0)));
        // The last fit and gate are still to come.
        assert_eq!(after_an_hour(Budget { games: Some(4000), ..hours }), (1.0, None));
        assert_eq!(after_an_hour(Budget { seconds: Some(3600.0), ..none }), (1.0, Some(0.0)));
        assert_eq!(hours.used_after(0.0, (0, 0), (0, 0), [0, 1000]), (0.0, Some(7200.0)));
        // Without time there is no pace.
        assert_eq!(Budget { games: Some(2000), ..none }.used_after(0.0, (0, 0), (0, 0), [500, 1000]), (0.25, None));
        // Half of what is left after four generations of another run.
        let both = Budget { generations: Some(7), games: Some(7000), seconds: None };
        assert_eq!(both.used_after(60.0, (5, 5000), (4, 4000), [500, 1000]), (0.5, Some(60.0)));
        assert_eq!(both.used_after(0.0, (4, 4000), (4, 4000), [0, 1000]).0, 0.0);
    }
}
