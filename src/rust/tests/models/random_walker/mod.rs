//! Segmentation by random walks: against dense solves of the model as it is written down, and what
//! must hold of any answer.

mod choice;
mod factor;
mod images;
mod model;
mod multigrid;
mod seeds;
