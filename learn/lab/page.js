// ---- Progress, in this browser alone ----

const STORED = "kernel-lab";
// Stars of solved puzzles, fixed bugs, guesses, and texts, each by its key.
let progress = { solved: {}, fixed: {}, guesses: {}, texts: {} };
try {
  const stored = JSON.parse(localStorage.getItem(STORED));
  for (const part of Object.keys(progress))
    if (stored?.[part] && typeof stored[part] === "object") progress[part] = { ...stored[part] };
} catch {
  // Without storage, or with another content, nothing is remembered.
}

function remember() {
  try {
    localStorage.setItem(STORED, JSON.stringify(progress));
  } catch {
    // As above.
  }
}

const isSolved = entry => Boolean(entry.isBug ? progress.fixed[entry.key] : progress.solved[entry.key]);
const listOf = entry => (entry.isBug ? book.bugs : book.puzzles);
const allStars = () => book.puzzles.reduce((sum, { key }) => sum + (progress.solved[key] ?? 0), 0);
const starText = count => "★".repeat(count) + "☆".repeat(3 - count);

// ---- The list ----

let learn, book, entry;

// Replaces the content of an element, and keeps the focus at the same place in it.
function refill(into, children) {
  const places = () => [...into.querySelectorAll("button, input")];
  const at = places().indexOf(document.activeElement);
  into.replaceChildren(...children);
  places()[at]?.focus();
}

function showContents() {
  const isOwn = !element("own").hidden;
  const item = of => {
    const made = make("li"),
      button = make("button", "entry"),
      isDone = isSolved(of);
    const stars = progress.solved[of.key];
    if (of.isBug) {
      button.append(make("span", "number", of.number), make("span", "done", isDone ? "✓" : ""));
      button.setAttribute("aria-label", `Bug ${of.number}${isDone ? ", fixed" : ""}`);
    } else {
      button.append(make("span", "number", of.number), make("span", "title", of.title), make("span", "done", isDone ? `✓ ${"★".repeat(stars)}` : ""));
      button.setAttribute("aria-label", `${of.number}. ${of.title}${isDone ? `, solved with ${plural(stars, "star")}` : ""}`);
    }
    if (of === entry && !isOwn) button.setAttribute("aria-current", "page");
    button.addEventListener("click", () => {
      open(of);
      setFragment();
      if (matchMedia("(max-width: 760px)").matches) element("contents").open = false;
      element("title").focus();
    });
    made.append(button);
    return made;
  };
  refill(element("puzzles"), book.puzzles.map(item));
  refill(element("bugs"), book.bugs.map(item));
  if (isOwn) element("own-tab").setAttribute("aria-current", "page");
  else element("own-tab").removeAttribute("aria-current");
  const count = list => list.filter(isSolved).length;
  element("score").textContent =
    `${count(book.puzzles)} of ${book.puzzles.length} puzzles solved, ${allStars()} of ${3 * book.puzzles.length} stars; ` +
    `${count(book.bugs)} of ${book.bugs.length} bugs fixed.`;
  element("contents-title").textContent = `Puzzles: ${count(book.puzzles)} of ${book.puzzles.length} solved`;
}

// Text whose parts in backticks are code.
function rich(into, text) {
  into.replaceChildren(...text.split("`").map((part, index) => (index % 2 ? make("code", "", part) : part)));
  return into;
}

// ---- A puzzle, or a bug ----

// The case that is shown, the block that is drawn, the schedule (null for the checker's), and the last answer with its text.
let shownCase = 0,
  drawnBlock = 0,
  schedule = null,
  shown = null;
// The results of the last schedule, by their texts, for the same text and case.
let before = null;
// Grows with each change: an answer to an earlier question is not shown.
let generation = 0;
// A link's code in place of the reader's own.
let ownCode;

const textOf = of => progress.texts[of.key] ?? of.blank;
const currentText = () => element("editor-text").value;

function open(of, text = textOf(of)) {
  entry = of;
  [shownCase, drawnBlock, schedule, shown, before, ownCode] = [0, 0, null, null, null, undefined];
  element("own").hidden = true;
  element("player").hidden = true;
  element("lesson").hidden = false;
  element("title").textContent = of.isBug ? `Bug ${of.number}: find and fix it` : `${of.number}. ${of.title}`;
  rich(element("task"), of.doc);
  rich(element("know"), of.isBug ? "This kernel has one mistake. Guess what goes wrong, run it, and then fix it." : of.know);
  const given = givenFor(book.prelude, of.solution);
  element("given").hidden = given === "";
  element("given-code").replaceChildren(colored(given, []));
  element("case").replaceChildren(...of.cases.map((_, index) => new Option(caseName(of, index), index)));
  setText(text);
  showHints(0);
  showGuess();
  setShape();
  element("more").open = false;
  for (const id of ["solved", "finish", "counts"]) element(id).hidden = true;
  element("picture").replaceChildren();
  showContents();
  showButtons();
  say("");
  update(0);
}

