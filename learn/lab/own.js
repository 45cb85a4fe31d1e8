// ---- Your own PTX ----

const EXAMPLE = `.version 8.0
.target sm_80
.address_size 64

// Each thread adds its number to sum, without an atomic operation.
.visible .entry add_numbers(.param .u64 .ptr sum)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [sum];
    mov.u32 %r1, %tid.x;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%rd1], %r3;
    ret;
}
`;
let ownKernels = [],
  ownOrder = "ascending",
  // They increase with each change of the text, and with each outcome that is forgotten: an answer about an earlier one
  // is dropped.
  ownText = 0,
  ownRun = 0,
  readingTimer,
  isReading = false,
  isReadWanted = false,
  isOwnRunning = false,
  // The chosen kernel and its form before the text was changed.
  kept = null;

function openOwn() {
  element("lesson").hidden = true;
  element("own").hidden = false;
  element("player").hidden = true;
  showContents();
}

function sayOwn(text, className = "") {
  element("own-verdict").textContent = text;
  element("own-verdict").className = className;
}

// Shows a text of at most `length` characters; a longer one loses its middle and is the element's title.
function shorten(into, text, length = 60) {
  into.textContent = text;
  if (text.length <= length) return into;
  const end = Math.floor((length - 1) / 3);
  into.textContent = `${text.slice(0, length - 1 - end)}…${text.slice(text.length - end)}`;
  into.title = text;
  return into;
}

function forgetOwn() {
  ownRun++;
  element("own-faults").replaceChildren();
  element("own-buffers").replaceChildren();
  element("own-counts").hidden = true;
  element("ptx-lines").hidden = true;
  element("player").hidden = true;
  element("player-frame").replaceChildren();
  ownOrder = "ascending";
}

// Counts the seconds of an action beside the Stop button.
async function withElapsed(action) {
  const started = Date.now(),
    elapsed = () => Math.floor((Date.now() - started) / 1000);
  const timer = setInterval(() => (element("own-elapsed").textContent = `${elapsed()} s`), 1000);
  try {
    return await action(elapsed);
  } finally {
    clearInterval(timer);
    element("own-elapsed").textContent = "";
  }
}

// Drops everything about the earlier text, at once.
function forgetText() {
  ownText++;
  clearTimeout(readingTimer);
  forgetOwn();
  if (isOwnRunning) stop();
  keepForm();
  showKernelList([]);
  element("refused").replaceChildren();
  sayOwn("Reading…");
}

function ptxChanged(delay) {
  forgetText();
  readingTimer = setTimeout(readPtx, delay);
}

// Reads the text in the worker. Of the changes during that, only the last one is read next.
async function readPtx() {
  isReadWanted = true;
  if (isReading) return;
  isReading = true;
  while (isReadWanted) {
    isReadWanted = false;
    const text = ownText,
      ptx = element("ptx").value;
    const found = ptx.trim() === "" ? null : await withElapsed(() => kernelsOf(ptx));
    if (text === ownText) showRead(found);
  }
  isReading = false;
}

async function kernelsOf(ptx) {
  try {
    return await answerTo({ task: "kernels", ptx });
  } catch (error) {
    return { error: error.message };
  }
}

const formFields = () => [...element("parameters").querySelectorAll("select, input")];

function keepForm() {
  const kernel = ownKernels[element("own-kernel").selectedIndex];
  if (kernel) kept = { kernel, block: element("own-block").value, fields: formFields().map(({ value }) => value) };
}

// The kernel of the same name and the same parameters as before keeps its form.
function restoreForm() {
  const at = ownKernels.findIndex(({ name }) => name === kept?.kernel.name);
  if (at < 0) return;
  const isSame = JSON.stringify(ownKernels[at].parameters) === JSON.stringify(kept.kernel.parameters);
  element("own-kernel").selectedIndex = at;
  showKernel();
  if (!isSame) return;
  if (!ownKernels[at].required_block) element("own-block").value = kept.block;
  formFields().forEach((field, index) => {
    field.value = kept.fields[index];
    field.dispatchEvent(new Event("change"));
  });
}

