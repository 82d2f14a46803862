//! Segmentation by random walks: against dense solves of the model from its definition, and what
//! must hold of any answer.

mod choice;
mod factor;
mod images;
mod model;
mod multigrid;
mod seeds;