// The size of a case in words: of its first buffer.
function caseName(of, index) {
  const buffer = of.cases[index].arguments.find(({ shape }) => shape);
  return buffer.shape.length === 2 ? `${buffer.shape[0]} × ${buffer.shape[1]}` : plural(buffer.shape[0], "element");
}

function showButtons() {
  const list = listOf(entry),
    at = list.indexOf(entry);
  element("previous").disabled = at === 0;
  element("next").disabled = at === list.length - 1;
  element("mine").hidden = ownCode === undefined;
}

function say(text, className = "") {
  const verdict = element("verdict");
  verdict.className = className;
  rich(verdict, text);
}

const isGuessed = () => !entry.isBug || Object.hasOwn(CLASSES, progress.guesses[entry.key]);

// ---- Guesses ----

function showGuess() {
  element("guess").hidden = !entry.isBug;
  const guessed = isGuessed() && progress.guesses[entry.key];
  const option = ([kind, words]) => {
    const label = make("label", "guess"),
      input = make("input");
    input.type = "radio";
    input.name = "guess";
    input.value = kind;
    input.addEventListener("change", () => (element("run").disabled = false));
    label.append(input, make("span", "", words));
    return label;
  };
  element("guesses").replaceChildren(
    ...(guessed ? [make("p", "", `Your guess: ${CLASSES[guessed]}`)] : Object.entries(CLASSES).map(option)),
  );
  element("run").disabled = !isGuessed();
  element("editor-text").readOnly = !isGuessed();
}

// Keeps the guess, at the first run.
function takeGuess() {
  if (isGuessed()) return;
  const chosen = element("guesses").querySelector("input:checked");
  if (!chosen) return;
  // The focus does not stay on a choice that is gone.
  element("editor-text").focus();
  progress.guesses[entry.key] = chosen.value;
  remember();
  showGuess();
}

const guessWords = () => {
  if (!entry.isBug) return "";
  const isRight = progress.guesses[entry.key] === entry.kind;
  return isRight ? "Your guess was right. " : `Not what you guessed: ${CLASSES[entry.kind].toLowerCase().replace(/\.$/, "")}. `;
};

// ---- Hints: a question, where to look, one solution ----

function hintsOf(of) {
  if (!of.isBug) return [...of.hints, of.solution];
  const lines = [of.solution.split("\n"), of.blank.split("\n")];
  const at = lines[1].findIndex((line, index) => line !== lines[0][index]);
  return [of.hints[0], `Compare line ${at + 1} with what the kernel should do.`, of.wrong];
}

function showHints(count) {
  const hints = hintsOf(entry),
    list = element("hint-list"),
    button = element("hint");
  while (list.children.length > count) list.lastChild.remove();
  for (let index = list.children.length; index < count; index++) {
    const item = make("li");
    if (index === 2 && !entry.isBug) {
      const code = make("pre", "code");
      code.append(colored(hints[index], []));
      item.append(code);
    } else rich(item, hints[index]);
    list.append(item);
  }
  const next = ["a question", "how to do it", entry.isBug ? "what is wrong" : "a solution"][count];
  button.disabled = next === undefined;
  button.textContent = next ? `Hint: ${next}` : "No more hints";
}

// ---- Runs ----

function setShape() {
  const { grid, block } = entry.cases[shownCase];
  [element("grid-x").value, element("grid-y").value] = grid;
  [element("block-x").value, element("block-y").value] = block;
}

// The case that is shown, with the launch of the page's fields.
function chosenCase() {
  const at = id => element(id).valueAsNumber || 1;
  return { ...entry.cases[shownCase], grid: [at("grid-x"), at("grid-y"), 1], block: [at("block-x"), at("block-y"), 1] };
}

const orders = () => ({ orders: element("orders").valueAsNumber || 4, seed: element("seed").valueAsNumber || 0 });

let timer = null;

// Runs the kernel after a pause in typing.
function update(milliseconds) {
  generation++;
  clearTimeout(timer);
  timer = setTimeout(() => {
    timer = null;
    run();
  }, milliseconds);
}

