//! The CPU, through faer.
