fn main(){ let t=std::time::Instant::now(); let n=flipside::board::perft(flipside::board::Position::START, 11); println!("{n} {:?}", t.elapsed()); }