// Whether a run is about to begin.
const isPending = () => timer !== null;

function changed(text) {
  if (text === entry.blank) delete progress.texts[entry.key];
  else progress.texts[entry.key] = text;
  remember();
  before = null;
  update(PAUSE);
}

// Milliseconds after the last key.
const PAUSE = 300;

// The place of a line of the compiled file in the editor, and nothing for one that is given.
function inEditor(line, column) {
  const first = firstLineOf(book);
  return line >= first ? { line: line - first + 1, column } : null;
}

async function run() {
  const now = ++generation,
    isStill = () => now === generation;
  const [of, text, kase] = [entry, currentText(), chosenCase()];
  if (!isGuessed()) return drawBlank(of, kase);
  // The launch passes the arguments of the kernel as it was.
  const [parameters, wanted] = [parametersOf(of.name, text), parametersOf(of.name, of.solution)];
  if (parameters && parameters.list !== wanted.list) {
    const words = `keep the kernel's parameters, \`${wanted.list}\`: the page passes these`;
    showMarks([{ line: parameters.line, column: 0, kind: "fault", text: words }]);
    return say("This does not compile yet.", "wrong-result");
  }
  const files = sourcesOf(book, text);
  try {
    const answer = await answerTo({ task: "trace", files, launch: launchOf(of.name, kase), ...orders(), schedule });
    if (!isStill()) return;
    const { found, states } = compare(answer.buffers.find(buffer => buffer.name === kase.out), kase);
    shown = { text, kase, answer, found, states };
    showRun();
    if (answer.faults.length) return say(`${guessWords()}${headline(answer.faults[0])}`, "wrong-result");
    const first = states.findIndex(state => state !== 0);
    if (first >= 0) {
      if (text === of.blank && !of.isBug) return say("Replace the comment by your code: the picture follows.");
      return say(`${guessWords()}${difference(kase, found, states, first)}`, "wrong-result");
    }
    await runOthers(of, text, isStill);
  } catch (error) {
    if (!isStill()) return;
    element("picture").classList.add("old");
    const place = error.place && inEditor(error.place.line, error.place.column);
    showMarks(place ? [{ ...place, kind: "fault", text: error.place.text }] : []);
    say(place ? "This does not compile yet." : `Not run: ${error.place?.text ?? error.message}`, "wrong-result");
  }
}

// The parameters of a kernel in a text, and their line.
function parametersOf(name, text) {
  const match = new RegExp(`\\bfn ${name}\\(([^{]*)\\)\\s*\\{`).exec(text);
  return match && { list: match[1].trim().replace(/\s+/g, " ").replace(/,$/, ""), line: text.slice(0, match.index).split("\n").length };
}

const headline = ({ class: kind }) => `${kind[0].toUpperCase()}${kind.slice(1)}.`;

function difference({ out, expected }, found, states, first) {
  const value = states[first] === 2 ? "is not written" : `is ${showNumber(found[first])}`;
  return `\`${out}[${first}]\` ${value}, expected ${showNumber(expected[first])}.`;
}

// Before a guess: the data, and no run.
function drawBlank(of, kase) {
  element("faults").replaceChildren();
  element("picture").replaceChildren();
  element("thread-words").textContent = "";
  say("The picture appears after your guess.");
}

// The other cases, and then the counts, which decide about the stars.
async function runOthers(of, text, isStill) {
  say("Right for this data. Checking other sizes…");
  let counts, largest = 0;
  const size = ({ arguments: all }) => all.reduce((sum, { shape }) => sum + (shape?.reduce((product, n) => product * n, 1) ?? 0), 0);
  of.cases.forEach((kase, index) => {
    if (size(kase) > size(of.cases[largest])) largest = index;
  });
  for (const [index, kase] of of.cases.entries()) {
    const answer = await answerTo({ task: "check", files: sourcesOf(book, text), launch: launchOf(of.name, kase), ...orders() });
    if (!isStill()) return;
    const { found, states } = compare(answer.buffers.find(buffer => buffer.name === kase.out), kase);
    const first = states.findIndex(state => state !== 0),
      fault = answer.check.faults[0];
    if (fault || first >= 0) {
      const words = fault ? `${fault.message}.` : difference(kase, found, states, first);
      say(`Right for ${caseName(of, shownCase)}, wrong for ${caseName(of, index)}: ${words}`, "wrong-result");
      const button = make("button", "plain", "Show it");
      button.addEventListener("click", () => showCase(index));
      element("verdict").append(" ", button);
      return;
    }
    if (index === largest) counts = answer.check.counts;
  }
  const par = await parOf(of, of.cases[largest]);
  if (isStill()) solve(of, counts, par);
}

