// ---- Progress: the kernels of each lesson that were run, in this browser alone ----

const STORED = "gpu-kernels-without-a-gpu";
let progress = {};
try {
  const stored = JSON.parse(localStorage.getItem(STORED));
  if (stored && typeof stored === "object") progress = stored;
} catch {
  // Without storage, or with another content, nothing is remembered.
}

const isDone = (lesson, kernel) => Array.isArray(progress[lesson.page]) && progress[lesson.page].includes(kernel.name);

function remember(lesson, kernel) {
  if (isDone(lesson, kernel)) return;
  progress[lesson.page] = [...(Array.isArray(progress[lesson.page]) ? progress[lesson.page] : []), kernel.name];
  try {
    localStorage.setItem(STORED, JSON.stringify(progress));
  } catch {
    // As above.
  }
  showLessons();
  showKernels();
}

// ---- A lesson ----

// The PTX, the names and the sources of the lessons' kernels.
let learn;
let lesson = LESSONS[0],
  chosen = lesson.kernels[0];
// The last check's fault, in whose order a recording runs.
let lastOrder = "ascending";

// Replaces the content of an element, and keeps the focus at the same place in it.
function refill(into, children) {
  const places = () => [...into.querySelectorAll("button, input")];
  const at = places().indexOf(document.activeElement);
  into.replaceChildren(...children);
  places()[at]?.focus();
}

function showLessons() {
  refill(
    element("lessons"),
    LESSONS.map((of, index) => {
      const item = make("li"),
        button = make("button", "lesson");
      const done = of.kernels.filter(kernel => isDone(of, kernel)).length;
      const count = done === of.kernels.length ? "✓" : done ? `${done}/${of.kernels.length}` : "";
      button.append(make("span", "number", index + 1), make("span", "title", of.title), make("span", "done", count));
      button.setAttribute("aria-label", `${index + 1}. ${of.title}, ${done} of ${of.kernels.length} kernels run`);
      button.title = of.title;
      if (of === lesson && !element("lesson").hidden) button.setAttribute("aria-current", "page");
      button.addEventListener("click", () => {
        open(of);
        element("title").focus();
      });
      item.append(button);
      return item;
    }),
  );
  if (element("own").hidden) element("own-tab").removeAttribute("aria-current");
  else element("own-tab").setAttribute("aria-current", "page");
}

// Text whose parts in backticks are code.
function rich(name, text) {
  const made = make(name);
  text.split("`").forEach((part, index) => made.append(index % 2 ? make("code", "", part) : part));
  return made;
}

// The kernels by letters: the name and the words of one that was run say what is wrong with it.
function showKernels() {
  refill(
    element("kernels"),
    lesson.kernels.map((kernel, index) => {
      const label = make("label", "kernel"),
        input = make("input");
      input.type = "radio";
      input.name = "kernel";
      input.value = kernel.name;
      input.checked = kernel === chosen;
      input.addEventListener("change", () => choose(kernel));
      const text = make("span", "", `Kernel ${"ABCDEFGH"[index]}`);
      label.append(input, text);
      if (edits.has(kernel.name)) label.append(make("span", "tag edited", "edited"));
      if (isDone(lesson, kernel)) {
        const name = make("code");
        // A long name may break after an underscore.
        for (const part of kernel.name.split(/(?<=_)/)) name.append(part, make("wbr"));
        text.append(" ", name, make("span", "words", kernel.role === "right" ? "" : kernel.words));
        label.append(make("span", `tag ${kernel.role}`, kernel.role));
        const mark = make("span", "found", "✓");
        mark.title = "run";
        label.append(mark);
      }
      return label;
    }),
  );
}

