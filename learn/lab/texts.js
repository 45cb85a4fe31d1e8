// Titles, what to know, and hints of the puzzles. Text in backticks is code.

const TEXTS = {
  map: {
    title: "Map",
    know: "A kernel is a function that many threads run at once. `thread::index_1d()` is the number of this thread in the grid: each thread runs the same code with another `i`.",
    hints: ["Each thread writes one element. Which one?", "Read with `x[i]`, write with `out.set(i, value)`."],
  },
  double: {
    title: "Guard",
    know: "A grid has whole blocks. Ten elements need three blocks of 4 threads: 12 threads, two of them without an element.",
    hints: [
      "What is the index of the last thread, and does `x` have that element?",
      "Take `let i = thread::index_1d() as usize;` and put the work into `if i < x.len() { … }`.",
    ],
  },
  zip: {
    title: "Zip",
    know: "Slices such as `a` are read-only. `GlobalMut` is memory that all threads may write: `out.set(i, value)` writes, `out.get(i)` reads.",
    hints: ["Three blocks run 12 threads for ten elements.", "Guard the access, then add `a[i]` and `b[i]`."],
  },
  saxpy: {
    title: "Grid-stride loop",
    know: "A fixed grid can work on data of any size: each thread starts at its own number and moves on by the number of threads in the grid.",
    hints: [
      "There are 8 threads. Which elements does thread 0 have?",
      "Start at `thread::index_1d()`; while the index is below `y.len()`, update the element and add `threads`.",
    ],
  },
  broadcast: {
    title: "Broadcast",
    know: "Blocks can have two dimensions. x counts columns and y counts rows: `row` and `column` say which element of the matrix this thread has.",
    hints: [
      "Some threads are below the last row, others are right of the last column.",
      "Guard both numbers; the index is `row * b.len() + column`.",
    ],
  },
  add_row: {
    title: "Rows and columns",
    know: "A matrix is stored row by row. Global memory is read in sectors of 32 bytes, so neighboring threads should have neighboring elements: such accesses are coalesced.",
    hints: [
      "Thread t has the element with index t. Which column is that?",
      "The column is `t % columns`. Guard with `t < rows * columns`.",
    ],
  },
  pool: {
    title: "Pooling",
    know: "Max pooling keeps the larger of two neighbors. `a.max(b)` is the larger of two integers.",
    hints: ["If `x` has 9 elements, what does the last thread compare?", "Read `x[2 * i + 1]` only if it exists."],
  },
  histogram: {
    title: "Histogram",
    know: "If two threads add 1 to the same count, both may read the old value. `counts.atomic(v).fetch_add(1)` reads, adds and writes without another thread in between. Each block has its own shared memory; at `thread::sync_threads()` its threads wait for each other.",
    hints: [
      "Thread t sets `own` to 0 at t. Who adds to it, and when may they start?",
      "Two barriers: one after the zeros, one before the counts are added to `counts`.",
    ],
  },
  neighbors: {
    title: "Shared memory",
    know: "Three threads need each element of `x`. The block copies what it needs to shared memory once, its tile, and reads it there. Four threads fill six elements.",
    hints: [
      "Who wrote the element of the tile that this thread reads?",
      "Every thread fills `tile[t]`, the first two also fill `tile[THREADS + t]`. Then a barrier, and only then the guard.",
    ],
  },
  dot: {
    title: "Dot product",
    know: "Each block adds its own products. Threads exchange values through shared memory, with a barrier between writing and reading.",
    hints: [
      "What must have happened before thread 0 adds the four products?",
      "Set `products`, call `thread::sync_threads()`, then let `t == 0` write the sum.",
    ],
  },
  convolve: {
    title: "1-D convolution",
    know: "Each output needs three neighboring inputs. As with the shared tile before, four threads fill six elements, now all on the right.",
    hints: [
      "The last thread of a block needs two elements of the next block.",
      "`element(x, i)` is 0 beyond the end. Threads below `WEIGHTS - 1` fill a second element, `THREADS` further.",
    ],
  },
  tree: {
    title: "Tree reduction",
    know: "Eight values are added in three steps: four threads add a value each, then two, then one. In every step, threads read what others wrote in the step before.",
    hints: [
      "Which threads must reach the barrier: those that add, or all of them?",
      "Put the barrier outside of `if t < half { … }`, and one before the loop.",
    ],
  },
  prefix_sum: {
    title: "Prefix sum",
    know: "After the step with distance d, each thread has the sum of its last 2d elements. In one step all threads read a neighbor's sum and then write their own.",
    hints: [
      "A thread must not write its sum while another one still reads it.",
      "Read into a variable, wait, write, and wait again before the next step.",
    ],
  },
  row_sums: {
    title: "Sum along an axis",
    know: "Each row has a block. Its four threads share the columns by a stride of 4: neighboring threads read neighboring elements.",
    hints: [
      "Thread 1 has the columns 1, 5, 9. Where does its sum go?",
      "Loop over the columns, write `sum` to `sums`, and wait at a barrier.",
    ],
  },
  shuffle_sum: {
    title: "Warp shuffles",
    know: "The 32 threads of a warp are its lanes. `warp::shuffle_down(value, delta)` gives each lane the value of the lane `delta` further, without memory. All lanes must take part.",
    hints: [
      "What should a lane without an element add?",
      "Start with `let mut value = element(x, i);`, then add what the shuffle returns for delta 16, 8, 4, 2 and 1.",
    ],
  },
  transpose: {
    title: "Transposition",
    know: "Reading by rows is coalesced, and so is writing by rows, but a transposition reads rows and writes columns. A tile in shared memory turns the data.",
    hints: [
      "After the barrier, which element of the tile does this thread write?",
      "Swap `tx` and `ty` for the second part: the row of x is `first_row + tx`. Guard both accesses.",
    ],
  },
  product: {
    title: "Matrix product",
    know: "Each thread has one element of the result: the sum of the products of a row of `a` and a column of `b`.",
    hints: [
      "Where is element (k, column) of `b`?",
      "`a[row * inner + k] * b[k * columns + column]`; cast each index by `as usize`.",
    ],
  },
  product_by_tiles: {
    title: "Product by tiles",
    know: "Threads of a block need the same rows. For two columns at a time, the block copies them to shared memory, multiplies, and goes on to the next two.",
    hints: [
      "The tiles are filled again and again. What must be over before?",
      "Fill `left` and `right`, wait, add two products, and wait again.",
    ],
  },
  product_double_buffered: {
    title: "Double buffering",
    know: "With two tiles, the threads fill one while they multiply the other: one barrier for each tile is enough.",
    hints: [
      "Between two barriers, is any tile both filled and multiplied?",
      "Before the loop, `fetch(0, own)`. In the loop: wait, fetch the next columns to `CELLS - own`, multiply `own`, swap.",
    ],
  },
  softmax: {
    title: "Softmax",
    know: "Softmax turns a row of values into probabilities. The largest value is subtracted first: otherwise `exp` of a large value is infinite.",
    hints: [
      "Every thread needs the whole row. Who has copied it?",
      "Wait at a barrier. Then find the largest value in one loop, and the sum of `exp(value - largest)` in a second one.",
    ],
  },
};