// Counts of the solution, compiled alike.
const pars = new Map();
async function parOf(of, kase) {
  if (!pars.has(of.name)) {
    const files = sourcesOf(book, of.solution);
    const answer = await answerTo({ task: "check", files, launch: launchOf(of.name, kase), orders: 1, seed: 0 });
    pars.set(of.name, answer.check.counts);
  }
  return pars.get(of.name);
}

function solve(of, counts, par) {
  const stars = starsOf(counts, par);
  if (of.isBug) progress.fixed[of.key] = true;
  else progress.solved[of.key] = Math.max(stars, progress.solved[of.key] ?? 0);
  remember();
  showContents();
  showCounts([counts, par]);
  say(of.isBug ? "Fixed: right for all sizes, in all schedules tried." : `Solved: right for all sizes, in all schedules tried. ${starText(stars)}`, "right-result");
  showSolved(of, stars);
}

function showSolved(of, stars) {
  element("solved-title").textContent = of.isBug ? "✓ Fixed" : `✓ Solved ${starText(stars)}`;
  element("stars").textContent = of.isBug
    ? ""
    : stars < 3
      ? "The second and third stars are for memory and work: move no more memory than the par, and execute at most a quarter more instructions. The counts are below."
      : "Three stars: right, no more memory than the par, and no more than a quarter above its instructions.";
  rich(element("why"), of.isBug ? `${of.wrong} ${of.why}` : of.why);
  rich(element("think").querySelector("summary"), `To think about: ${of.think}`);
  rich(element("think").querySelector("p"), of.answer);
  const fill = (id, text, isRust) => {
    const pre = element(id).querySelector("pre");
    if (isRust) pre.replaceChildren(colored(text, []));
    else pre.textContent = text;
  };
  fill("solution", of.solution, true);
  fill("cuda", of.forms.cuda.trimEnd());
  fill("numba", of.forms.numba.trimEnd());
  const nextOne = nextOf(of);
  element("go-on").hidden = !nextOne;
  if (nextOne) element("go-on").textContent = nextOne.isBug ? `Next: bug ${nextOne.number}` : `Next: ${nextOne.title}`;
  element("solved").hidden = false;
  const isAll = listOf(of).every(isSolved);
  element("finish").hidden = !isAll;
  if (isAll) {
    element("finish-title").textContent = of.isBug ? "All bugs fixed" : "All puzzles solved";
    const guessed = book.bugs.filter(({ key, kind }) => progress.guesses[key] === kind).length;
    element("finish-text").textContent = of.isBug
      ? `You fixed all ${book.bugs.length} bugs, and guessed ${guessed} of them before the run. Try your own PTX next.`
      : `You solved all ${book.puzzles.length} puzzles with ${allStars()} of ${3 * book.puzzles.length} stars. The bugs are next; docs/learn has the full-size kernels with their counts.`;
  }
}

// The next one that is not solved.
function nextOf(of) {
  const list = listOf(of),
    at = list.indexOf(of);
  const following = [...list.slice(at + 1), ...list.slice(0, at)].find(other => !isSolved(other));
  return following ?? (of.isBug ? undefined : book.bugs.find(other => !isSolved(other)));
}

function showCase(index) {
  shownCase = index;
  element("case").value = index;
  [schedule, before, drawnBlock] = [null, null, 0];
  setShape();
  update(0);
}

// ---- What a run shows ----