function open(of, kernel = of.kernels[0]) {
  element("own").hidden = true;
  element("lesson").hidden = false;
  lesson = of;
  element("title").textContent = `${LESSONS.indexOf(of) + 1}. ${of.title}`;
  element("know").replaceChildren(...of.know.map(text => rich("p", text)));
  element("task").replaceWith(Object.assign(rich("p", of.task), { id: "task" }));
  element("unit").textContent = of.unit;
  element("size").value = of.size;
  element("size").max = of.unit === "rows" ? 300 : 100000;
  element("orders").value = 2;
  element("seed").value = 0;
  choose(kernel);
  showLessons();
}

function choose(kernel) {
  chosen = kernel;
  isEditing = false;
  setShape();
  showKernels();
  showHints(0);
  forgetOutcome();
  showSource([]);
}

// ---- Hints by degree: a question, where to look, the fix ----

function hintsFor(kernel) {
  const lines = learn.sources[kernel.file].split("\n"),
    { first, last } = originalOf(kernel);
  const at = lines.findIndex((line, index) => index >= first && index <= last && /\/\/ wrong$/.test(line));
  if (kernel.role === "wrong")
    return [lesson.question, `Look at line ${at + 1}: \`${shownLine(lines[at]).trim()}\`.`, kernel.fix];
  const slow = `It has no mistake, but it is slower: ${kernel.words}. Compare its counts with the others'.`;
  return [
    lesson.question,
    "Nothing to look for: no line of this kernel is wrong.",
    kernel.role === "slower" ? slow : "Nothing to mend: this is the right one.",
  ];
}

function showHints(count) {
  const hints = hintsFor(chosen),
    list = element("hint-list"),
    button = element("hint");
  while (list.children.length > count) list.lastChild.remove();
  for (let index = list.children.length; index < count; index++) list.append(rich("li", hints[index]));
  const next = ["a question", "where to look", "the fix"][count];
  button.disabled = next === undefined;
  button.textContent = next ? `Hint: ${next}` : "No more hints";
}

// The launch of the lesson for the size.
function setShape() {
  const { grid, block } = chosen.launch(element("size").valueAsNumber || 0);
  [element("grid-x").value, element("grid-y").value] = grid;
  [element("block-x").value, element("block-y").value] = block;
}

function shape() {
  const at = id => element(id).valueAsNumber;
  return { grid: [at("grid-x"), at("grid-y"), 1], block: [at("block-x"), at("block-y"), 1] };
}

function forgetOutcome() {
  element("verdict").textContent = "Not run yet.";
  element("verdict").className = "";
  element("faults").replaceChildren();
  for (const id of ["result", "counts", "meanings"]) element(id).hidden = true;
  element("player").hidden = true;
  element("player-frame").replaceChildren();
  lastOrder = "ascending";
}

// ---- Edited sources ----

// The changed texts of kernels, by their names: each is in place of the kernel's function in its file.
const edits = new Map();
let isEditing = false,
  shownMarks = [];
// Marks for the students' workspace.
const WORKSPACE_MARK = /^ *\/\/ (write: \w+|end)$/;

// A line without the remark that says that it is wrong, which is the answer.
const shownLine = line => line.replace(/ *\/\/ wrong$/, "");

// First and last index of a kernel's lines in its file as the page has it, and the lines without what gives the answer
// away.
function originalOf(kernel) {
  const lines = learn.sources[kernel.file].split("\n");
  const [first, last] = functionAround(lines, lines.findIndex(line => line.startsWith(`pub fn ${kernel.name}(`)));
  const shown = lines.slice(first, last + 1).filter(line => !WORKSPACE_MARK.test(line));
  return { first, last, text: shown.map(shownLine).join("\n") };
}

// The sources with a kernel's edit, if it has one.
function sourcesOf(kernel) {
  const edit = edits.get(kernel.name);
  if (edit === undefined) return learn.sources;
  const { first, last } = originalOf(kernel);
  const lines = learn.sources[kernel.file].split("\n");
  lines.splice(first, last + 1 - first, ...edit.split("\n"));
  return { ...learn.sources, [kernel.file]: lines.join("\n") };
}

