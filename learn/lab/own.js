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
  ownOrder = "ascending";

function openOwn() {
  element("lesson").hidden = true;
  element("own").hidden = false;
  element("player").hidden = true;
  showLessons();
}

function sayOwn(text, className = "") {
  element("own-verdict").textContent = text;
  element("own-verdict").className = className;
}

function forgetOwn() {
  element("own-faults").replaceChildren();
  element("own-buffers").replaceChildren();
  element("own-counts").hidden = true;
  element("ptx-lines").hidden = true;
  element("player").hidden = true;
  element("player-frame").replaceChildren();
  ownOrder = "ascending";
}

async function readPtx() {
  const ptx = element("ptx").value;
  forgetOwn();
  ownKernels = [];
  element("refused").replaceChildren();
  try {
    if (ptx.trim() === "") sayOwn("No PTX yet.");
    else {
      const answer = await answerTo({ task: "kernels", ptx });
      if (ptx !== element("ptx").value) return;
      ownKernels = answer.kernels;
      showSentences(
        element("refused"),
        answer.refused.map(({ name, reason }) => `${name} cannot be run: ${reason}`),
      );
      const count = ownKernels.length ? plural(ownKernels.length, "kernel") : "No kernel";
      sayOwn(`${count} can be run.`);
    }
  } catch (error) {
    sayOwn(`Not read: ${error.message}`, "wrong-result");
  }
  element("own-kernel").replaceChildren(...ownKernels.map(({ name }) => new Option(name)));
  for (const id of ["own-run", "own-play"]) element(id).disabled = ownKernels.length === 0;
  showParameters();
}

const TYPES = { 1: ["u8"], 2: ["u32"], 4: ["u32", "i32", "f32"], 8: ["u64", "i64", "f64"] };

// The form of the kernel's parameters. A parameter of eight bytes is a buffer, unless the PTX marks other pointers.
function showParameters() {
  const kernel = ownKernels[element("own-kernel").selectedIndex],
    ptx = element("ptx").value;
  const marksPointers = / \.ptr\b/.test(ptx);
  const escaped = name => name.replace(/\W/g, "\\$&");
  const isPointer = name => !marksPointers || new RegExp(`\\.ptr\\b[^,()]*\\b${escaped(name)}\\b`).test(ptx);
  element("parameters").replaceChildren(
    ...(kernel?.parameters ?? []).map(([name, bytes], index) => {
      const row = make("div", "parameter"),
        select = (words, options, chosen) => {
          const label = make("label", "", words),
            list = make("select");
          list.append(...options.map(option => new Option(option, option, false, option === chosen)));
          label.append(list);
          row.append(label);
          return list;
        },
        input = (words, text) => {
          const label = make("label", "", words),
            field = make("input");
          field.value = text;
          label.append(field);
          row.append(label);
          return [label, field];
        };
      row.append(make("strong", "", `${name}, ${plural(bytes, "byte")}`));
      if (!TYPES[bytes]) {
        const [, field] = input("bytes, in hexadecimal", "00".repeat(Math.min(bytes, 4096)));
        row.argument = () => ({ name, bytes: field.value.trim() });
        return row;
      }
      const kinds = bytes === 8 ? ["buffer", ...TYPES[8]] : TYPES[bytes];
      const kind = select("is", kinds, bytes === 8 && !isPointer(name) ? "u64" : kinds[0]);
      const type = select("elements", Object.keys(BYTES), /\.f32\b/.test(ptx) ? "f32" : "u32");
      const [countLabel, count] = input("count", "64");
      const [, values] = input("values", bytes === 8 && isPointer(name) ? "zeros" : "64");
      const follow = () => {
        const isBuffer = kind.value === "buffer";
        type.parentElement.hidden = countLabel.hidden = !isBuffer;
        if (!isBuffer && !/^[-\d]/.test(values.value)) values.value = "0";
      };
      kind.addEventListener("change", follow);
      follow();
      row.dataset.index = index;
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
    throw new Error(`“${trimmed}” is no number, as 3 or -0.5 is`);
  // Numbers of 64 bits keep all digits where the browser can write them.
  return JSON.rawJSON ? JSON.rawJSON(trimmed) : Number(trimmed);
}

function wholeOf(text) {
  if (!/^\d{1,9}$/.test(text.trim())) throw new Error(`“${text.trim()}” is no number of elements`);
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
    throw new Error(`${name}: write one to three positive numbers, as in 32 or 16, 16`);
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

// The lines of the PTX around the faults.
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
  forgetOwn();
  sayOwn("Running…");
  try {
    const launch = ownLaunch();
    const [orders, seed] = [element("own-orders").valueAsNumber, element("own-seed").valueAsNumber];
    const answer = await answerTo({ task: "check", ptx: element("ptx").value, launch, orders, seed });
    const { faults, counts, printed } = answer.check;
    ownOrder = faults[0]?.order ?? "ascending";
    showSentences(element("own-faults"), answer.sentences);
    showPtxLines(faults);
    sayOwn(
      faults.length ? `${plural(faults.length, "fault")}.` : `No fault in ${plural(answer.check.orders, "order")}.`,
      faults.length ? "wrong-result" : "right-result",
    );
    for (const buffer of answer.buffers) {
      const found = elementsOf(buffer),
        isUnwritten = i => buffer.unwritten.some(([from, to]) => from <= i && i < to);
      const shown = found.slice(0, 64).map((value, i) => (isUnwritten(i) ? "?" : showNumber(value)));
      const more = found.length > 64 ? `, … (${plural(found.length, "element")})` : "";
      element("own-buffers").append(make("p", "buffer", `${buffer.name}: ${shown.join(", ")}${more}`));
    }
    for (const { thread, text } of printed)
      element("own-buffers").append(make("p", "buffer", `thread (${thread.join(", ")}) prints: ${text}`));
    if (counts) {
      element("own-counted").replaceChildren(...countRows([counts]));
      element("own-counts").hidden = false;
    }
  } catch (error) {
    sayOwn(`Not run: ${error.message}`, "wrong-result");
  }
}

async function takeFile(file) {
  if (!file) return;
  if (file.size > 16e6) return sayOwn("Not read: the file has more than 16 MB.", "wrong-result");
  element("ptx").value = await file.text();
  readPtx();
}

function connectOwn() {
  let timer;
  element("ptx").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(readPtx, 300);
  });
  element("example").addEventListener("click", () => {
    element("ptx").value = EXAMPLE;
    readPtx();
  });
  element("file").addEventListener("change", event => takeFile(event.target.files[0]));
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
    showParameters();
  });
  element("own-form").addEventListener("submit", event => {
    event.preventDefault();
    runOwn();
  });
  element("own-play").addEventListener("click", () => {
    try {
      const launch = inOrder(ownLaunch(), ownOrder);
      play({ ptx: element("ptx").value, launch, sources: {} }, element("own-verdict"));
    } catch (error) {
      sayOwn(`Not recorded: ${error.message}`, "wrong-result");
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