function showRun(isChosen = false) {
  const { answer, kase, found, states } = shown;
  const faults = answer.faults;
  element("solved").hidden = element("finish").hidden = true;
  element("picture").classList.remove("old");
  element("faults").replaceChildren(...faults.map(({ sentence }) => rich(make("li"), sentence)));
  showSentences(element("sentences"), answer.check.faults.map(({ message }) => message));
  element("messages").hidden = faults.length === 0;
  const marks = faults.flatMap(fault =>
    fault.lines.flatMap(({ line, column }, index) => {
      const place = inEditor(line, column);
      return place ? [{ ...place, kind: index ? "other" : "fault" }] : [];
    }),
  );
  showMarks(marks);
  element("swap").textContent = `Swap schedule (${answer.schedule})`;
  const { perBlock, blockCount: count, isAll } = sizesOf(kase, answer.trace);
  element("shape").textContent = `${plural(count, "block")} of ${plural(perBlock, "thread")}`;
  if (faults.length && !isAll && !isChosen) drawnBlock = faults[0].threads[0][0];
  drawnBlock = Math.min(drawnBlock, count - 1);
  element("block-label").hidden = isAll;
  element("drawn-block").replaceChildren(...Array.from({ length: Math.min(count, 1000) }, (_, b) => new Option(b, b, false, b === drawnBlock)));
  const blocks = isAll ? Array.from({ length: count }, (_, b) => b) : [drawnBlock];
  const chosen = element("thread").value;
  element("thread").replaceChildren(
    new Option("all", ""),
    ...blocks.flatMap(b => Array.from({ length: perBlock }, (_, t) => new Option(count > 1 ? `${t} of block ${b}` : t, `${b}:${t}`))),
  );
  if ([...element("thread").options].some(({ value }) => value === chosen)) element("thread").value = chosen;
  showPicture(found, states);
}

function showPicture(found, states) {
  const { answer, kase } = shown;
  const texts = found.map((value, i) => (states[i] === 2 ? undefined : showNumber(value)));
  const svg = pictureOf({
    trace: answer.trace,
    grid: kase.grid,
    block: kase.block,
    arguments: kase.arguments,
    out: kase.out,
    faults: answer.faults,
    drawnBlock,
    expected: kase.expected.map(showNumber),
    states,
    before: before && before.schedule !== answer.schedule ? before.texts : null,
  });
  before = { schedule: answer.schedule, texts };
  const words = `Reads and writes of ${plural(answer.trace.events.length, "event")} in ${plural(kase.grid.reduce((a, b) => a * b), "block")}`;
  const count = state => states.filter(found => found === state).length;
  svg.setAttribute("aria-label", `${words}. Result: ${count(0)} as expected, ${count(1)} wrong, ${count(2)} not written.`);
  svg.addEventListener("click", event => {
    const id = event.target.closest("[data-thread]")?.dataset.thread;
    if (id === undefined) return;
    element("thread").value = element("thread").value === id ? "" : id;
    showThread();
  });
  element("picture").replaceChildren(svg);
  // On a narrow screen the picture may be wider: the error comes into view.
  const at = svg.querySelector(".line.fault, .cell.fault, .thread.fault")?.getBoundingClientRect(),
    frame = element("picture").getBoundingClientRect();
  if (at && at.right > frame.right) element("picture").scrollLeft += at.right - frame.right + 8;
  if (answer.trace.is_cut) element("picture").append(make("p", "quiet", "The picture shows the first 20,000 accesses."));
  showThread();
}

function showThread() {
  const id = element("thread").value;
  light(id);
  const isStopped = shown.answer.faults.length > 0 && shown.states.includes(2);
  if (id === "")
    element("thread-words").textContent = isStopped
      ? "The run stopped at the error: dashed elements were not written before."
      : "Choose a thread, or click on one, to follow its lines.";
  else {
    const [block, thread] = id.split(":").map(Number);
    element("thread-words").textContent = `Thread ${thread} of block ${block} ${wordsOf(shown.answer.trace, block, thread)}.`;
  }
}

function showNumber(value) {
  return typeof value === "bigint" || Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}

function showSentences(list, sentences) {
  list.replaceChildren(...sentences.map(sentence => make("li", "", sentence)));
}

function countRows(columns) {
  const rows = COUNTED.filter(([, of], index) => index < 2 || columns.some(counts => of(counts) > 0));
  return rows.map(([name, of]) => {
    const row = make("tr"),
      values = columns.map(of);
    row.append(make("td", "", name));
    values.forEach((value, column) => {
      const differs = column === 0 && columns.length > 1 && values[0] !== values[1];
      row.append(make("td", differs ? (value < values[1] ? "better" : "worse") : "", number(value)));
    });
    return row;
  });
}

function showCounts(columns) {
  element("counted").replaceChildren(...countRows(columns));
  element("counts").hidden = false;
}

// ---- Links ----

async function squeezed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unsqueezed(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), character => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.getReader(),
    decoder = new TextDecoder("utf-8", { fatal: true });
  let result = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return result + decoder.decode();
    result += decoder.decode(value, { stream: true });
    if (result.length > 20_000) throw new Error("too long");
  }
}

const place = () => (entry.isBug ? `bug=${entry.number}` : `puzzle=${entry.name}`);

