// The ten lessons: their kernels, and for a size the launch, the inputs and the expected result, as learn/src/host has
// them. The tests compare both.

// Values in −1…1 without a pattern: sums of them differ if one element is missing.
function values(count) {
  return Array.from({ length: count }, (_, i) => (Math.imul(i, 2654435761) >>> 8) / (1 << 23) - 1);
}
// Rows and columns of the matrix of a size.
const shapeOf = size => [size, Math.floor(size / 2) + 3];
const blocksFor = (count, threads) => Math.max(1, Math.ceil(count / threads));
const line = (count, threads) => ({ grid: [blocksFor(count, threads), 1, 1], block: [threads, 1, 1] });
const tiles = ([rows, columns], side) => ({
  grid: [blocksFor(columns, side), blocksFor(rows, side), 1],
  block: [side, side, 1],
});
const eightBlocks = () => line(8 * 256, 256);
const sixteenths = size => line(Math.ceil(size / 16), 256);
const elements = size => line(size, 256);
const cells = size => line(shapeOf(size)[0] * shapeOf(size)[1], 256);
const bigTiles = size => tiles(shapeOf(size), 32);
const product = size => tiles([size, size], 16);
const buffer = (name, type, shape, contents) => ({ name, type, shape, values: contents });
const value = (name, type, number) => ({ name, type, value: number });
const sum = list => list.reduce((total, term) => total + term, 0);
const dimensions = ([rows, columns]) => [value("rows", "u32", rows), value("columns", "u32", columns)];

function doubles(size) {
  const x = values(size);
  return { arguments: [buffer("x", "f32", [size], x)], out: "x", expected: x.map(x => 2 * x), tolerance: 0 };
}
function computesSaxpy(size) {
  const all = values(2 * size),
    x = all.slice(0, size),
    y = all.slice(size);
  return {
    arguments: [value("a", "f32", 0.5), buffer("x", "f32", [size], x), buffer("y", "f32", [size], y)],
    out: "y",
    expected: x.map((x, i) => 0.5 * x + y[i]),
    tolerance: 1e-6,
  };
}
function addsARow(size) {
  const shape = shapeOf(size),
    [rows, columns] = shape,
    x = values(rows * columns),
    b = values(columns);
  return {
    arguments: [buffer("x", "f32", shape, x), buffer("b", "f32", [columns], b), ...dimensions(shape)],
    out: "x",
    expected: x.map((x, i) => x + b[i % columns]),
    tolerance: 1e-6,
  };
}
function countsValues(size) {
  const numbers = values(size).map(value => Math.trunc(Math.fround(Math.fround(value * value) * 256)) % 256);
  const expected = Array(256).fill(0);
  for (const number of numbers) expected[number]++;
  return {
    arguments: [buffer("values", "u32", [size], numbers), buffer("counts", "u32", [256], "zeros")],
    out: "counts",
    expected,
    tolerance: 0,
  };
}
function averages(size) {
  const x = values(size);
  return {
    arguments: [buffer("x", "f32", [size], x), buffer("out", "f32", [size], "unwritten")],
    out: "out",
    expected: x.map((_, i) => sum(x.slice(Math.max(0, i - 4), i + 5)) / 9),
    tolerance: 1e-6,
  };
}
function sumsBlocks(size) {
  const x = values(size),
    sums = blocksFor(size, 256);
  return {
    arguments: [buffer("x", "f32", [size], x), buffer("out", "f32", [sums], "unwritten")],
    out: "out",
    expected: Array.from({ length: sums }, (_, b) => sum(x.slice(256 * b, 256 * b + 256))),
    tolerance: 1e-4,
  };
}
function transposes(size) {
  const shape = shapeOf(size),
    [rows, columns] = shape,
    x = values(rows * columns);
  return {
    arguments: [buffer("x", "f32", shape, x), buffer("out", "f32", [columns, rows], "unwritten"), ...dimensions(shape)],
    out: "out",
    expected: x.map((_, k) => x[(k % rows) * columns + Math.floor(k / rows)]),
    tolerance: 0,
  };
}
function multiplies(size) {
  const shape = shapeOf(size),
    [rows, columns] = shape,
    x = values(rows * columns);
  const expected = [];
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < rows; j++) {
      let total = 0;
      for (let k = 0; k < columns; k++) total += x[i * columns + k] * x[j * columns + k];
      expected.push(total);
    }
  // Each sum of n products of values up to 1 is rounded n times, to within n · 2⁻²⁴.
  const tolerance = columns * columns * 2 ** -23;
  return {
    arguments: [buffer("x", "f32", shape, x), buffer("out", "f32", [rows, rows], "unwritten"), ...dimensions(shape)],
    out: "out",
    expected,
    tolerance,
  };
}

