//! One game with everything a record may say of it.

/// What a player said of a move.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MoveNote {
    /// The player's evaluation of the position, in discs for the player.
    pub evaluation: Option<f32>,
    /// Thinking time.
    pub seconds: Option<f32>,
}
