//! The interface through which the searches see a game, and Othello behind it.

use flipside::board::{C_SQUARES, CORNERS, Position, Square, X_SQUARES, squares};
use flipside::eval::{Evaluator, Score};

/// A game tree for two players who move in turn.
///
/// All values are for the player to move at the node, within [`Score::MIN`] and [`Score::MAX`]. A tree drawn in a textbook
/// can be one as well as Othello ([`OthelloTree`]).
pub trait Tree {
    /// A position.
    type Node;

    /// The value at the horizon, where the search looks no further ahead.
    fn evaluate(&self, node: &Self::Node) -> Score;

    /// The value of a node without successors, where the game is over.
    fn result(&self, node: &Self::Node) -> Score;

    /// The nodes one move further, in the tree's own order.
    fn successors(&self, node: &Self::Node) -> Vec<Successor<Self::Node>>;

    /// A hash for the table: the same for nodes with the same subtree (transpositions), else most likely different, with
    /// all bits well mixed.
    fn hash(&self, node: &Self::Node) -> u64;

    /// A cheap guess at how good a move is, the higher the better, only used to order moves. The default counts the other
    /// player's replies, the fewer the better.
    fn move_score(&self, successor: &Successor<Self::Node>) -> i32 {
        -(self.successors(&successor.node).len() as i32)
    }
}

/// A node one move further.
#[derive(Clone, Debug)]
pub struct Successor<N> {
    /// The move: a number below 255, different from those of the node's other moves.
    pub name: u8,
    /// Where it leads.
    pub node: N,
    /// How many plies of the depth it uses up: 1, or 0 for a forced pass.
    pub plies: u32,
}

/// Othello as a tree, with an evaluator for its horizon. A forced pass is a node with one successor and uses up no depth, as in
/// [`Searcher`](flipside::search::Searcher).
#[derive(Clone, Debug)]
pub struct OthelloTree<'e, E> {
    evaluator: &'e E,
}

/// A position with its moves and the evaluator's state of it.
#[derive(Clone, Debug)]
pub struct OthelloNode<S> {
    position: Position,
    moves: u64,
    state: S,
}

/// The name of a pass; moves are named by their square's index.
const PASS: u8 = 64;

impl<'e, E: Evaluator> OthelloTree<'e, E> {
    /// The tree as `evaluator` sees it.
    pub fn new(evaluator: &'e E) -> Self {
        Self { evaluator }
    }

    /// A position as a node of the tree.
    pub fn node(&self, position: &Position) -> OthelloNode<E::State> {
        OthelloNode { position: *position, moves: position.moves(), state: self.evaluator.state(position) }
    }

    /// The square of a move's name; `None` for a pass.
    pub fn square(name: u8) -> Option<Square> {
        (name < PASS).then(|| Square::new(name))
    }

    fn play(&self, node: &OthelloNode<E::State>, to: Square) -> OthelloNode<E::State> {
        let flips = node.position.flips(to);
        let position = node.position.play_unchecked(to, flips);
        OthelloNode { position, moves: position.moves(), state: self.evaluator.play(&node.state, to, flips) }
    }

    fn pass(&self, node: &OthelloNode<E::State>) -> OthelloNode<E::State> {
        let position = node.position.pass();
        OthelloNode { position, moves: position.moves(), state: self.evaluator.pass(&node.state) }
    }
}

impl<E: Evaluator> Tree for OthelloTree<'_, E> {
    type Node = OthelloNode<E::State>;

    /// If the player has no move, the value after the pass, negated, or the result if neither side can move.
    fn evaluate(&self, node: &Self::Node) -> Score {
        if node.moves != 0 {
            return self.evaluator.evaluate(&node.position, &node.state);
        }
        let passed = self.pass(node);
        if passed.moves == 0 { self.result(node) } else { -self.evaluator.evaluate(&passed.position, &passed.state) }
    }

    fn result(&self, node: &Self::Node) -> Score {
        Score::from_discs(node.position.final_score())
    }

    fn successors(&self, node: &Self::Node) -> Vec<Successor<Self::Node>> {
        if node.moves == 0 && node.position.opponent_moves() != 0 {
            return vec![Successor { name: PASS, node: self.pass(node), plies: 0 }];
        }
        let successor = |to: Square| Successor { name: to.index() as u8, node: self.play(node, to), plies: 1 };
        squares(node.moves).map(successor).collect()
    }

    fn hash(&self, node: &Self::Node) -> u64 {
        node.position.hash64()
    }

    /// Minus two points for each reply; a corner is worth eight replies, a square next to one costs two.
    fn move_score(&self, successor: &Successor<Self::Node>) -> i32 {
        let Some(to) = Self::square(successor.name) else { return 0 };
        let on = |set: u64| i32::from(to.bit() & set != 0);
        16 * on(CORNERS) - 4 * on(C_SQUARES | X_SQUARES) - 2 * successor.node.moves.count_ones() as i32
    }
}
