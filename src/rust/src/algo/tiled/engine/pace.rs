//! When tiles are copied between the host's memory and the devices'.

/// The order and the delay of copies in a plan.
#[derive(Clone)]
pub(super) struct Pace {
    /// If a device's own columns are copied before all else, the tiles in that order.
    pub(super) first: Option<Vec<(usize, usize)>>,
    /// Whether the factor stays in the devices' memory.
    pub(super) stays: bool,
    /// Tasks between one and the copy of its tile to the host, so that the tile's slot in host
    /// memory is not occupied while the task still waits for the device.
    pub(super) lag: usize,
}

pub(super) const STEADY: Pace = Pace {
    first: None,
    stays: false,
    lag: 16,
};

impl Pace {
    /// If everything fits in the devices' memory all tiles are copied there first. Those of a
    /// matrix in host memory are copied back later: the host then has fewer tiles to read, and
    /// pages to write them to.
    pub(super) fn all_fits(in_memory: bool, tasks: usize, arrivals: Vec<(usize, usize)>) -> Pace {
        Pace {
            first: Some(arrivals),
            stays: false,
            lag: if in_memory { tasks / 2 } else { STEADY.lag },
        }
    }
}