function showRead(found) {
  if (found === null) return sayOwn("No PTX yet.");
  if (found.error !== undefined) return sayOwn(`Cannot read this PTX: ${found.error}`, "wrong-result");
  showKernelList(found.kernels);
  restoreForm();
  element("refused").replaceChildren(
    ...found.refused.map(({ name, demangled, reason }) => {
      const item = make("li"),
        label = shorten(make("span"), demangled);
      if (demangled !== name) label.title = name;
      item.append(label, ` cannot run: ${reason}`);
      return item;
    }),
  );
  const count = found.kernels.length;
  if (count === 0) return sayOwn("No kernel here can run.", "wrong-result");
  sayOwn(`${plural(count, "kernel")} found. Set the parameters, then select Run.`);
}

function showKernelList(kernels) {
  ownKernels = kernels;
  element("own-kernel").replaceChildren(
    ...kernels.map(({ name, demangled }) => {
      // Functions with the same name in the source keep their mangled names.
      const isAlone = kernels.filter(other => other.demangled === demangled).length === 1;
      const option = shorten(new Option("", name), isAlone ? demangled : name, 90);
      option.title = name;
      return option;
    }),
  );
  for (const id of ["own-kernel", "own-run", "own-play"]) element(id).disabled = kernels.length === 0;
  showKernel();
}

// What the chosen kernel requires of a launch, and its parameters.
function showKernel() {
  const kernel = ownKernels[element("own-kernel").selectedIndex],
    needs = [];
  element("own-kernel").title = kernel?.name ?? "";
  if (kernel) {
    const threads = kernel.max_block?.reduce((product, extent) => product * extent);
    element("own-block").value = (kernel.required_block ?? [Math.min(32, threads ?? 32), 1, 1]).join(", ");
    if (kernel.required_block) needs.push(`Required block: ${kernel.required_block.join(", ")} (.reqntid).`);
    if (kernel.max_block) needs.push(`Maximum block: ${plural(threads, "thread")} (.maxntid).`);
    if (kernel.static_shared_bytes)
      needs.push(`Static shared memory: ${plural(kernel.static_shared_bytes, "byte")}, allocated automatically.`);
    if (kernel.has_dynamic_shared)
      needs.push("Dynamic shared memory: set “shared bytes” to the size that your program passes at launch.");
  }
  element("own-needs").textContent = needs.join(" ");
  showParameters();
}

const TYPES = { 1: ["u8"], 2: ["u32"], 4: ["u32", "i32", "f32"], 8: ["u64", "i64", "f64"] };

// A parameter's name without the kernel's name before it, which compilers of C++ and Python add.
function parameterName(kernel, { name }) {
  return name.startsWith(`${kernel.name}_`) ? name.slice(kernel.name.length + 1) : name;
}

// The form of the kernel's parameters. A parameter of eight bytes is a buffer, unless the PTX marks other pointers.
function showParameters() {
  const kernel = ownKernels[element("own-kernel").selectedIndex],
    ptx = element("ptx").value;
  const marksPointers = ownKernels.some(({ parameters }) => parameters.some(parameter => parameter.is_pointer));
  const elements = /\.f32\b/.test(ptx) ? "f32" : "u32";
  element("parameters").replaceChildren(
    ...(kernel?.parameters ?? []).map(parameter => {
      const { name, bytes } = parameter,
        isBuffer = bytes === 8 && (!marksPointers || parameter.is_pointer);
      const row = make("div", "parameter"),
        shown = parameterName(kernel, parameter);
      const add = (words, field, className = "") => {
        const label = make("label", className, words);
        field.setAttribute("aria-label", `${shown}: ${words}`);
        field.setAttribute("form", "own-form");
        label.append(field);
        row.append(label);
        return [label, field];
      };
      const select = (words, options, chosen) => {
        const list = make("select");
        list.append(...options.map(option => new Option(option, option, false, option === chosen)));
        return add(words, list);
      };
      const input = (words, text, className) => {
        const field = make("input");
        field.value = text;
        // A list that is longer than its field is shown as its title.
        field.addEventListener("change", () => (field.title = field.value));
        return add(words, field, className);
      };
      const title = make("strong");
      const label = shorten(make("span"), shown, 40);
      if (shown !== name) label.title = name;
      title.append(label, `, ${plural(bytes, "byte")}`);
      row.append(title);
      if (!TYPES[bytes]) {
        const [, field] = input("bytes in hexadecimal", "00".repeat(Math.min(bytes, 4096)), "value");
        row.argument = () => ({ name, bytes: field.value.trim() });
        return row;
      }
      const kinds = bytes === 8 ? ["buffer", ...TYPES[8]] : TYPES[bytes];
      const [, kind] = select("kind", kinds, bytes === 8 && !isBuffer ? "u64" : kinds[0]);
      const [typeLabel, type] = select("elements", Object.keys(BYTES), elements);
      const [countLabel, count] = input("count", "64");
      const [valuesLabel, values] = input("values", isBuffer ? "zeros" : "64");
      const follow = () => {
        const isBuffer = kind.value === "buffer";
        typeLabel.hidden = countLabel.hidden = !isBuffer;
        valuesLabel.firstChild.data = isBuffer ? "values" : "value";
        if (!isBuffer && !/^[-\d]/.test(values.value)) values.value = "0";
      };
      kind.addEventListener("change", follow);
      follow();
      row.argument = () => {
        if (kind.value !== "buffer") return { name, type: kind.value, value: numberOf(values.value) };
        return { name, type: type.value, shape: [wholeOf(count.value)], values: valuesOf(values.value), length: false };
      };
      return row;
    }),
  );
}