function setFragment() {
  try {
    history.replaceState(null, "", `#${place()}`);
  } catch {
    // Some browsers refuse it for a file; then the address stays.
  }
}

async function copyLink() {
  const state = new URLSearchParams({ data: shownCase });
  if (schedule) state.set("schedule", schedule);
  const text = currentText();
  if (text !== entry.blank) state.set("code", await squeezed(text));
  const link = `${location.href.split("#")[0]}#${place()}&${state}`;
  try {
    await navigator.clipboard.writeText(link);
    element("copy").textContent = "Link copied";
    setTimeout(() => (element("copy").textContent = "Copy link"), 3000);
  } catch {
    element("link-text").value = link;
    element("link-dialog").showModal();
    element("link-text").select();
  }
}

async function openFragment() {
  if (location.hash === "#own") return openOwn();
  const state = new URLSearchParams(location.hash.slice(1));
  const of = book.bugs[Number(state.get("bug")) - 1] ?? book.puzzles.find(({ name }) => name === state.get("puzzle"));
  // An address of a place in the page, as the skip link's.
  if (!of && entry) return;
  const found = of ?? book.puzzles.find(other => !isSolved(other)) ?? book.puzzles[0];
  let text;
  try {
    if (state.get("code")) text = await unsqueezed(state.get("code"));
  } catch {
    text = undefined;
  }
  open(found, text);
  if (state.get("code") && text === undefined) say("The code in this link cannot be read: is the link complete?", "wrong-result");
  if (text !== undefined && text !== textOf(found)) {
    ownCode = textOf(found);
    showButtons();
  }
  const index = Number(state.get("data"));
  if (found.cases[index] && index > 0) showCase(index);
  if (["ascending", "descending"].includes(state.get("schedule"))) schedule = state.get("schedule");
}

function download() {
  const text = handIn(book, name => (progress.solved[name] ? progress.texts[name] : undefined));
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = "puzzles.rs";
  link.click();
  URL.revokeObjectURL(link.href);
}

// ---- Connections ----

function connect() {
  connectEditor();
  editor.onChange = changed;
  editor.onRun = () => {
    takeGuess();
    update(0);
  };
  const on = (id, event, action) => element(id).addEventListener(event, action);
  on("run", "click", editor.onRun);
  on("skip", "click", event => {
    event.preventDefault();
    element(element("own").hidden ? "editor-text" : "ptx").focus();
  });
  on("hint", "click", () => showHints(element("hint-list").children.length + 1));
  on("restore", "click", () => {
    setText(entry.blank);
    changed(entry.blank);
    element("editor-text").focus();
  });
  on("mine", "click", () => {
    setText(ownCode);
    changed(ownCode);
    ownCode = undefined;
    showButtons();
  });
  on("copy", "click", copyLink);
  on("download", "click", download);
  on("case", "change", () => showCase(Number(element("case").value)));
  on("drawn-block", "change", () => {
    drawnBlock = Number(element("drawn-block").value);
    if (shown) showRun(true);
  });
  on("thread", "change", showThread);
  on("swap", "click", () => {
    schedule = (shown?.answer.schedule ?? "ascending") === "ascending" ? "descending" : "ascending";
    update(0);
  });
  for (const id of ["grid-x", "grid-y", "block-x", "block-y", "orders", "seed"]) on(id, "change", () => element(id).reportValidity() && update(0));
  for (const [id, step] of [["previous", -1], ["next", 1]])
    on(id, "click", () => {
      const list = listOf(entry);
      open(list[list.indexOf(entry) + step]);
      setFragment();
      element("title").focus();
    });
  on("go-on", "click", () => {
    open(nextOf(entry));
    setFragment();
    element("title").focus();
  });
  for (const id of ["stop", "own-stop"]) on(id, "click", () => stop());
  on("play", "click", () => {
    const launch = inOrder(launchOf(entry.name, chosenCase()), shown?.answer.schedule ?? "ascending");
    const files = sourcesOf(book, currentText());
    play({ files, launch, sources: files }, element("verdict"));
  });
  on("close-player", "click", () => {
    element("player").hidden = true;
    element("player-frame").replaceChildren();
    element(element("own").hidden ? "play" : "own-play").focus();
  });
  element("meaning-list").append(...MEANINGS.flatMap((meaning, index) => [make("dt", "", COUNTED[index][0]), make("dd", "", meaning)]));
  addEventListener("hashchange", openFragment);
  connectOwn();
}
