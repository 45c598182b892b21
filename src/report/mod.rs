//! How runs went: what their directories tell, whether they are at work or not.

pub mod text;