function numberOf(text) {
  const trimmed = text.trim();
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(trimmed))
    throw new Error(`“${trimmed}” is not a number: write, for example, 3 or -0.5`);
  // 64-bit integers keep all their digits if the browser supports raw JSON.
  return JSON.rawJSON ? JSON.rawJSON(trimmed) : Number(trimmed);
}

function wholeOf(text) {
  if (!/^\d{1,9}$/.test(text.trim())) throw new Error(`count must be a whole number, got “${text.trim()}”`);
  return Number(text);
}

function valuesOf(text) {
  const trimmed = text.trim();
  if (["unwritten", "zeros", "index"].includes(trimmed)) return trimmed;
  return trimmed.includes(",") ? trimmed.split(",").map(numberOf) : numberOf(trimmed);
}

function extentsOf(id, name) {
  const extents = element(id).value.split(/[,×x]/).map(part => part.trim());
  if (extents.length > 3 || !extents.every(extent => /^[1-9]\d{0,9}$/.test(extent)))
    throw new Error(`${name} must be one to three positive numbers, for example 32 or 16, 16`);
  return [0, 1, 2].map(axis => Number(extents[axis] ?? 1));
}

function ownLaunch() {
  return {
    ptx: "your.ptx",
    kernel: element("own-kernel").value,
    grid: extentsOf("own-grid", "grid"),
    block: extentsOf("own-block", "block"),
    dynamic_shared_bytes: element("own-shared").valueAsNumber,
    cooperative: element("own-cooperative").checked,
    block_instructions: BLOCK_INSTRUCTIONS,
    instructions_without_progress: WITHOUT_PROGRESS,
    arguments: [...element("parameters").children].map(row => row.argument()),
  };
}

// The PTX lines around the findings.
function showPtxLines(faults) {
  const lines = element("ptx").value.split("\n"),
    into = make("div"),
    marked = new Map();
  for (const fault of faults) {
    if (fault.other) marked.set(fault.other.place.ptx_line, ["other", "The other thread is here."]);
  }
  for (const fault of faults) marked.set(fault.place.ptx_line, ["fault", `Here: ${fault.message}`]);
  const isNear = index => [...marked.keys()].some(line => Math.abs(line - 1 - index) <= 4);
  lines.forEach((text, index) => {
    if (!isNear(index)) return;
    const [kind, words] = marked.get(index + 1) ?? ["", ""];
    const line = make("div", `line ${kind}`);
    line.append(make("span", "", index + 1), make("span", "", text));
    into.append(line);
    if (words) into.append(make("div", `mark ${kind}`, words));
  });
  element("ptx-lines").replaceChildren(into);
  element("ptx-lines").hidden = faults.length === 0;
}

async function runOwn() {
  if (isOwnRunning || ownKernels.length === 0) return;
  forgetOwn();
  sayOwn("Running…");
  isOwnRunning = true;
  for (const id of ["own-run", "own-play"]) element(id).disabled = true;
  const run = ownRun;
  await withElapsed(async elapsed => {
    try {
      const launch = ownLaunch();
      const [schedules, seed] = [element("own-schedules").valueAsNumber, element("own-seed").valueAsNumber];
      const ptx = element("ptx").value;
      const answer = await answerTo({ task: "check", ptx, launch, orders: schedules, seed });
      if (run === ownRun) showOutcome(answer);
    } catch (error) {
      if (run !== ownRun) return;
      if (error.message === "stopped") sayOwn(`Stopped after ${elapsed()} s.`);
      else sayOwn(`Not run: ${error.message}`, "wrong-result");
    }
  });
  isOwnRunning = false;
  for (const id of ["own-run", "own-play"]) element(id).disabled = ownKernels.length === 0;
}

