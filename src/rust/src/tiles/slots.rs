//! Which places for a tile may be written.

/// For each slot, how many name it: the table in memory, tables on the disk, and whoever is reading
/// or writing it. A slot that nobody names is free.
pub(super) struct Slots {
    uses: Vec<u32>,
    free: Vec<u32>,
}

impl Slots {
    /// Those that tables name, as often as they do, are not free. The first free one is given away
    /// first, so that a new file is written from front to back.
    pub fn new(slots: u32, used: impl Iterator<Item = u32>) -> Self {
        let mut uses = vec![0; slots as usize];
        for slot in used {
            uses[slot as usize] += 1;
        }
        let free = (0..slots)
            .rev()
            .filter(|slot| uses[*slot as usize] == 0)
            .collect();
        Slots { uses, free }
    }

    /// A free slot, which is named by the caller from now on.
    pub fn take(&mut self) -> Option<u32> {
        let slot = self.free.pop()?;
        self.uses[slot as usize] = 1;
        Some(slot)
    }

    /// Somebody else names this slot, which is not free.
    pub fn keep(&mut self, slot: u32) {
        self.uses[slot as usize] += 1;
    }

    /// Somebody no longer does.
    pub fn release(&mut self, slot: u32) {
        let uses = &mut self.uses[slot as usize];
        *uses -= 1;
        if *uses == 0 {
            self.free.push(slot);
        }
    }
}