// What the second star counts, in words.
const COUNTED = [
  ["sectors of global memory", counts => counts.global_sectors],
  ["wavefronts of shared memory", counts => counts.shared_wavefronts],
  ["atomic operations on global memory", counts => counts.global.atomics],
  ["barriers, for each warp", counts => counts.barriers],
  ["instructions of warps", counts => counts.warp_instructions],
  ["divergent branches", counts => counts.divergent_branches],
  ["bank conflicts", counts => counts.bank_conflicts],
];
const MEANINGS = [
  "Pieces of 32 bytes of global memory that are read or written.",
  "Passes in which shared memory serves the accesses of a warp: one if no two threads need the same bank.",
  "They are done one after the other if threads change the same element.",
  "Each warp that waits at a barrier counts once.",
  "Instructions that warps execute: one for all threads of a warp.",
  "Branches at which threads of one warp go two ways. A GPU executes both, one after the other.",
  "Passes beyond the minimum.",
];

// What can go wrong, for the guess, by the class of an error.
const CLASSES = {
  "out of bounds": "A thread accesses an element that does not exist.",
  race: "Two threads access one element, and nothing orders them.",
  "uninitialized read": "A thread reads an element that no thread has written.",
  "barrier divergence": "Some threads never reach a barrier.",
  "missing lanes": "Some lanes never reach a warp operation.",
  "wrong result": "No error, but a wrong result.",
};