const kernel = (name, file, launch, words) => ({ name, file: `learn/src/${file}.rs`, launch, words, role: "right" });
const wrong = (...[name, ...of]) => ({ ...kernel(name, "wrong", ...of), role: "wrong" });
const slip = (...[name, ...of]) => ({ ...kernel(name, "slips", ...of), role: "wrong" });
const slower = (...of) => ({ ...kernel(...of), role: "slower" });
const lessonOf = (page, title, task, data, size, unit, kernels) => ({ page, title, task, data, size, unit, kernels });

const LESSONS = [
  lessonOf(
    "01-index",
    "One thread for each element",
    "Double every element of x: thread i of the grid has element i, and threads without an element do nothing.",
    doubles,
    1000,
    "elements",
    [
      wrong("double_without_guard", elements, "without a guard"),
      slip("double_with_inclusive_guard", elements, "the guard lets one element too many through"),
      slip("double_by_every_block", elements, "the thread's number in its block"),
      slower("double_by_one_thread", "step01_index", () => line(1, 1), "one thread for all elements"),
      kernel("double", "step01_index", elements, "right"),
    ],
  ),
  lessonOf(
    "02-grid-stride",
    "A grid-stride loop",
    "Compute y = a·x + y with a grid of any size: each thread takes every n-th element, n being the threads of the grid.",
    computesSaxpy,
    1000,
    "elements",
    [
      wrong("saxpy_by_blocks", eightBlocks, "the stride is one block's threads"),
      slip("saxpy_from_the_first_element", eightBlocks, "every block begins at the first element"),
      slip("saxpy_past_the_end", eightBlocks, "the loop ends one element too late"),
      slower("saxpy_an_element_each", "step02_grid_stride", elements, "a thread for each element"),
      kernel("saxpy", "step02_grid_stride", eightBlocks, "right"),
    ],
  ),
  lessonOf(
    "03-rows-and-columns",
    "Rows and columns, coalesced",
    "Add the row b to each row of the matrix x, so that neighbouring threads have neighbouring columns.",
    addsARow,
    40,
    "rows",
    [
      wrong("add_row_swapped", cells, "rows and columns swapped"),
      slip("add_row_without_guard", cells, "without a guard"),
      slip("add_row_by_rows", cells, "the element of b that the row has"),
      slower("add_row_down_columns", "step03_rows_and_columns", cells, "neighbouring threads down a column"),
      kernel("add_row", "step03_rows_and_columns", cells, "right"),
    ],
  ),
  lessonOf(
    "04-atomics",
    "Atomic operations",
    "Count how often each value below 256 occurs, so that no two threads' counts are lost.",
    countsValues,
    1000,
    "values",
    [
      wrong("histogram_without_atomics", elements, "a read and a write in place of an atomic operation"),
      slip("histogram_without_first_barrier", sixteenths, "no barrier after the zeros"),
      slip("histogram_without_second_barrier", sixteenths, "no barrier before the counts are added"),
      slower("histogram_in_global_memory", "step04_atomics", elements, "every count in global memory"),
      kernel("histogram", "step04_atomics", sixteenths, "right"),
    ],
  ),
  lessonOf(
    "05-shared-memory",
    "Shared memory and a barrier",
    "Average nine neighbours of each element: a block copies what it needs to shared memory once, then reads it there.",
    averages,
    1000,
    "elements",
    [
      wrong("average_without_barrier", elements, "without the barrier"),
      slip("average_with_barrier_in_guard", elements, "the barrier is behind the guard"),
      slip("average_without_zeros", elements, "elements beyond the end, in place of zeros"),
      slower("average_from_global_memory", "step05_shared_memory", elements, "nine reads of global memory"),
      kernel("average", "step05_shared_memory", elements, "right"),
    ],
  ),
  lessonOf(
    "06-tree",
    "A reduction by a tree",
    "Add the 256 elements of each block: half of its threads add the upper half to the lower one, then a quarter does, …",
    sumsBlocks,
    1000,
    "elements",
    [
      wrong("sum_with_barrier_in_branch", elements, "the barrier is in a branch"),
      slip("sum_without_barriers", elements, "no barrier in the loop"),
      slip("sum_beyond_the_array", elements, "the loop begins with all threads"),
      slower("sum_interleaved", "step06_tree", elements, "every warp keeps some threads at work"),
      kernel("sum_by_halves", "step06_tree", elements, "right"),
    ],
  ),
  lessonOf(
    "07-shuffles",
    "Warp shuffles",
    "Add the 256 elements of each block in registers: the lanes of a warp pass their values by shuffles.",
    sumsBlocks,
    1000,
    "elements",
    [
      wrong("sum_with_lanes_missing", elements, "lanes beyond the end do not shuffle"),
      slip("sum_of_too_many_warps", elements, "32 lanes read the sums of 8 warps"),
      slip("sum_without_waiting_for_warps", elements, "no barrier before the warps' sums are added"),
      slower("sum_by_halves", "step06_tree", elements, "by shared memory, as in lesson 6"),
      kernel("sum_by_shuffles", "step07_shuffles", elements, "right"),
    ],
  ),
  lessonOf(
    "08-transposition",
    "Transposition without bank conflicts",
    "Transpose a matrix through tiles in shared memory whose columns are in 32 different banks.",
    transposes,
    100,
    "rows",
    [
      wrong("transpose_tiles_in_place", bigTiles, "the tile's row and column are swapped"),
      slip("transpose_without_barrier", bigTiles, "without its barrier"),
      slip("transpose_without_second_guard", bigTiles, "a guard for reading alone"),
      slower("transpose_with_conflicts", "step08_transposition", bigTiles, "a column is in one bank"),
      kernel("transpose", "step08_transposition", bigTiles, "right"),
    ],
  ),
  lessonOf(
    "09-tiles",
    "A product by tiles",
    "Multiply a matrix by its transpose, so that each block reads every element of its rows once.",
    multiplies,
    40,
    "rows",
    [
      wrong("product_with_one_barrier", product, "the second of the two barriers is missing"),
      slip("product_before_the_tile_is_there", product, "the first of the two barriers is missing"),
      slip("product_without_guard", product, "without the last guard"),
      slower("product_from_global_memory", "step09_tiles", product, "every product reads global memory"),
      kernel("product_by_tiles", "step09_tiles", product, "right"),
    ],
  ),
  lessonOf(
    "10-double-buffer",
    "Double-buffered tiles",
    "Multiply by tiles with two buffers used in turn, so that one barrier for each tile is enough.",
    multiplies,
    40,
    "rows",
    [
      wrong("product_into_the_same_buffer", product, "the next tile goes into the buffer that is being read"),
      slip("product_without_waiting_for_the_first_tile", product, "no barrier after the first tile"),
      slip("product_with_half_the_barriers", product, "no barrier between the two tiles"),
      slower("product_by_tiles", "step09_tiles", product, "one buffer, as in lesson 9"),
      kernel("product_double_buffered", "step10_double_buffer", product, "right"),
    ],
  ),
];

