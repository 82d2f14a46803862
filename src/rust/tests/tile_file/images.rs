//! What is on the disk between two calls. If the machine stopped there, the file would be that.

use std::fs;

use cudafactor::tiles::{Access, Shape, TileFile};

use super::{fill, steps, written, Place, Random, TILE};

#[test]
fn the_disk_holds_a_whole_file_after_every_write() {
    let place = Place::new("live");
    let image = Place::new("image");
    let file = written(&place, 3 * TILE, Shape::Triangle);
    let tiles = file.layout().tiles();
    let mut buffer = file.buffer().unwrap();
    let mut random = Random(11);
    let mut committed = steps(&file);
    for step in 100..300 {
        let tile = random.below(tiles);
        fill(&mut buffer, tile, step);
        file.write(tile, &buffer, step).unwrap();
        if random.below(9) == 0 {
            file.commit().unwrap();
            committed = steps(&file);
        }
        fs::copy(&place, &image).unwrap();
        let copy = TileFile::<f64>::open(&image, Access::Read).unwrap();
        let found = steps(&copy);
        // Newer than the last commit that was asked for, where the file has had to commit by
        // itself.
        let newer = |(found, committed): (&Option<u32>, &Option<u32>)| found >= committed;
        assert!(found.iter().zip(&committed).all(newer));
    }
}
