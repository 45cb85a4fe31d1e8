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

// A kernel with what it is in words, and with its mistake's mending for those that have one.
const kernel = (name, file, launch, words, fix) => ({
  name,
  file: `learn/src/${file}.rs`,
  launch,
  words,
  fix,
  role: "right",
});
const wrong = (...[name, ...of]) => ({ ...kernel(name, "wrong", ...of), role: "wrong" });
const slip = (...[name, ...of]) => ({ ...kernel(name, "slips", ...of), role: "wrong" });
const slower = (...of) => ({ ...kernel(...of), role: "slower" });
// What one has to know, what the kernel is for, and the question whose answer finds its mistakes. Code is in backticks.
const texts = (know, task, question) => ({ know, task, question });
const lessonOf = (page, title, texts, data, size, unit, kernels) => ({ page, title, ...texts, data, size, unit, kernels });

const LESSONS = [
  lessonOf(
    "01-index",
    "One thread for each element",
    texts(
      [
        "A kernel runs in many threads at once. Threads come in blocks of equal size; all blocks together are the grid. `thread::index_1d()` is a thread's number in the grid, from 0 on.",
        "A grid has whole blocks: 1000 elements in blocks of 256 threads need 4 blocks, which are 1024 threads. The last 24 have no element. The test that keeps them from working is called the guard.",
      ],
      "Double every element of x: thread i of the grid has element i, and threads without an element do nothing.",
      "Take the last thread of the last block: which element does it take, is there one, and does another thread take the same?",
    ),
    doubles,
    1000,
    "elements",
    [
      wrong(
        "double_without_guard",
        elements,
        "without a guard",
        "Put the last line into a guard: `if i < x.len() { … }`.",
      ),
      slip(
        "double_with_inclusive_guard",
        elements,
        "the guard lets one element too many through",
        "Write `i < x.len()`: the last element has the index x.len() − 1.",
      ),
      slip(
        "double_by_every_block",
        elements,
        "the thread's number in its block",
        "Take the thread's number in the grid, `thread::index_1d()`: `thread::thread_idx_x()`, its number in the block, begins at 0 in every block.",
      ),
      slower("double_by_one_thread", "step01_index", () => line(1, 1), "one thread for all elements"),
      kernel("double", "step01_index", elements, "right"),
    ],
  ),
  lessonOf(
    "02-grid-stride",
    "A grid-stride loop",
    texts(
      [
        "A grid need not have a thread for each element: a thread can take several. In a grid-stride loop its next element is always n further, where n, the stride, is the number of threads in the grid.",
        "`thread::block_dim_x()` is the number of threads in a block, `thread::grid_dim_x()` the number of blocks: their product is the number of threads in the grid.",
      ],
      "Compute y = a·x + y with a grid of any size: thread t computes the elements t, t + n, t + 2n, … where n is the number of threads in the grid.",
      "Write down the first three elements of thread 0 of block 0 and of thread 0 of block 1: does one occur twice, and is there an element at the end of each loop?",
    ),
    computesSaxpy,
    1000,
    "elements",
    [
      wrong(
        "saxpy_by_blocks",
        eightBlocks,
        "the stride is one block's threads",
        "The stride is the number of all threads of the grid: `thread::grid_dim_x() * thread::block_dim_x()`.",
      ),
      slip(
        "saxpy_from_the_first_element",
        eightBlocks,
        "every block begins at the first element",
        "Begin at the thread's number in the grid, `thread::index_1d()`, not at its number in the block.",
      ),
      slip(
        "saxpy_past_the_end",
        eightBlocks,
        "the loop ends one element too late",
        "End the loop before the length: `while i < y.len()`.",
      ),
      slower("saxpy_an_element_each", "step02_grid_stride", elements, "a thread for each element"),
      kernel("saxpy", "step02_grid_stride", eightBlocks, "right"),
    ],
  ),
  lessonOf(
    "03-rows-and-columns",
    "Rows and columns, coalesced",
    texts(
      [
        "A matrix is stored row by row: element (row, column) has the index row · columns + column.",
        "32 neighbouring threads are a warp, whose threads do each step together. Memory is read in sectors of 32 bytes: if the threads of a warp read neighbouring elements, few sectors are enough. Such accesses are called coalesced.",
      ],
      "Add the row b to each row of the matrix x, so that neighbouring threads have neighbouring columns.",
      "What are the row and the column of thread t, which of the two is the index in b, and does every thread have an element?",
    ),
    addsARow,
    40,
    "rows",
    [
      wrong(
        "add_row_swapped",
        cells,
        "rows and columns swapped",
        "The row is `t / columns` and the column `t % columns`: here they are swapped.",
      ),
      slip(
        "add_row_without_guard",
        cells,
        "without a guard",
        "Put the work into a guard: `if t < rows * columns { … }`.",
      ),
      slip(
        "add_row_by_rows",
        cells,
        "the element of b that the row has",
        "b has an element for each column: add `b[column as usize]`.",
      ),
      slower("add_row_down_columns", "step03_rows_and_columns", cells, "neighbouring threads down a column"),
      kernel("add_row", "step03_rows_and_columns", cells, "right"),
    ],
  ),
  lessonOf(
    "04-atomics",
    "Atomic operations",
    texts(
      [
        "Two threads that add 1 to the same count may both read the old value, and then one of the two is lost: accesses without an order between them are a race. An atomic operation reads, adds and writes with no other thread in between.",
        "Shared memory is a small, fast memory of each block. At a barrier, `thread::sync_threads()`, every thread of the block waits until all of them have arrived: what was written before it can be read after it.",
      ],
      "Count how often each value below 256 occurs, so that no count is lost.",
      "Which other threads change the same count, and what makes sure that they do so before or after this thread, and not in between?",
    ),
    countsValues,
    1000,
    "values",
    [
      wrong(
        "histogram_without_atomics",
        elements,
        "a read and a write in place of an atomic operation",
        "Write `counts.atomic(bin).fetch_add(1);` in place of the read and the write.",
      ),
      slip(
        "histogram_without_first_barrier",
        sixteenths,
        "no barrier after the zeros",
        "Add `thread::sync_threads();` after `own.set(t, 0);`: a thread may count before another one has set a zero.",
      ),
      slip(
        "histogram_without_second_barrier",
        sixteenths,
        "no barrier before the counts are added",
        "Add `thread::sync_threads();` before the last line: other threads may still be counting.",
      ),
      slower("histogram_in_global_memory", "step04_atomics", elements, "every count in global memory"),
      kernel("histogram", "step04_atomics", sixteenths, "right"),
    ],
  ),
  lessonOf(
    "05-shared-memory",
    "Shared memory and a barrier",
    texts(
      [
        "Global memory, where x is, is large and slow; the shared memory of a block is small and fast. Here nine threads need each element: the block copies its elements to shared memory once (the tile), each thread a part.",
        "After a barrier, `thread::sync_threads()`, each thread may read what the others have copied. All threads of a block must reach a barrier: the others wait for them.",
      ],
      "Average nine neighbours of each element: a block copies what it needs to shared memory once, then reads it there.",
      "Which thread has written the element of the tile that this thread reads, and what makes sure that it has done so before?",
    ),
    averages,
    1000,
    "elements",
    [
      wrong(
        "average_without_barrier",
        elements,
        "without the barrier",
        "Add `thread::sync_threads();` between the loop that fills the tile and the first read of it.",
      ),
      slip(
        "average_with_barrier_in_guard",
        elements,
        "the barrier is behind the guard",
        "Move `thread::sync_threads();` in front of the guard, so that threads without an element reach it, too.",
      ),
      slip(
        "average_without_zeros",
        elements,
        "elements beyond the end, in place of zeros",
        "Fill the tile by `element(x, first + k)`, which is 0 beyond both ends of x.",
      ),
      slower("average_from_global_memory", "step05_shared_memory", elements, "nine reads of global memory"),
      kernel("average", "step05_shared_memory", elements, "right"),
    ],
  ),
  lessonOf(
    "06-tree",
    "A reduction by a tree",
    texts(
      [
        "256 values are added in 8 steps if half of the threads add one value each in the first step, a quarter of them in the second, and so on: a tree. The sum is where the first value was.",
        "In each step threads read what others have written in the step before: a barrier is needed between two steps, and all threads of the block must reach it, also those that add nothing.",
      ],
      "Add the 256 elements of each block: in each step, the first half of the values becomes the sums of both halves.",
      "In each step, which threads reach the barrier, and which elements does a thread read that another one writes?",
    ),
    sumsBlocks,
    1000,
    "elements",
    [
      wrong(
        "sum_with_barrier_in_branch",
        elements,
        "the barrier is in a branch",
        "Move `thread::sync_threads();` after the branch `if t < half { … }`, so that all threads reach it.",
      ),
      slip(
        "sum_without_barriers",
        elements,
        "no barrier in the loop",
        "Add `thread::sync_threads();` in the loop, after the branch.",
      ),
      slip(
        "sum_beyond_the_array",
        elements,
        "the loop begins with all threads",
        "Begin with `half = THREADS / 2`: the array has no element t + THREADS.",
      ),
      slower("sum_interleaved", "step06_tree", elements, "every warp keeps some threads at work"),
      kernel("sum_by_halves", "step06_tree", elements, "right"),
    ],
  ),
  lessonOf(
    "07-shuffles",
    "Warp shuffles",
    texts(
      [
        "The 32 threads of a warp are its lanes. By `warp::shuffle_down(value, delta)` each lane gets the value of the lane that is delta further, without any memory. All lanes of the warp must take part.",
        "A block of 256 threads has 8 warps. Each adds its 32 values by shuffles; the first warp then adds the 8 sums, which it reads from shared memory.",
      ],
      "Add the 256 elements of each block in registers, where each thread has its own values: lanes pass theirs by shuffles.",
      "Which lanes take part in each shuffle, how many warps have written a sum, and what makes sure that a sum is there when it is read?",
    ),
    sumsBlocks,
    1000,
    "elements",
    [
      wrong(
        "sum_with_lanes_missing",
        elements,
        "lanes beyond the end do not shuffle",
        "Let all lanes shuffle: lanes beyond the end have the value 0, and the loop is outside of the branch.",
      ),
      slip(
        "sum_of_too_many_warps",
        elements,
        "32 lanes read the sums of 8 warps",
        "There are 8 sums: read `if t < 8 { sums.get(t) } else { 0.0 }`.",
      ),
      slip(
        "sum_without_waiting_for_warps",
        elements,
        "no barrier before the warps' sums are added",
        "Add `thread::sync_threads();` before the first warp reads the sums.",
      ),
      slower("sum_by_halves", "step06_tree", elements, "by shared memory, as in lesson 6"),
      kernel("sum_by_shuffles", "step07_shuffles", elements, "right"),
    ],
  ),
  lessonOf(
    "08-transposition",
    "Transposition without bank conflicts",
    texts(
      [
        "To transpose a matrix is to swap its rows and columns. A block reads a tile of 32 × 32 elements by rows and writes it by rows, since both are coalesced; between them the tile is turned in shared memory.",
        "Shared memory has 32 banks, and each gives one element at a time: a warp that reads 32 elements of one bank waits 32 times, which are bank conflicts. With 33 elements in each row of the tile, a column's elements are in 32 different banks.",
      ],
      "Transpose a matrix through tiles in shared memory whose columns are in 32 different banks.",
      "After the barrier, which row and which column does this thread write, does the tile have that element by then, and is it inside of the matrix?",
    ),
    transposes,
    100,
    "rows",
    [
      wrong(
        "transpose_tiles_in_place",
        bigTiles,
        "the tile's row and column are swapped",
        "The tile keeps its place in x: `(first_row + tx, first_column + ty)` are the row and the column.",
      ),
      slip(
        "transpose_without_barrier",
        bigTiles,
        "without its barrier",
        "Add `thread::sync_threads();` between filling the tile and reading it.",
      ),
      slip(
        "transpose_without_second_guard",
        bigTiles,
        "a guard for reading alone",
        "Guard the write, too: `if row < rows && column < columns { … }`. Row and column are others than in the first guard.",
      ),
      slower("transpose_with_conflicts", "step08_transposition", bigTiles, "a column is in one bank"),
      kernel("transpose", "step08_transposition", bigTiles, "right"),
    ],
  ),
  lessonOf(
    "09-tiles",
    "A product by tiles",
    texts(
      [
        "Element (i, j) of X·Xᵀ is the sum of the products of row i and row j, element by element. The 16 × 16 threads of a block need the same 32 rows.",
        "The block copies 16 columns of these rows to two tiles in shared memory, multiplies, and then fills the tiles with the next 16 columns.",
      ],
      "Multiply a matrix by its transpose, so that each block reads every element of its rows once.",
      "The loop fills the tiles again and again: what must have happened before an element of a tile is read, and what before it is written again?",
    ),
    multiplies,
    40,
    "rows",
    [
      wrong(
        "product_with_one_barrier",
        product,
        "the second of the two barriers is missing",
        "Add `thread::sync_threads();` at the end of the outer loop: other threads may still read the tile that the next round fills.",
      ),
      slip(
        "product_before_the_tile_is_there",
        product,
        "the first of the two barriers is missing",
        "Add `thread::sync_threads();` after both tiles are filled.",
      ),
      slip(
        "product_without_guard",
        product,
        "without the last guard",
        "Guard the write: `if first_i + ty < rows && first_j + tx < rows { … }`.",
      ),
      slower("product_from_global_memory", "step09_tiles", product, "every product reads global memory"),
      kernel("product_by_tiles", "step09_tiles", product, "right"),
    ],
  ),
  lessonOf(
    "10-double-buffer",
    "Double-buffered tiles",
    texts(
      [
        "With one buffer for tiles the threads wait twice in each round: until the tile is full, and until all have read it. With two buffers they fill one while they read the other: one barrier in each round is enough.",
        "`fetch(k, 0)` fills the first buffer with the columns from k on, `fetch(k, TILE)` the second; `multiply` takes the same numbers.",
      ],
      "Multiply by tiles with two buffers used in turn, so that one barrier for each tile is enough.",
      "Between two barriers, which buffer is filled and which one is read, and is one of them ever both?",
    ),
    multiplies,
    40,
    "rows",
    [
      wrong(
        "product_into_the_same_buffer",
        product,
        "the next tile goes into the buffer that is being read",
        "Swap the buffers of the two calls of `fetch` in the loop: the first is to fill the second buffer, `TILE`.",
      ),
      slip(
        "product_without_waiting_for_the_first_tile",
        product,
        "no barrier after the first tile",
        "Add `thread::sync_threads();` after `fetch(0, 0);`.",
      ),
      slip(
        "product_with_half_the_barriers",
        product,
        "no barrier between the two tiles",
        "Add `thread::sync_threads();` after `sum += multiply(0);`.",
      ),
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

// The elements of a buffer in an answer, as numbers; big integers for those of 64 bits.
function elementsOf({ bytes: text, type }) {
  const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0)),
    view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / BYTES[type] }, (_, i) => valueAt(view, i * BYTES[type], type));
}

// For each element of a result: 0 where it is as expected, 1 where it differs, 2 where it has never been written.
function compare(buffer, { expected, tolerance }) {
  const found = elementsOf(buffer);
  // Not `difference > tolerance`: a NaN must not agree.
  const states = found.map((value, i) => (Math.abs(value - expected[i]) <= tolerance ? 0 : 1));
  for (const [from, to] of buffer.unwritten) states.fill(2, from, to);
  return { found, states };
}