// What a request has of a kernel: rustc's PTX, or the edited sources, which the module compiles.
function programOf(kernel) {
  return edits.has(kernel.name) ? { files: sourcesOf(kernel) } : { ptx: learn.ptx, names: learn.names };
}

function setEdit(text) {
  if (text === originalOf(chosen).text) edits.delete(chosen.name);
  else edits.set(chosen.name, text);
  element("restore").hidden = !edits.has(chosen.name);
  showKernels();
}

// The editor with the numbers of its lines, and the marks of a run.
function showEditor(marks) {
  const { first, text } = originalOf(chosen);
  const field = element("editor-text");
  const current = edits.get(chosen.name) ?? text;
  if (field.value !== current) field.value = current;
  const lines = current.split("\n");
  field.rows = lines.length + 1;
  const own = marks.filter(mark => mark.file === chosen.file);
  element("editor-numbers").replaceChildren(
    ...lines.map((_, index) => {
      const kinds = own.filter(mark => mark.line === first + index + 1).map(mark => mark.kind);
      return make("div", kinds.includes("fault") ? "fault" : (kinds[0] ?? ""), first + index + 1);
    }),
  );
  showSentences(
    element("editor-marks"),
    marks.map(mark => `${mark.file === chosen.file ? "line" : `${mark.file}, line`} ${mark.line}: ${mark.text}`),
  );
}

function connectEditor() {
  element("edit").addEventListener("click", () => {
    isEditing = !isEditing;
    showSource(shownMarks);
    if (isEditing) element("editor-text").focus();
  });
  element("restore").addEventListener("click", () => {
    setEdit(originalOf(chosen).text);
    forgetOutcome();
    showSource([]);
    element("edit").focus();
  });
  element("editor-text").addEventListener("input", event => {
    setEdit(event.target.value);
    showSource([]);
  });
  element("editor-text").addEventListener("keydown", event => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    element("choice").requestSubmit();
  });
}

// ---- Source lines ----

