//! Passes over large matrices in bands, with a check for interrupts between bands.

use crate::base::error::Result;
use crate::base::interrupt;

/// Entries that are read or written between two checks for interrupts.
const BAND: usize = 1 << 24;

/// Calls `f` with the first of some lines, of so many entries each, and their number, which is a
/// multiple of `step` but for the last: of the number of threads, where each takes whole lines.
pub(crate) fn in_bands(
    lines: usize,
    entries: usize,
    step: usize,
    mut f: impl FnMut(usize, usize),
) -> Result<()> {
    let band = (BAND / entries.max(1)).max(1).next_multiple_of(step);
    for first in (0..lines).step_by(band) {
        f(first, band.min(lines - first));
        interrupt::poll()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_have_every_line_once() {
        for (lines, entries, step, count) in [
            (0, 10, 1, 0),
            (1, 0, 32, 1),
            (100, 10, 1, 1),
            (100, BAND / 3, 1, 34),
            (100, 2 * BAND, 32, 4),
            (BAND + 1, 1, 512, 2),
        ] {
            let mut bands = Vec::new();
            in_bands(lines, entries, step, |first, count| {
                bands.push((first, count))
            })
            .unwrap();
            assert_eq!(bands.len(), count, "{lines} {entries}");
            let mut next = 0;
            for (first, count) in bands {
                assert_eq!(first, next);
                assert!(first % step == 0 && count > 0);
                next += count;
            }
            assert_eq!(next, lines);
        }
    }
}