// A block that runs on ends after this number of instructions, and one that stores nothing after the second.
const BLOCK_INSTRUCTIONS = 2 ** 27;
const WITHOUT_PROGRESS = 2 ** 25;

// The launch file of a kernel of a lesson; `shape` has grid and block if they are not the lesson's.
function launchOf(lesson, kernel, size, shape = kernel.launch(size)) {
  return {
    ptx: "learn.sm_75.ptx",
    kernel: kernel.name,
    ...shape,
    block_instructions: BLOCK_INSTRUCTIONS,
    instructions_without_progress: WITHOUT_PROGRESS,
    arguments: lesson.data(size).arguments,
  };
}

const BYTES = { u8: 1, u32: 4, i32: 4, f32: 4, u64: 8, i64: 8, f64: 8 };

// The elements of a buffer in an answer, as numbers; big integers for those of 64 bits.
function elementsOf(buffer) {
  const bytes = Uint8Array.from(atob(buffer.bytes), character => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const read = {
    u8: i => view.getUint8(i),
    u32: i => view.getUint32(4 * i, true),
    i32: i => view.getInt32(4 * i, true),
    f32: i => view.getFloat32(4 * i, true),
    u64: i => view.getBigUint64(8 * i, true),
    i64: i => view.getBigInt64(8 * i, true),
    f64: i => view.getFloat64(8 * i, true),
  }[buffer.type];
  return Array.from({ length: bytes.length / BYTES[buffer.type] }, (_, i) => read(i));
}

// For each element of a result: 0 where it is as expected, 1 where it differs, 2 where it has never been written.
function compare(buffer, { expected, tolerance }) {
  const found = elementsOf(buffer);
  // Not `difference > tolerance`: a NaN must not agree.
  const states = found.map((value, i) => (Math.abs(value - expected[i]) <= tolerance ? 0 : 1));
  for (const [from, to] of buffer.unwritten) states.fill(2, from, to);
  return { found, states };
}
