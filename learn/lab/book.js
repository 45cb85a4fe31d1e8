// ---- Puzzles and bugs, made of the kernels' sources; nothing here needs a page ----

const PUZZLES_FILE = "learn/src/puzzles.rs",
  BUGS_FILE = "learn/src/bugs.rs";
// A puzzle's block that runs on ends after this number of instructions, and one that stores nothing after the second.
const PUZZLE_INSTRUCTIONS = 2 ** 20,
  PUZZLE_WITHOUT_PROGRESS = 2 ** 18;
// A blank of this text is to be replaced.
const BLANK = "// write your code here";

// First and last index of a kernel's lines in its file, with its documentation.
function linesOfKernel(lines, name) {
  let first = lines.findIndex(line => line.startsWith(`pub fn ${name}(`)),
    last = first;
  while (first > 0 && /^(\/\/\/|#\[)/.test(lines[first - 1])) first--;
  while (lines[last] !== "}") last++;
  return [first, last];
}

// A kernel: its documentation, the text of its solution without marks, and the text with a blank.
function kernelOf(file, name) {
  const lines = file.split("\n");
  const [first, last] = linesOfKernel(lines, name);
  const doc = [],
    solution = [],
    blank = [];
  let inBlank = false;
  for (const line of lines.slice(first, last + 1)) {
    const text = line.trim(),
      indentation = line.slice(0, line.length - text.length);
    if (text.startsWith("///")) doc.push(text.slice(3).trim());
    else if (text.startsWith("// write: ")) {
      inBlank = true;
      blank.push(indentation + BLANK);
    } else if (text === "// end") inBlank = false;
    else {
      const shown = line.replace(/ *\/\/ wrong$/, "");
      solution.push(shown);
      if (!inBlank) blank.push(shown);
    }
  }
  return { doc: doc.join(" ").replaceAll("\\[", "[").replaceAll("\\]", "]"), solution: solution.join("\n"), blank: blank.join("\n") };
}

// The file without its kernels: what all of them are given.
function preludeOf(file) {
  const lines = file.split("\n"),
    names = [...file.matchAll(/#\[kernel\]\npub fn (\w+)\(/g)].map(match => match[1]);
  for (const name of names) {
    const [first, last] = linesOfKernel(lines, name);
    lines.splice(first, last + 1 - first);
  }
  return lines.filter(line => !line.startsWith("//!")).join("\n").replace(/\n{2,}/g, "\n\n").trim() + "\n";
}

// The items of the prelude that a text names, and those that these name.
function givenFor(prelude, text) {
  const items = prelude.split(/\n(?=\/\/\/)/).map(item => ({ item: item.trim(), name: /\b(?:const|fn) (\w+)/.exec(item)?.[1] }));
  const named = new Set();
  const add = text => {
    for (const { item, name } of items)
      if (name && !named.has(name) && new RegExp(`\\b${name}\\b`).test(text)) {
        named.add(name);
        add(item.replace(/^\/\/\/.*$/gm, ""));
      }
  };
  add(text);
  const shown = item => item.replace("#[inline(always)]\n", "").replace(/^pub(\(crate\))? /gm, "");
  return items.filter(({ name }) => named.has(name)).map(({ item }) => shown(item)).join("\n");
}

// All puzzles, and the bugs in an order that says nothing.
function bookOf(learn) {
  const file = learn.sources[PUZZLES_FILE],
    prelude = preludeOf(file);
  const puzzles = learn.puzzles.map(({ name, cases }, index) => {
    const kernel = kernelOf(file, name);
    return { ...kernel, ...TEXTS[name], ...learn.why[name], key: name, name, cases, number: index + 1, forms: learn.forms[name], isBug: false };
  });
  const bugs = learn.puzzles.flatMap(({ name, bugs }) =>
    bugs.map(({ name: bug, kind }) => {
      const puzzle = puzzles.find(puzzle => puzzle.name === name),
        kernel = kernelOf(learn.sources[BUGS_FILE], bug);
      const wrong = kernel.solution.replace(`pub fn ${bug}(`, `pub fn ${name}(`);
      return { ...puzzle, key: bug, kind, isBug: true, blank: wrong, wrong: kernel.doc };
    }),
  );
  // A fixed permutation: the numbers do not follow the puzzles.
  bugs.sort((a, b) => scrambled(a.key) - scrambled(b.key));
  bugs.forEach((bug, index) => (bug.number = index + 1));
  return { prelude, file, puzzles, bugs };
}

function scrambled(text) {
  let hash = 2166136261;
  for (const character of text) hash = Math.imul(hash ^ character.charCodeAt(0), 16777619) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 15), 2246822519);
  return Math.imul(hash ^ (hash >>> 13), 3266489917) >>> 0;
}

// The crate that the page compiles for a text: what is given, and the kernel alone.
const sourcesOf = (book, text) => ({ [PUZZLES_FILE]: `${book.prelude}\n${text}\n` });
// The line of the text's first line in it, from 1.
const firstLineOf = book => book.prelude.split("\n").length + 1;

// The launch of a kernel with a case.
function launchOf(name, { grid, block, arguments: all }) {
  return {
    ptx: "learn.ptx",
    kernel: name,
    grid,
    block,
    block_instructions: PUZZLE_INSTRUCTIONS,
    instructions_without_progress: PUZZLE_WITHOUT_PROGRESS,
    arguments: all,
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

// One star for a right kernel, one if it moves no more memory than the par, one if it executes at most a quarter more
// instructions.
function starsOf(counts, par) {
  const memory = counts => counts.global_sectors + counts.shared_wavefronts + counts.global.atomics;
  return 1 + (memory(counts) <= memory(par)) + (counts.warp_instructions <= 1.25 * par.warp_instructions);
}

// The file to hand in: blocks of puzzles with a text have it, the others say that they are not written.
function handIn(book, textOf) {
  const lines = book.file.split("\n");
  for (const { name } of book.puzzles) {
    const text = textOf(name);
    const [first, last] = linesOfKernel(lines, name);
    const own = lines.slice(first, last + 1),
      doc = own.filter(line => line.startsWith("///"));
    if (text !== undefined) lines.splice(first, last + 1 - first, ...doc, ...text.split("\n"));
    else {
      const from = own.findIndex(line => line.trim().startsWith("// write: ")),
        to = own.findIndex(line => line.trim() === "// end");
      own.splice(from, to + 1 - from, own[from].replace(/\/\/ write: (\w+)/, 'teaching_tests::not_written!("$1");'));
      lines.splice(first, last + 1 - first, ...own);
    }
  }
  return lines.join("\n");
}
