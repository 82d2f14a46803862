//! Work on entries, rows and columns: functions, sums, copies of parts, covariances of points.

#[path = "../common/mod.rs"]
mod common;

mod columns;
mod covariance;
mod elementwise;
mod fold;
mod movement;
