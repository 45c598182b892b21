//! The one interface through which the searches see a game, and what it makes of Othello.

use crate::board::{Position, Square, squares};
use crate::eval::{Evaluator, Score};
use crate::search::node::{Node, promise};

/// A game tree for two players who move in turn.
///
/// All values are those for the player to move at the node, within [`Score::MIN`] and [`Score::MAX`]. A textbook's
/// drawing of a tree is one as well as Othello is ([`OthelloTree`]).
pub trait Tree {
    /// A position.
    type Node;

    /// The value where the search looks no further ahead.
    fn estimate(&self, node: &Self::Node) -> Score;

    /// The value of a node without successors: here the game is over.
    fn result(&self, node: &Self::Node) -> Score;

    /// The nodes one move further, in the tree's own order.
    fn successors(&self, node: &Self::Node) -> Vec<Successor<Self::Node>>;

    /// A number for the table: the same for nodes with the same subtree (transpositions), else most likely different,
    /// and well mixed in all its bits.
    fn hash(&self, node: &Self::Node) -> u64;

    /// How promising a successor looks to the player who may move there, at less cost than [`Tree::estimate`]; only
    /// used to order moves. The default counts the other player's replies, the fewer the better.
    fn promise(&self, successor: &Successor<Self::Node>) -> i32 {
        -(self.successors(&successor.node).len() as i32)
    }
}

/// A node one move on.
#[derive(Clone, Debug)]
pub struct Successor<N> {
    /// The move: a number below 255 that tells it from the other moves of the same node.
    pub name: u8,
    /// Where it leads.
    pub node: N,
    /// How many plies of the depth it uses up: 1, or 0 for a forced pass.
    pub plies: u32,
}

/// Othello as a tree, with an evaluator for its estimates. A forced pass is a node with one successor and uses up no
/// depth, as in [`Searcher`](crate::search::Searcher).
#[derive(Clone, Debug)]
pub struct OthelloTree<'e, E> {
    evaluator: &'e E,
}

/// The name of a pass; moves are named by their square's index.
const PASS: u8 = 64;

impl<'e, E: Evaluator> OthelloTree<'e, E> {
    /// The tree as `evaluator` sees it.
    pub fn new(evaluator: &'e E) -> Self {
        Self { evaluator }
    }

    /// What makes its estimates.
    pub fn evaluator(&self) -> &'e E {
        self.evaluator
    }

    /// A position as a node of the tree.
    pub fn node(&self, position: &Position) -> Node<E::State> {
        Node::new(self.evaluator, position)
    }

    /// The square of a move's name; none for a pass.
    pub fn square(name: u8) -> Option<Square> {
        (name < PASS).then(|| Square::new(name))
    }
}

impl<E: Evaluator> Tree for OthelloTree<'_, E> {
    type Node = Node<E::State>;

    fn estimate(&self, node: &Self::Node) -> Score {
        node.leaf(self.evaluator)
    }

    fn result(&self, node: &Self::Node) -> Score {
        node.result()
    }

    fn successors(&self, node: &Self::Node) -> Vec<Successor<Self::Node>> {
        if node.moves == 0 && node.position.opponent_moves() != 0 {
            return vec![Successor { name: PASS, node: node.pass(self.evaluator), plies: 0 }];
        }
        let play = |to: Square| {
            let flips = node.position.flips(to);
            let replies = node.position.play_unchecked(to, flips).moves();
            Successor { name: to.index() as u8, node: node.play(self.evaluator, to, flips, replies), plies: 1 }
        };
        squares(node.moves).map(play).collect()
    }

    fn hash(&self, node: &Self::Node) -> u64 {
        node.position.hash64()
    }

    fn promise(&self, successor: &Successor<Self::Node>) -> i32 {
        Self::square(successor.name).map_or(0, |to| promise(to, successor.node.moves))
    }
}