function showOutcome(answer) {
  const { faults, counts, printed, orders } = answer.check;
  ownOrder = faults[0]?.order ?? "ascending";
  showSentences(element("own-faults"), answer.sentences);
  showPtxLines(faults);
  sayOwn(
    faults.length
      ? `${plural(faults.length, "error")} found.`
      : `No error with these inputs (${plural(orders, "schedule")}).`,
    faults.length ? "wrong-result" : "right-result",
  );
  for (const buffer of answer.buffers) element("own-buffers").append(shownBuffer(buffer));
  for (const { thread, text } of printed)
    element("own-buffers").append(make("p", "buffer", `thread (${thread.join(", ")}) prints: ${text}`));
  if (counts) {
    element("own-counted").replaceChildren(...countRows([counts]));
    element("own-counts").hidden = false;
  }
  element("own-verdict").scrollIntoView({ block: "nearest" });
}

// The first elements of a buffer. A number with more digits than are shown has all of them in its title.
function shownBuffer(buffer) {
  const kernel = ownKernels[element("own-kernel").selectedIndex];
  const found = elementsOf(buffer),
    isUnwritten = i => buffer.unwritten.some(([from, to]) => from <= i && i < to);
  const line = make("p", "buffer"),
    name = shorten(make("span", "name"), parameterName(kernel, buffer), 40);
  if (name.textContent !== buffer.name) name.title = buffer.name;
  line.append(name, ": ");
  found.slice(0, 64).forEach((value, i) => {
    const text = isUnwritten(i) ? "?" : showNumber(value);
    if (i > 0) line.append(", ");
    if (isUnwritten(i) || text === String(value)) return line.append(text);
    const short = make("span", "", text);
    short.title = String(value);
    line.append(short);
  });
  if (found.length > 64) line.append(`, … (${plural(found.length, "element")})`);
  return line;
}

async function takeFile(file) {
  if (!file) return;
  if (file.size > 16e6) return sayOwn("Cannot read this file: it is larger than 16 MB.", "wrong-result");
  element("ptx").value = "";
  forgetText();
  const text = ownText;
  try {
    const ptx = await file.text();
    if (text !== ownText) return;
    element("ptx").value = ptx;
    ptxChanged(0);
  } catch (error) {
    if (text === ownText) sayOwn(`Cannot read this file: ${error.message}`, "wrong-result");
  }
}

function connectOwn() {
  element("ptx").addEventListener("input", () => ptxChanged(300));
  element("ptx").addEventListener("keydown", event => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (!element("own-run").disabled) element("own-form").requestSubmit();
  });
  element("example").addEventListener("click", () => {
    element("ptx").value = EXAMPLE;
    ptxChanged(0);
  });
  element("file").addEventListener("change", event => {
    takeFile(event.target.files[0]);
    // The same file can be chosen again after it has changed.
    event.target.value = "";
  });
  element("own").addEventListener("dragover", event => {
    event.preventDefault();
    element("own").classList.add("dropping");
  });
  element("own").addEventListener("dragleave", () => element("own").classList.remove("dropping"));
  element("own").addEventListener("drop", event => {
    event.preventDefault();
    element("own").classList.remove("dropping");
    takeFile(event.dataTransfer.files[0]);
  });
  element("own-kernel").addEventListener("change", () => {
    forgetOwn();
    if (isOwnRunning) stop();
    sayOwn("Not run yet.");
    showKernel();
  });
  element("own-form").addEventListener("submit", event => {
    event.preventDefault();
    runOwn();
  });
  element("own-play").addEventListener("click", () => {
    if (!element("own-form").reportValidity()) return;
    try {
      const launch = inOrder(ownLaunch(), ownOrder);
      play({ ptx: element("ptx").value, launch, sources: {} }, element("own-verdict"));
    } catch (error) {
      sayOwn(`Cannot record this run: ${error.message}`, "wrong-result");
    }
  });
  element("own-tab").addEventListener("click", () => {
    openOwn();
    element("own-title").focus();
    try {
      history.replaceState(null, "", "#own");
    } catch {
      // As in setFragment.
    }
  });
}