// First and last index of the function around a line of a file, with its documentation.
function functionAround(lines, index) {
  let first = index,
    last = index;
  while (first > 0 && !/^(pub(\(crate\))? )?fn /.test(lines[first])) first--;
  while (first > 0 && /^(\/\/\/|#\[)/.test(lines[first - 1])) first--;
  while (last < lines.length - 1 && lines[last] !== "}") last++;
  return [first, last];
}

// The place of a fault that is in a file of the page: the innermost call there.
function shownPlace(place) {
  for (let source = place.source; source; source = source.inlined_at)
    if (Object.hasOwn(learn.sources, source.file)) return { file: source.file, line: source.line };
  return null;
}

// What is marked: the lines of the faults and of the other threads.
function marksOf(faults) {
  const marks = [];
  const add = (place, kind, text) => {
    if (place && !marks.some(mark => mark.file === place.file && mark.line === place.line && mark.kind === kind))
      marks.push({ ...place, kind, text });
  };
  for (const fault of faults) {
    add(shownPlace(fault.place), "fault", `Here: ${fault.message}`);
    if (fault.other) add(shownPlace(fault.other.place), "other", "The other thread is here.");
  }
  return marks;
}

function showSource(marks) {
  shownMarks = marks;
  element("edit").textContent = isEditing ? "Close the editor" : "Edit";
  element("edit").setAttribute("aria-expanded", isEditing);
  element("restore").hidden = !edits.has(chosen.name);
  element("editor").hidden = !isEditing;
  element("source").hidden = isEditing;
  if (isEditing) return showEditor(marks);
  const sources = sourcesOf(chosen);
  const parts = [];
  const add = (file, index) => {
    const lines = sources[file].split("\n");
    const [first, last] = functionAround(lines, index);
    if (!parts.some(part => part.file === file && part.first === first)) parts.push({ file, first, last, lines });
  };
  const { first, last } = originalOf(chosen);
  const edit = edits.get(chosen.name);
  const end = edit === undefined ? last : first + edit.split("\n").length - 1;
  parts.push({ file: chosen.file, first, last: end, lines: sources[chosen.file].split("\n") });
  for (const mark of marks) {
    const isOwn = mark.file === chosen.file && mark.line > first && mark.line <= end + 1;
    if (!isOwn) add(mark.file, mark.line - 1);
  }
  const into = make("div");
  const right = lesson.kernels.find(kernel => kernel.role === "right").name;
  for (const part of parts) {
    into.append(make("div", "file", part.file));
    // The name of a kernel that was not run yet, and the remark above it, say what is wrong with it.
    const isHidden = part === parts[0] && edit === undefined && !isDone(lesson, chosen);
    for (let index = part.first; index <= part.last; index++) {
      if (WORKSPACE_MARK.test(part.lines[index]) || (isHidden && part.lines[index].startsWith("///"))) continue;
      const text = isHidden ? part.lines[index].replace(`fn ${chosen.name}(`, `fn ${right}(`) : part.lines[index];
      const here = marks.filter(mark => mark.file === part.file && mark.line === index + 1);
      const kind = here.some(mark => mark.kind === "fault") ? " fault" : here.length ? " other" : "";
      const line = make("div", `line${kind}`);
      const code = make("span");
      paint(code, shownLine(text), true);
      line.append(make("span", "", index + 1), code);
      into.append(line);
      for (const mark of here) into.append(make("div", `mark ${mark.kind}`, mark.text));
    }
  }
  element("source").replaceChildren(into);
  into.querySelector(".line.fault")?.scrollIntoView({ block: "nearest" });
}

// ---- The outcome of a run ----

function showNumber(value) {
  return typeof value === "bigint" || Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}

function showSentences(list, sentences) {
  list.replaceChildren(...sentences.map(sentence => make("li", "", sentence)));
}

// A picture of the result: a square for each element, or of neighbouring ones if there are many.
function drawPicture(states, columns) {
  const canvas = element("picture"),
    style = getComputedStyle(document.documentElement);
  const colours = ["--right", "--fault", "--cell"].map(name => style.getPropertyValue(name));
  const across = columns ?? Math.max(1, Math.min(64, states.length)),
    rows = Math.max(1, Math.ceil(states.length / across));
  const cell = Math.max(1, Math.min(8, Math.floor(512 / Math.max(across, rows))));
  canvas.width = across * cell;
  canvas.height = rows * cell;
  canvas.style.width = `${canvas.width / 16}rem`;
  const context = canvas.getContext("2d"),
    gap = cell > 3 ? 1 : 0;
  states.forEach((state, i) => {
    context.fillStyle = colours[state];
    context.fillRect((i % across) * cell, Math.floor(i / across) * cell, cell - gap, cell - gap);
  });
  const count = state => states.filter(found => found === state).length;
  const [right, wrong, unwritten] = [0, 1, 2].map(state => number(count(state)));
  const kinds = `${right} as expected (green), ${wrong} wrong (red), ${unwritten} never written (grey)`;
  const words = `${plural(states.length, "element")} of the result: ${kinds}`;
  canvas.setAttribute("aria-label", words);
  return words;
}

function showResult(answer, problem) {
  const buffer = answer.buffers.find(buffer => buffer.name === problem.out);
  const { found, states } = compare(buffer, problem);
  const first = states.findIndex(state => state !== 0);
  const words = drawPicture(states, buffer.shape.length === 2 ? buffer.shape[1] : undefined);
  element("result-caption").textContent = words;
  const from = Math.max(0, Math.min(first < 0 ? 0 : first - 2, states.length - 8));
  element("elements").replaceChildren(
    ...found.slice(from, from + 8).map((value, at) => {
      const i = from + at,
        row = make("tr", states[i] ? "differs" : "");
      const text = states[i] === 2 ? "never written" : showNumber(value);
      const cells = [`${problem.out}[${i}]`, text, showNumber(problem.expected[i])];
      row.append(...cells.map(cell => make("td", "", cell)));
      return row;
    }),
  );
  element("result").hidden = false;
  if (first < 0) return null;
  const value = states[first] === 2 ? "has never been written" : `is ${showNumber(found[first])}`;
  return `${problem.out}[${first}] ${value}, expected ${showNumber(problem.expected[first])}`;
}

const COUNTED = [
  ["lanes at work, of 32", counts => counts.thread_instructions / counts.warp_instructions, true],
  ["instructions of warps", counts => counts.warp_instructions],
  ["divergent branches", counts => counts.divergent_branches],
  ["barriers, for each warp", counts => counts.barriers],
  ["sectors of global memory", counts => counts.global_sectors],
  ["atomic operations on global memory", counts => counts.global.atomics],
  ["wavefronts of shared memory", counts => counts.shared_wavefronts],
  ["bank conflicts", counts => counts.bank_conflicts],
];
// What each of them is.
const MEANINGS = [
  "Threads of a warp that take part in an instruction, on average. The others wait.",
  "Instructions that warps execute: one for all threads of a warp.",
  "Branches at which threads of one warp go two ways, which are executed one after the other.",
  "Each warp that waits at a barrier counts once.",
  "Pieces of 32 bytes that are read from global memory, or written.",
  "Each is done for one thread after the other.",
  "Rounds in which shared memory serves a warp's access: one, if no two threads need one bank.",
  "Rounds more than that.",
];

function countRows(columns) {
  const shown = COUNTED.filter(([, of], index) => index < 3 || columns.some(counts => of(counts) > 0));
  return shown.map(([name, of, isRatio]) => {
    const row = make("tr");
    row.append(make("td", "", name));
    const values = columns.map(of);
    values.forEach((value, column) => {
      const better = isRatio ? value > values[1 - column] : value < values[1 - column];
      const text = isRatio ? value.toFixed(1) : number(value);
      const differs = column === 0 && columns.length > 1 && values[0] !== values[1];
      row.append(make("td", differs ? (better ? "better" : "worse") : "", text));
    });
    return row;
  });
}

function checkOf(kernel, size, form, orders, seed) {
  const launch = launchOf(lesson, kernel, size, form);
  return { task: "check", ...programOf(kernel), launch, orders, seed };
}

async function run() {
  const [of, kernel, size] = [lesson, chosen, element("size").valueAsNumber];
  const edit = edits.get(kernel.name);
  const isStill = () => of === lesson && kernel === chosen && edit === edits.get(kernel.name);
  const verdict = element("verdict");
  forgetOutcome();
  verdict.textContent = "Running…";
  setFragment(true);
  const problem = of.data(size);
  try {
    const answer = await answerTo(
      checkOf(kernel, size, shape(), element("orders").valueAsNumber, element("seed").valueAsNumber),
    );
    if (!isStill()) return;
    const faults = answer.check.faults;
    showSentences(element("faults"), answer.sentences);
    const difference = showResult(answer, problem);
    lastOrder = faults[0]?.order ?? "ascending";
    const isWrong = faults.length > 0 || difference !== null;
    verdict.className = isWrong ? "wrong-result" : "right-result";
    verdict.textContent = faults.length
      ? `Wrong: ${plural(faults.length, "fault")}, marked in the source.`
      : difference !== null
        ? `Wrong without a fault: ${difference}.`
        : `Right: no fault in ${plural(answer.check.orders, "order")}, and the result is as expected.`;
    if (isWrong === (kernel.role === "wrong")) remember(of, kernel);
    showSource(marksOf(faults));
    if (faults.length === 0) await showCounts(of, kernel, size, answer.check.counts, isStill);
  } catch (error) {
    if (!isStill()) return;
    verdict.className = "wrong-result";
    verdict.textContent = `Not run: ${error.message}`;
    if (error.place) showSource([{ ...error.place, kind: "fault" }]);
  }
}

// The counts beside those of the right kernel, or of the right kernel beside those of the slower one, or of an edited
// kernel beside those of the original, compiled alike.
async function showCounts(of, kernel, size, counts, isStill) {
  const role = kernel.role === "right" ? "slower" : "right";
  const other = of.kernels.find(other => other.role === role);
  const isEdited = edits.has(kernel.name);
  element("counted").replaceChildren(...countRows([counts]));
  element("counts").hidden = element("meanings").hidden = false;
  const launch = launchOf(lesson, isEdited ? kernel : other, size, isEdited ? shape() : other.launch(size));
  const program = isEdited ? { files: learn.sources } : { ptx: learn.ptx, names: learn.names };
  const answer = await answerTo({ task: "check", ...program, launch, orders: 1, seed: 0 });
  if (!isStill() || answer.check.counts === null) return;
  const name = isEdited ? "the original, compiled alike" : role === "right" ? "the right one" : "the slower one";
  element("counts").tHead.rows[0].cells[2].textContent = name;
  element("counted").replaceChildren(...countRows([counts, answer.check.counts]));
}

// ---- State in the address's fragment ----

function setFragment(runs) {
  const { grid, block } = shape(),
    of = id => element(id).value;
  const state = { lesson: LESSONS.indexOf(lesson) + 1, kernel: chosen.name, size: of("size") };
  Object.assign(state, { grid: grid.slice(0, 2), block: block.slice(0, 2), orders: of("orders"), seed: of("seed") });
  if (runs) state.run = 1;
  const text = new URLSearchParams(state).toString().replaceAll("%2C", ",");
  try {
    history.replaceState(null, "", `#${text}`);
  } catch {
    // Some browsers refuse it for a file; then there is no link.
  }
}

function openFragment() {
  const state = new URLSearchParams(location.hash.slice(1));
  if (location.hash === "#own") return openOwn();
  const of = LESSONS[Number(state.get("lesson")) - 1] ?? LESSONS[0];
  open(of, of.kernels.find(kernel => kernel.name === state.get("kernel")) ?? of.kernels[0]);
  const set = (id, text) => {
    // A value outside of the input's range is not taken.
    const before = element(id).value;
    if (text == null || !/^\d+$/.test(text)) return;
    element(id).value = text;
    if (!element(id).checkValidity()) element(id).value = before;
  };
  set("size", state.get("size"));
  setShape();
  for (const name of ["grid", "block"]) {
    const [x, y] = (state.get(name) ?? "").split(",");
    set(`${name}-x`, x);
    set(`${name}-y`, y);
  }
  set("orders", state.get("orders"));
  set("seed", state.get("seed"));
  if (state.get("run") === "1") run();
}

function connect() {
  element("choice").addEventListener("submit", event => {
    event.preventDefault();
    run();
  });
  element("size").addEventListener("input", setShape);
  for (const id of ["stop", "own-stop"]) element(id).addEventListener("click", () => stop());
  element("hint").addEventListener("click", () => showHints(element("hint-list").children.length + 1));
  element("meaning-list").append(
    ...MEANINGS.flatMap((meaning, index) => [make("dt", "", COUNTED[index][0]), make("dd", "", meaning)]),
  );
  element("play").addEventListener("click", () => {
    if (!element("choice").reportValidity()) return;
    const launch = inOrder(launchOf(lesson, chosen, element("size").valueAsNumber, shape()), lastOrder);
    play({ ...programOf(chosen), launch, sources: sourcesOf(chosen) }, element("verdict"));
  });
  element("close-player").addEventListener("click", () => {
    element("player").hidden = true;
    element("player-frame").replaceChildren();
    element(element("own").hidden ? "play" : "own-play").focus();
  });
  addEventListener("hashchange", openFragment);
  connectEditor();
  connectOwn();
}
