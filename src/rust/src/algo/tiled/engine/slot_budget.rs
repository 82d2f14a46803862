//! How many tiles fit in memory, and how many are copied.

/// Tiles that fit in memory, at least [`LEAST_SLOTS`](crate::tiles::plan::LEAST_SLOTS) each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotBudget {
    /// Strips of tiles.
    pub host: usize,
    /// In the memory of each device; none where tiles are computed with in the host's.
    pub devices: Vec<usize>,
    /// Whether each of them reaches the others' memory.
    pub peers: bool,
}

/// Numbers of tiles that are copied.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    pub loaded: usize,
    pub stored: usize,
    pub sent: usize,
    pub fetched: usize,
    /// From one device to another.
    pub passed: usize,
}
