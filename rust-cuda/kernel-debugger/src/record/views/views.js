// The views of a recorded run: source, warps, memory and time.

const LANES = 32;
const lanesOf = mask => {
  const lanes = [];
  for (let l = 0; l < LANES; l++) if ((mask >>> l) & 1) lanes.push(l);
  return lanes;
};
const count = mask => lanesOf(mask).length;
const hexAddress = value => "0x" + value.toString(16);

// The recording, and columns of its frames.
let R, N, F;
// The shown frame, and the warp and the lane that are followed, or -1.
let t = 0,
  followed = { warp: -1, lane: -1 };

function summed(differences) {
  let sum = 0;
  return Float64Array.from(differences, difference => (sum += difference));
}

// ---- Memory: the content at a time, from the last key frame before it and the writes since ----

let memories = [];
// Writes of at most one element each, in order: frame, memory, position in the memory's bytes, length, lane (-1 for
// another block) and 8 bytes of content; bit i of `known` is set if byte i has been written.
let writes,
  keys = [],
  shownWrites = -1,
  keyInterval;

function prepareMemories() {
  for (const m of R.memories) {
    const [row, column, rows, columns] = m.window,
      size = BYTES[m.element];
    const memory = {
      ...m,
      index: memories.length,
      size,
      wholeColumns: m.columns,
      row,
      column,
      rows,
      columns,
      ownSize: size,
    };
    memory.content = new Uint8Array(rows * columns * size);
    memory.known = new Uint8Array(memory.content.length);
    readHex(m.image, 0, memory.content.length, (i, byte) => {
      memory.content[i] = byte;
      memory.known[i] = 1;
    });
    memory.view = new DataView(memory.content.buffer);
    memories.push(memory);
  }
  const list = [];
  let foreign = 0;
  for (let frame = 0; frame < N; frame++) {
    for (; foreign < R.foreign.length && R.foreign[foreign][0] === frame; foreign++) {
      const [, index, offset, text] = R.foreign[foreign];
      addWrites(list, frame, memories[index], offset, text, 0, text.length / 2, -1);
    }
    for (const access of accessesAt(frame)) {
      const { memory, offset, bytes, lane, text, at } = access;
      if (memory && text) addWrites(list, frame, memory, offset, text, at, bytes, lane);
    }
  }
  writes = {
    length: list.length,
    frame: new Int32Array(list.length),
    memory: new Int16Array(list.length),
    position: new Int32Array(list.length),
    bytes: new Uint8Array(list.length),
    lane: new Int8Array(list.length),
    known: new Uint8Array(list.length),
    content: new Uint8Array(list.length * 8),
  };
  list.forEach((write, i) => {
    for (const name of ["frame", "memory", "position", "bytes", "lane"]) writes[name][i] = write[name];
    readHex(write.text, write.at, write.bytes, (b, byte) => {
      writes.content[i * 8 + b] = byte;
      writes.known[i] |= 1 << b;
    });
  });
  // Key frames take at most about 64 MB.
  const all = memories.reduce((sum, memory) => sum + 2 * memory.content.length, 1);
  keyInterval = Math.max(2048, Math.ceil((writes.length * all) / 64e6));
  for (let i = 0; i < writes.length; i++) {
    if (i % keyInterval === 0) keys.push(memories.map(memory => [memory.content.slice(), memory.known.slice()]));
    applyWrite(i);
  }
  if (!keys.length) keys.push(memories.map(memory => [memory.content.slice(), memory.known.slice()]));
  shownWrites = writes.length;
  memories.forEach(findExtremes);
}

function readHex(text, at, bytes, each) {
  for (let i = 0; i < bytes; i++) {
    const digits = text.substr((at + i) * 2, 2);
    if (digits !== "--") each(i, parseInt(digits, 16));
  }
}

// Position of a byte of a memory among its shown ones; -1 if it is not shown.
function positionOf(memory, offset) {
  const size = memory.ownSize,
    index = Math.floor(offset / size);
  const [firstRow, firstColumn, rows, columns] = R.memories[memory.index].window;
  const row = Math.floor(index / memory.wholeColumns) - firstRow,
    column = (index % memory.wholeColumns) - firstColumn;
  if (offset < 0 || row < 0 || row >= rows || column < 0 || column >= columns) return -1;
  return (row * columns + column) * size + (offset % size);
}

function addWrites(list, frame, memory, offset, text, at, bytes, lane) {
  for (let done = 0; done < bytes;) {
    const length = Math.min(bytes - done, memory.ownSize - ((offset + done) % memory.ownSize));
    const position = positionOf(memory, offset + done);
    if (position >= 0) list.push({ frame, memory: memory.index, position, bytes: length, lane, text, at: at + done });
    done += length;
  }
}

function applyWrite(i) {
  const memory = memories[writes.memory[i]],
    position = writes.position[i];
  for (let b = 0; b < writes.bytes[i]; b++) {
    memory.content[position + b] = writes.content[i * 8 + b];
    memory.known[position + b] = (writes.known[i] >> b) & 1;
  }
}

// Number of writes up to the end of a frame.
function writesUpTo(frame) {
  let low = 0,
    high = writes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (writes.frame[middle] <= frame) low = middle + 1;
    else high = middle;
  }
  return low;
}

function showMemoryAt(frame) {
  const wanted = writesUpTo(frame);
  const key = Math.min(Math.floor(wanted / keyInterval), keys.length - 1);
  if (shownWrites > wanted || shownWrites < key * keyInterval) {
    keys[key].forEach(([content, known], i) => {
      memories[i].content.set(content);
      memories[i].known.set(known);
    });
    shownWrites = key * keyInterval;
  }
  while (shownWrites < wanted) applyWrite(shownWrites++);
}

function isKnown(memory, position) {
  for (let b = 0; b < memory.size; b++) if (!memory.known[position + b]) return false;
  return true;
}

function showValue(value, type, digits) {
  if (typeof value === "bigint" || type[0] !== "f" || !Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return Object.is(value, -0) ? "-0" : String(value);
  return String(Number(value.toPrecision(digits)));
}

// The smallest and the largest value that a memory ever has.
function findExtremes(memory) {
  let low = Infinity,
    high = -Infinity;
  const see = value => {
    value = Number(value);
    if (Number.isFinite(value)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  };
  const [content, known] = keys[0][memory.index],
    view = new DataView(content.buffer);
  for (let p = 0; p + memory.size <= content.length; p += memory.size)
    if (known[p]) see(valueAt(view, p, memory.element));
  const written = new DataView(writes.content.buffer);
  for (let i = 0; i < writes.length; i++) {
    if (writes.memory[i] === memory.index && writes.bytes[i] === memory.size)
      see(valueAt(written, i * 8, memory.element));
  }
  memory.low = low;
  memory.high = high;
}

// ---- Accesses and warps at a time ----

const KINDS = ["reads", "writes", "changes atomically"];

function* accessesAt(frame) {
  for (const [index, kind, bytes, mask, offsets, text] of R.frames.accesses[frame]) {
    let offset = offsets[0],
      at = 0;
    const lanes = lanesOf(mask);
    for (let k = 0; k < lanes.length; k++) {
      if (k > 0) offset += offsets.length > 2 ? offsets[k] : offsets[1];
      yield { memory: memories[index], kind, bytes, lane: lanes[k], offset, text, at };
      at += bytes;
    }
  }
}

let statuses = [];

function statusAt(warp, frame) {
  const list = statuses[warp];
  let low = 0,
    high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle][0] <= frame) low = middle + 1;
    else high = middle;
  }
  const [, , exited, others] = low ? list[low - 1] : [0, 0, 0, []];
  const paths = others.map(([pc, lanes, waits]) => ({ pc, lanes, waits }));
  if (F.warp[frame] === warp && F.lanes[frame] | F.skipped[frame]) {
    paths.unshift({ pc: F.pc[frame], lanes: F.lanes[frame] | F.skipped[frame], waits: 0 });
  }
  return { exited, paths };
}

const STATES = ["at work", "guard is false", "ready", "at the barrier", "waits for lanes", "exited"];

function stateOf(warp, lane, status) {
  const bit = 1 << lane;
  if (status.exited & bit) return 5;
  if (F.warp[t] === warp) {
    if (F.lanes[t] & bit) return 0;
    if (F.skipped[t] & bit) return 1;
  }
  const path = status.paths.find(path => path.lanes & bit);
  if (!path || path.waits === 3) return 4;
  return path.waits ? 3 : 2;
}

const codeAt = pc => R.code[pc];
// The source line of an instruction as one number, or -1.
const lineKey = pc => {
  const [file, line] = R.code[pc][2];
  return file < 0 ? -1 : file * 2 ** 24 + line;
};
const isBarrier = frame => codeAt(F.pc[frame])[3] === 1 && (R.fault === null || R.fault.issued || frame < N - 1);
const isFault = frame => R.fault !== null && frame === N - 1;
const fileName = file => (file < 0 ? "PTX" : R.files[file].name);
const placeName = ([file, line, column]) => (file < 0 ? "" : `${fileName(file)}:${line}${column ? ":" + column : ""}`);
const shortPlace = ([file, line]) => (file < 0 ? "the PTX" : `${fileName(file).split("/").pop()}:${line}`);
const ordinal = frame =>
  R.fault && !R.fault.issued && frame === N - 1 ? "the fault" : `instruction ${number(R.first + frame + 1)}`;

// ---- Source ----

let listings = new Map(),
  shownFile,
  lineFrames = new Map(),
  maxHeat = 1,
  maxPcHeat = 1,
  pcFrames = [];

function prepareLines() {
  for (let frame = 0; frame < N; frame++) {
    const key = lineKey(F.pc[frame]);
    if (!lineFrames.has(key)) lineFrames.set(key, []);
    lineFrames.get(key).push(frame);
    (pcFrames[F.pc[frame]] ??= []).push(frame);
  }
  for (const [key, frames] of lineFrames) if (key >= 0) maxHeat = Math.max(maxHeat, frames.length);
  pcFrames.forEach(frames => (maxPcHeat = Math.max(maxPcHeat, frames.length)));
}

// The rows of a file; of the PTX if `file` is -1.
function listing(file) {
  if (listings.has(file)) return listings.get(file);
  const texts =
    file < 0 ? R.code.map(code => code[1]) : R.files[file].text.replace(/\r/g, "").replace(/\n$/, "").split("\n");
  const rows = texts.map((text, index) => {
    const row = make("div", "line"),
      heat = make("span", "heat"),
      at = make("span", "at");
    heat.append(make("i"), make("i"));
    const code = make("span", "text");
    paint(code, text.replace(/\t/g, "    "), file >= 0 && fileName(file).endsWith(".rs"));
    const frames = file < 0 ? pcFrames[index] : lineFrames.get(file * 2 ** 24 + index + 1);
    const name = file < 0 ? codeAt(index)[0] : index + 1,
      mark = make(frames ? "button" : "span", "number", name);
    row.append(heat, at, mark, code);
    if (frames) {
      row.place = file < 0 ? `pc ${index}` : file * 2 ** 24 + index + 1;
      mark.tabIndex = -1;
      mark.setAttribute("aria-label", `Breakpoint at line ${name}: ${text.trim()}`);
      showBreakpoint(row);
    }
    const most = file < 0 ? maxPcHeat : maxHeat;
    if (frames) {
      const width = n => `${n ? Math.max(2, (40 * Math.log1p(n)) / Math.log1p(most)) : 0}px`;
      heat.firstChild.style.width = width(frames.length);
      heat.title = `executed ${plural(frames.length, "time")}`;
      row.heat = { frames, done: heat.lastChild, width };
    }
    row.at = at;
    return row;
  });
  listings.set(file, rows);
  return rows;
}

// ---- Breakpoints ----

// Places at which a run stops: numbers of source lines, as in `lineKey`, and `pc N` for instruction N of the PTX.
const breakpoints = new Set();
// The last frame of the same warp before each; -1 without one.
let before;

function prepareBefore() {
  const last = new Int32Array(R.existing.length).fill(-1);
  before = Int32Array.from(F.warp, (warp, frame) => {
    const previous = last[warp];
    last[warp] = frame;
    return previous;
  });
}

// Whether a warp comes to a place with a breakpoint in a frame: not in the later instructions of the same line.
function stopsAt(frame) {
  const pc = F.pc[frame],
    line = lineKey(pc);
  if (breakpoints.has(`pc ${pc}`)) return true;
  return breakpoints.has(line) && (before[frame] < 0 || lineKey(F.pc[before[frame]]) !== line);
}

function nextBreakpoint(direction) {
  for (let frame = t + direction; frame >= 0 && frame < N; frame += direction)
    if (isFollowedFrame(frame) && stopsAt(frame)) return frame;
  return direction > 0 ? N - 1 : 0;
}

function showBreakpoint(row) {
  const isSet = breakpoints.has(row.place);
  row.classList.toggle("stop", isSet);
  row.querySelector("button.number").setAttribute("aria-pressed", isSet);
}

function toggleBreakpoint(row) {
  if (row?.place === undefined) return;
  if (!breakpoints.delete(row.place)) breakpoints.add(row.place);
  showBreakpoint(row);
  element("to-breakpoint").disabled = breakpoints.size === 0;
}

// The Tab key reaches the line numbers of a listing once, at the shown line or at the last one of the arrow keys.
function focusable(row) {
  for (const each of element("listing").querySelectorAll('button.number[tabindex="0"]')) each.tabIndex = -1;
  const button = row?.querySelector("button.number");
  if (button) button.tabIndex = 0;
  return button;
}

// Moves from a line number to the next one in a direction.
function moveInListing(button, direction) {
  const all = [...element("listing").querySelectorAll("button.number")];
  const next = all[all.indexOf(button) + direction];
  if (next) focusable(next.closest(".line")).focus();
}

function lowerBound(frames, frame) {
  let low = 0,
    high = frames.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (frames[middle] <= frame) low = middle + 1;
    else high = middle;
  }
  return low;
}

function showSource(pc) {
  const isPtx = element("view").value === "ptx";
  const [, , own, , call] = codeAt(pc);
  const hasText = ([file]) => file >= 0 && R.files[file].text !== null;
  const shown = isPtx ? null : hasText(own) ? own : hasText(call) ? call : null;
  const file = shown ? shown[0] : -1,
    row = shown ? shown[1] - 1 : pc;
  const rows = listing(file);
  if (shownFile !== file) {
    element("listing").replaceChildren(...rows);
    shownFile = file;
    const missing =
      !isPtx && file < 0 && own[0] >= 0 ? `PTX, because there is no ${fileName(own[0])} in the source root` : "PTX";
    element("file").textContent = file < 0 ? missing : fileName(file);
  }
  const warpsAt = new Map();
  for (let warp = 0; warp < statuses.length; warp++) {
    const seen = new Set();
    for (const path of statusAt(warp, t).paths) {
      const [f, line] = codeAt(path.pc)[2];
      if (file < 0) seen.add(path.pc);
      else if (f === file) seen.add(line - 1);
    }
    for (const index of seen) warpsAt.set(index, [...(warpsAt.get(index) ?? []), warp]);
  }
  rows.forEach((each, index) => {
    const warps = warpsAt.get(index) ?? [];
    const text = warps.length > 2 ? plural(warps.length, "warp") : warps.map(warp => `w${warp}`).join(",");
    if (each.at.textContent !== text) each.at.textContent = text;
    if (each.heat) each.heat.done.style.width = each.heat.width(lowerBound(each.heat.frames, t));
    const isHere = index === row,
      isCall = file === call[0] && !isPtx && index === call[1] - 1 && !isHere;
    if (isHere !== each.classList.contains("here")) {
      each.classList.toggle("here", isHere);
      if (isHere) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
    each.classList.toggle("call", isCall);
  });
  const here = rows[row],
    box = element("listing");
  if (!document.activeElement?.matches("button.number")) focusable(here);
  if (here) {
    const top = here.offsetTop - box.offsetTop;
    if (top < box.scrollTop + 40 || top > box.scrollTop + box.clientHeight - 60)
      box.scrollTop = top - box.clientHeight / 2;
  }
}

function textOfLine([file, line]) {
  if (file < 0 || R.files[file].text === null) return null;
  return listing(file)[line - 1]?.lastChild.textContent.trim() ?? null;
}

// ---- The instruction in words ----

function cellName(memory, offset) {
  const index = Math.floor(offset / memory.size);
  if (memory.linear) return `${memory.name}[${index}]`;
  const columns = (memory.wholeColumns * memory.ownSize) / memory.size;
  return `${memory.name}[${Math.floor(index / columns)}][${index % columns}]`;
}

function describeAccesses() {
  const lines = [],
    opcode = codeAt(F.pc[t])[1]
      .replace(/^@\S+\s+/, "")
      .split(/\s/)[0]
      .replace(/;$/, "");
  const groups = new Map();
  for (const access of accessesAt(t)) {
    const key = `${access.memory?.index},${access.kind}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(access);
  }
  for (const accesses of groups.values()) {
    const { memory, kind } = accesses[0],
      lanes = new Set(accesses.map(access => access.lane)).size;
    const cells = memory ? [...new Set(accesses.map(access => cellName(memory, access.offset)))] : [];
    const where = !memory
      ? "memory that is not shown"
      : cells.length === 1
        ? cells[0]
        : cells.length === 2
          ? `${cells[0]} and ${cells[1]}`
          : `${plural(cells.length, "cell")} from ${cells[0]} to ${cells.at(-1)}`;
    const verb = lanes === 1 ? KINDS[kind] : ["read", "write", "change atomically"][kind];
    lines.push([kind ? "write" : "read", `${plural(lanes, "lane")} ${verb} ${where}`]);
  }
  for (const [shared, actual, least] of R.frames.patterns[t]) {
    const unit = n => (shared ? plural(n, "wavefront") : plural(n, "sector"));
    const kind = shared && actual > least ? "conflict" : "";
    lines.push([
      kind,
      `${opcode}: ${unit(actual)}, ${least} is the minimum`,
      shared && actual > least ? "bank conflict" : "",
    ]);
  }
  return lines;
}

function showInstruction() {
  const pc = F.pc[t],
    warp = F.warp[t],
    [ptxLine, text, source, , call] = codeAt(pc);
  const existing = count(R.existing[warp]),
    lanes = count(F.lanes[t]);
  const isWait = isFault(t) && !R.fault.issued;
  element("position").textContent = isWait
    ? "At the fault, after the last instruction"
    : `Instruction ${number(R.first + t + 1)} of ${number(R.issued)}`;
  element("who").textContent = isWait
    ? `warp ${warp}, at the fault`
    : `warp ${warp}: ${lanes} of ${plural(existing, "lane")} at work`;
  const inlined = call[0] >= 0 ? `, inlined at ${placeName(call)}` : "";
  element("place").textContent = (placeName(source) || "no source line") + inlined;
  const line = textOfLine(source) ?? textOfLine(call) ?? text;
  if (element("line-text").textContent !== line) element("line-text").textContent = line;
  element("ptx").textContent = `PTX line ${ptxLine}: ${text}`;
  element("accesses").replaceChildren(
    ...describeAccesses().map(([kind, text, label]) => {
      const line = make("p", kind, text);
      if (label) line.append(" – ", make("b", "", label));
      return line;
    }),
  );
  element("fault").hidden = !isFault(t);
}

function prepareFault() {
  const fault = R.fault;
  if (!fault) return;
  element("to-fault").hidden = false;
  element("fault-text").textContent = fault.text;
  const threads = [
    ["A", fault.thread],
    ["B", fault.other],
  ].filter(([, thread]) => thread);
  element("fault-head").textContent = fault.other ? "Race: two threads, no order between them" : "Fault: " + fault.kind;
  for (const [letter, thread] of threads) {
    const lane = thread.recorded ? ` (warp ${thread.warp}, lane ${thread.lane})` : "";
    const where = fault.cell && fault.other ? ` ${cellName(memories[fault.cell[0]], fault.cell[1])}` : "";
    const line = make(
      "p",
      "",
      `${letter}: ${thread.name}${lane} ${thread.access}${where} at ${shortPlace(thread.source)} `,
    );
    if (letter === "B" && thread.recorded) {
      const frame = lastAccess(thread, fault.cell);
      if (frame >= 0) line.append(jumpButton(`Go to ${ordinal(frame)}`, frame));
    }
    element("fault-threads").append(line);
  }
}

function jumpButton(text, frame) {
  const button = make("button", "", text);
  button.addEventListener("click", () => go(frame));
  return button;
}

// The last frame in which a thread accesses a cell as the fault says; -1 without one.
function lastAccess(thread, cell) {
  if (!cell) return -1;
  const [index, offset, bytes] = cell,
    writes = thread.access !== "reads";
  for (let frame = N - 2; frame >= 0; frame--) {
    if (F.warp[frame] !== thread.warp) continue;
    for (const access of accessesAt(frame)) {
      if (
        access.memory?.index === index &&
        access.lane === thread.lane &&
        access.kind > 0 === writes &&
        access.offset < offset + bytes &&
        offset < access.offset + access.bytes
      )
        return frame;
    }
  }
  return -1;
}

// ---- Drawing ----

let colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of [
    "back",
    "panel",
    "ink",
    "muted",
    "rule",
    "cell",
    "tint",
    "work",
    "ready",
    "barrier",
    "read",
    "write",
    "fault",
  ]) {
    colours[name] = style.getPropertyValue("--" + name).trim();
  }
}

const warpColour = warp => `hsl(${(warp * 137.5 + 210) % 360} 55% 52%)`;

// A canvas of this size in CSS pixels, crisp on any display.
function canvasOf(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(w / width, 0, 0, h / height, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

function hatch(context, x, y, w, h, colour) {
  context.save();
  context.beginPath();
  context.rect(x, y, w, h);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let d = 4; d < w + h; d += 5) {
    context.moveTo(x + d, y);
    context.lineTo(x + d - h, y + h);
  }
  context.stroke();
  context.restore();
}

const MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';

function drawState(context, state, x, y, size) {
  const [w, c] = [size - 2, colours];
  if (state === 0) {
    context.fillStyle = c.work;
    context.fillRect(x, y, w, w);
  }
  if (state === 1) {
    context.strokeStyle = c.work;
    context.lineWidth = 1.5;
    context.strokeRect(x + 1, y + 1, w - 2, w - 2);
  }
  if (state === 2) {
    context.fillStyle = c.ready;
    context.fillRect(x, y, w, w);
  }
  if (state === 3) {
    context.fillStyle = c.barrier;
    context.fillRect(x + w * 0.3, y, w * 0.4, w);
  }
  if (state === 4) {
    context.strokeStyle = c.muted;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, w - 1, w - 1);
    hatch(context, x, y, w, w, c.muted);
  }
  if (state === 5) {
    context.fillStyle = c.muted;
    context.fillRect(x + w / 2 - 1, y + w / 2 - 1, 2, 2);
  }
}

let laneCell = 12;
const LABEL = 52,
  LINE = 62;

function drawWarps() {
  const warps = statuses.length,
    canvas = element("lanes");
  laneCell =
    (warps > 24 ? 11 : warps > 8 ? 12 : warps > 4 ? 14 : 18) +
    (window.innerHeight > 1000 ? 1 : window.innerHeight < 800 ? -2 : 0);
  const row = laneCell + (warps > 8 ? 0 : 3);
  const context = canvasOf(canvas, LABEL + LANES * laneCell + LINE, 14 + warps * row + 2);
  context.font = `11px ${MONO}`;
  context.textBaseline = "middle";
  context.fillStyle = colours.muted;
  for (let lane = 0; lane < LANES; lane += 8) context.fillText(lane, LABEL + lane * laneCell, 7);
  context.fillText("line", LABEL + LANES * laneCell + 6, 7);
  const totals = new Array(6).fill(0),
    fault = isFault(t) ? R.fault : null;
  for (let warp = 0; warp < warps; warp++) {
    const status = statusAt(warp, t),
      y = 14 + warp * row,
      isCurrent = F.warp[t] === warp;
    if (isCurrent || followed.warp === warp) {
      context.strokeStyle = isCurrent ? colours.ink : colours.read;
      context.lineWidth = 1.5;
      context.strokeRect(LABEL - 3, y - 0.5, LANES * laneCell + 4, laneCell);
    }
    context.font = `${isCurrent ? "bold " : ""}11px ${MONO}`;
    context.fillStyle = isCurrent ? colours.ink : colours.muted;
    context.fillText(
      `${isCurrent ? "▶" : followed.warp === warp ? "●" : " "} ${warps < 100 ? "w" : ""}${warp}`,
      2,
      y + laneCell / 2,
    );
    for (let lane = 0; lane < LANES; lane++) {
      if (!((R.existing[warp] >>> lane) & 1)) continue;
      const state = stateOf(warp, lane, status),
        x = LABEL + lane * laneCell;
      totals[state]++;
      drawState(context, state, x, y, laneCell);
      if (followed.warp === warp && followed.lane === lane) {
        context.strokeStyle = colours.read;
        context.lineWidth = 2;
        context.strokeRect(x - 1, y - 1, laneCell, laneCell);
      }
    }
    if (fault)
      for (const [letter, thread] of [
        ["A", fault.thread],
        ["B", fault.other],
      ]) {
        if (!thread || !thread.recorded || thread.warp !== warp) continue;
        const x = LABEL + thread.lane * laneCell;
        context.strokeStyle = colours.fault;
        context.lineWidth = 2.5;
        context.strokeRect(x - 1.5, y - 1.5, laneCell + 1, laneCell + 1);
        context.fillStyle = colours.panel;
        context.fillRect(x, y, laneCell - 2, laneCell - 2);
        context.fillStyle = colours.fault;
        context.font = `bold 10px ${MONO}`;
        context.fillText(letter, x + 2, y + laneCell / 2);
      }
    const lines = [...new Set(status.paths.map(path => codeAt(path.pc)[2][1] || codeAt(path.pc)[0]))];
    context.font = `11px ${MONO}`;
    context.fillStyle = isCurrent ? colours.ink : colours.muted;
    context.fillText(
      lines.length ? lines.slice(0, 2).join(",") : "ended",
      LABEL + LANES * laneCell + 6,
      y + laneCell / 2,
    );
  }
  const words = totals
    .map((n, state) => (n ? `${plural(n, "lane")}: ${STATES[state]}` : ""))
    .filter(Boolean)
    .join(", ");
  canvas.setAttribute("aria-label", `Warps by lanes. ${words}`);
}

let zoom = 1;
const ROW_LABEL = 36;

// The largest size of cells with which all grids fit.
function fitCells() {
  const size = fitted(memories);
  if (size >= 9) return size;
  // Legible cells of shared memory come before a view of all buffers.
  return Math.max(8, Math.min(12, fitted(memories.filter(memory => memory.space === "shared")) ?? 8));
}

// The height of cells of this width: few rows may be tall, and no canvas taller than browsers draw.
const cellHeight = (memory, width) =>
  Math.max(4, Math.min(width, memory.rows > 8 ? 22 : 30, Math.floor(7500 / memory.rows)));

// The largest size of cells with which some grids fit beside the warps; null without one.
function fitted(some) {
  const box = element("grids"),
    width = box.clientWidth - 20,
    height = box.clientHeight - 16;
  for (let size = 38; size > 5; size--) {
    const warps = element("warps");
    let [x, y, tallest] = [warps.offsetWidth + 18, 0, warps.offsetHeight];
    for (const memory of some) {
      const rows = memory.isHidden ? 0 : memory.rows,
        columns = memory.isHidden ? 0 : memory.columns;
      const w = Math.max(memory.head.scrollWidth, ROW_LABEL + columns * size + 4),
        h = 46 + rows * cellHeight(memory, size);
      if (x && x + w > width) {
        x = 0;
        y += tallest + 8;
        tallest = 0;
      }
      if (w > width) x = Infinity;
      x += w + 18;
      tallest = Math.max(tallest, h);
    }
    if (x !== Infinity && y + tallest <= height) return size;
  }
  return null;
}

function prepareGrids() {
  for (const memory of memories) {
    const grid = make("div", "grid"),
      head = make("header"),
      canvas = make("canvas"),
      scroll = make("div");
    const name = make("button", "name mono", `▾ ${memory.name}`);
    name.setAttribute("aria-expanded", "true");
    name.addEventListener("click", () => {
      memory.isHidden = scroll.hidden = !scroll.hidden;
      name.textContent = `${scroll.hidden ? "▸" : "▾"} ${memory.name}`;
      name.setAttribute("aria-expanded", !scroll.hidden);
      layout();
    });
    head.append(name);
    const about = make("span");
    memory.about = about;
    head.append(about);
    if (memory.space === "shared" || !memory.typed) {
      const select = make("select");
      select.setAttribute("aria-label", `Type of ${memory.name}`);
      for (const type of Object.keys(BYTES)) select.append(new Option(type, type, false, type === memory.element));
      select.addEventListener("change", () => {
        retype(memory, select.value);
        update();
      });
      head.append(select);
    }
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute(
      "aria-label",
      `${memory.name}: arrow keys move through its cells, Enter goes to the last write`,
    );
    memory.canvas = canvas;
    memory.head = head;
    memory.isHidden = false;
    canvas.addEventListener("mousemove", event => {
      if (!pinned) inspect(memory, cellUnder(memory, event));
    });
    canvas.addEventListener("click", event => pin(memory, cellUnder(memory, event)));
    canvas.addEventListener("dblclick", jumpToWrite);
    canvas.addEventListener("keydown", event => gridKey(memory, event));
    scroll.append(canvas);
    grid.append(head, scroll);
    element("grids").append(grid);
    describeMemory(memory);
  }
  if (!memories.length) element("grids").append(make("p", "", "The block touches no memory."));
}

function describeMemory(memory) {
  const m = R.memories[memory.index],
    [row, column, rows, columns] = m.window;
  const whole = rows === m.rows && columns === m.columns;
  const shape =
    memory.linear && memory.space !== "shared"
      ? plural(Math.floor(m.bytes / memory.size), "element")
      : `${m.rows} × ${(m.columns * memory.ownSize) / memory.size}`;
  const part = whole
    ? ""
    : `, rows ${row} to ${row + rows - 1} of ${m.rows}, columns ${column} to ${column + columns - 1} of ${m.columns}`;
  memory.hasBanks = memory.space === "shared" && memory.wholeColumns * memory.ownSize === 128 && memory.size === 4;
  memory.about.textContent = `${memory.space}, ${shape}${memory.typed ? " " + memory.element : ""}${part}`;
}

// Shows a memory that has no type as elements of `type`.
function retype(memory, type) {
  const [, , , columns] = R.memories[memory.index].window;
  memory.element = type;
  memory.size = BYTES[type];
  memory.columns = Math.max(1, Math.floor((columns * memory.ownSize) / memory.size));
  if (pinned?.memory === memory) pin(memory, null);
  findExtremes(memory);
  describeMemory(memory);
}

function cellUnder(memory, event) {
  const box = memory.canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left - ROW_LABEL) / memory.cellWidth);
  const row = Math.floor((event.clientY - box.top - 14) / memory.cellHeight);
  return row >= 0 && row < memory.rows && column >= 0 && column < memory.columns ? { row, column } : null;
}

const positionOfCell = (memory, { row, column }) => (row * memory.columns + column) * memory.size;

function drawGrid(memory) {
  const c = colours,
    size = Math.max(6, Math.round(memory.fit * zoom));
  const [w, h] = [size, cellHeight(memory, size)];
  memory.cellWidth = w;
  memory.cellHeight = h;
  const context = canvasOf(memory.canvas, ROW_LABEL + memory.columns * w + 2, 14 + memory.rows * h + 2);
  const font = Math.max(8, Math.min(14, h - 5)),
    at = (row, column) => [ROW_LABEL + column * w, 14 + row * h];
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = `${Math.min(10, h + 2)}px ${MONO}`;
  context.fillStyle = c.muted;
  const every = [1, 2, 4, 8, 16, 32].find(step => step * w >= 26) ?? 64;
  for (let column = 0; column < memory.columns; column += every)
    context.fillText(memory.column + column, ROW_LABEL + column * w + 1, 7);
  if (memory.hasBanks) context.fillText("bank", 2, 7);
  const everyRow = h >= 11 ? 1 : h >= 6 ? 4 : 16;
  context.textAlign = "right";
  for (let row = 0; row < memory.rows; row += everyRow) {
    const label = memory.linear ? (memory.row + row) * memory.columns : memory.row + row;
    context.fillText(label, ROW_LABEL - 5, 14 + row * h + h / 2);
  }
  context.textAlign = "center";
  context.font = `${font}px ${MONO}`;
  const range = memory.high - memory.low,
    letter = font * 0.602;
  const unwritten = new Path2D();
  for (let row = 0; row < memory.rows; row++)
    for (let column = 0; column < memory.columns; column++) {
      const [x, y] = at(row, column),
        position = (row * memory.columns + column) * memory.size;
      if (!isKnown(memory, position)) {
        unwritten.rect(x, y, w - 1, h - 1);
        continue;
      }
      const value = valueAt(memory.view, position, memory.element);
      const part = range > 0 ? Math.max(0, Math.min(1, (Number(value) - memory.low) / range)) : 0;
      context.fillStyle = c.cell;
      context.fillRect(x, y, w - 1, h - 1);
      if (part > 0) {
        context.globalAlpha = 0.08 + 0.62 * part;
        context.fillStyle = c.tint;
        context.fillRect(x, y, w - 1, h - 1);
        context.globalAlpha = 1;
      }
      if (w >= 10 && h >= 12) {
        const text = [6, 4, 3, 2]
          .map(digits => showValue(value, memory.element, digits))
          .find(text => text.length * letter <= w - 2);
        if (text) {
          context.fillStyle = c.ink;
          context.fillText(text, x + w / 2 - 0.5, y + h / 2 + 0.5);
        }
      }
    }
  // Cells that have never been written are hatched.
  context.save();
  context.clip(unwritten);
  context.strokeStyle = c.rule;
  context.lineWidth = 1;
  context.beginPath();
  const all = [memory.columns * w, memory.rows * h];
  for (let d = 0; d < all[0] + all[1]; d += 5) {
    context.moveTo(ROW_LABEL + d, 14);
    context.lineTo(ROW_LABEL + d - all[1], 14 + all[1]);
  }
  context.stroke();
  context.restore();
  context.strokeStyle = c.rule;
  context.lineWidth = 0.5;
  context.stroke(unwritten);
  drawAccesses(memory, context, at, w, h);
}

// Scrolls to the cells that the instruction accesses, so that the last of them is visible, and then the first.
function scrollToAccesses() {
  const box = element("grids"),
    shown = box.getBoundingClientRect();
  const cells = [...accessesAt(t)].filter(access => access.memory && !access.memory.isHidden);
  for (const { memory, offset } of [cells.at(-1), cells[0]].filter(Boolean)) {
    const position = positionOf(memory, offset);
    if (position < 0) continue;
    const cell = Math.floor(position / memory.size),
      scroll = memory.canvas.parentElement;
    const x = ROW_LABEL + (cell % memory.columns) * memory.cellWidth,
      y = Math.floor(cell / memory.columns) * memory.cellHeight;
    if (x < scroll.scrollLeft + ROW_LABEL || x + memory.cellWidth > scroll.scrollLeft + scroll.clientWidth) {
      scroll.scrollLeft = x - ROW_LABEL;
    }
    const top = memory.canvas.getBoundingClientRect().top + y;
    if (!isPlaying && (top < shown.top || top + memory.cellHeight + 14 > shown.bottom)) {
      box.scrollTop += top - shown.top - shown.height / 3;
    }
  }
}

function* cellsOf(memory, offset, bytes) {
  const seen = new Set();
  for (let b = 0; b < bytes; b++) {
    const position = positionOf(memory, offset + b);
    if (position < 0) continue;
    const cell = Math.floor(position / memory.size);
    if (!seen.has(cell)) {
      seen.add(cell);
      yield [Math.floor(cell / memory.columns), cell % memory.columns];
    }
  }
}

let flash = true;

function drawAccesses(memory, context, at, w, h) {
  const c = colours;
  // Reads have an outline; writes a thicker one with a filled corner.
  for (const { memory: of, kind, offset, bytes, lane } of accessesAt(t)) {
    if (of !== memory) continue;
    for (const [row, column] of cellsOf(memory, offset, bytes)) {
      const [x, y] = at(row, column),
        isFollowed = followed.lane === lane && F.warp[t] === followed.warp;
      context.strokeStyle = kind ? c.write : c.read;
      context.lineWidth = w < 10 ? 1.5 : 2;
      context.strokeRect(x, y, w - 1, h - 1);
      if (kind) {
        const side = Math.min(w, h) * 0.5;
        context.fillStyle = c.write;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(x + side, y);
        context.lineTo(x, y + side);
        context.fill();
      }
      if (isFollowed) {
        context.strokeStyle = c.ink;
        context.lineWidth = 3;
        context.strokeRect(x - 2, y - 2, w + 3, h + 3);
      }
    }
  }
  const cell = R.fault?.cell;
  if (cell && cell[0] === memory.index) {
    for (const [row, column] of cellsOf(memory, cell[1], cell[2])) {
      const [x, y] = at(row, column);
      if (isFault(t)) {
        context.strokeStyle = c.fault;
        context.lineWidth = flash ? 4 : 2;
        context.strokeRect(x - 1.5, y - 1.5, w + 2, h + 2);
        if (!flash) continue;
        context.beginPath();
        context.moveTo(x + 2, y + 2);
        context.lineTo(x + w - 3, y + h - 3);
        context.moveTo(x + w - 3, y + 2);
        context.lineTo(x + 2, y + h - 3);
        context.lineWidth = 2;
        context.stroke();
      } else {
        // The cell of the coming fault has a mark at its lower right corner.
        const side = Math.max(4, Math.min(w, h) * 0.35);
        context.fillStyle = c.fault;
        context.beginPath();
        context.moveTo(x + w - 1, y + h - 1);
        context.lineTo(x + w - 1 - side, y + h - 1);
        context.lineTo(x + w - 1, y + h - 1 - side);
        context.fill();
      }
    }
  }
  if (pinned?.memory === memory) {
    const [x, y] = at(pinned.cell.row, pinned.cell.column);
    context.strokeStyle = c.ink;
    context.lineWidth = 2;
    context.setLineDash([3, 2]);
    context.strokeRect(x - 1, y - 1, w + 1, h + 1);
    context.setLineDash([]);
  }
}

let timelineImage = null;

function drawTimeline() {
  const canvas = element("timeline"),
    width = canvas.parentElement.clientWidth - 30,
    height = 62;
  const scale = window.devicePixelRatio || 1;
  if (!timelineImage || timelineImage.cssWidth !== width || timelineImage.scale !== scale) {
    timelineImage = document.createElement("canvas");
    timelineImage.cssWidth = width;
    timelineImage.scale = scale;
    const context = canvasOf(timelineImage, width, height);
    const warps = statuses.length,
      row = (height - 14) / warps,
      frame = Math.max(1, width / N);
    for (let i = 0; i < N; i++) {
      context.fillStyle = warpColour(F.warp[i]);
      context.fillRect((i * width) / N, 12 + F.warp[i] * row, frame, Math.max(1.5, row - (row > 4 ? 1 : 0)));
    }
    context.fillStyle = colours.barrier;
    for (let i = 0; i < N; i++) {
      if (!isBarrier(i)) continue;
      context.fillRect((i * width) / N, 0, Math.min(2, frame), 10);
      context.fillRect((i * width) / N, 12 + F.warp[i] * row, Math.max(1, Math.min(3, frame)), Math.max(1.5, row - 1));
    }
    if (R.fault) {
      const x = ((N - 0.5) * width) / N;
      context.fillStyle = colours.fault;
      context.beginPath();
      context.moveTo(x - 6, 0);
      context.lineTo(x + 6, 0);
      context.lineTo(x, 11);
      context.fill();
      context.fillRect(x - 1, 0, 2, height);
      context.font = "bold 11px sans-serif";
      context.textAlign = "right";
      context.textBaseline = "top";
      context.fillText("fault", x - 9, 0);
    }
  }
  const context = canvasOf(canvas, width, height);
  context.drawImage(timelineImage, 0, 0, width, height);
  const x = ((t + 0.5) * width) / N;
  context.fillStyle = colours.ink;
  context.fillRect(x - 1, 0, 2, height);
}

// ---- Cells ----

// The write to which a jump leads, and the cell that is explained at any time until another one is.
let inspected = null,
  pinned = null;

function pin(memory, cell) {
  const last = pinned;
  pinned = cell && { memory, cell };
  if (last) drawGrid(last.memory);
  if (!cell) {
    element("cell-text").textContent = "";
    element("cell-jump").hidden = true;
    return;
  }
  inspect(memory, cell);
  drawGrid(memory);
}

function lastWriteTo(memory, position) {
  for (let i = writesUpTo(t) - 1; i >= 0; i--) {
    if (
      writes.memory[i] === memory.index &&
      writes.position[i] < position + memory.size &&
      position < writes.position[i] + writes.bytes[i]
    )
      return i;
  }
  return -1;
}

function inspect(memory, cell) {
  const text = element("cell-text"),
    jump = element("cell-jump");
  if (!cell) return;
  const position = positionOfCell(memory, cell),
    m = R.memories[memory.index];
  const ratio = memory.ownSize / memory.size,
    columns = memory.wholeColumns * ratio;
  const offset = ((memory.row + cell.row) * columns + memory.column * ratio + cell.column) * memory.size;
  if (offset >= m.bytes) return;
  const value = isKnown(memory, position)
    ? showValue(valueAt(memory.view, position, memory.element), memory.element, 9)
    : "never written";
  const bank = memory.space === "shared" ? `, bank ${Math.floor((m.address + offset) / 4) % 32}` : "";
  const write = lastWriteTo(memory, position);
  let words = `${cellName(memory, offset)} = ${value} (${hexAddress(m.address + offset)}${bank})`;
  jump.hidden = write < 0 || writes.lane[write] < 0;
  if (write >= 0 && writes.lane[write] < 0)
    words += `: written by another block before ${ordinal(writes.frame[write])}`;
  else if (write >= 0) {
    const frame = writes.frame[write];
    const place = shortPlace(codeAt(F.pc[frame])[2]);
    words += `: written by warp ${F.warp[frame]} lane ${writes.lane[write]} at ${place}, ${ordinal(frame)}`;
    jump.textContent = `Go to ${ordinal(frame)}`;
    inspected = frame;
  } else words += value === "never written" ? "" : ": its value before the recording";
  if (jump.hidden) inspected = null;
  text.textContent = words;
}

function jumpToWrite() {
  if (inspected !== null) go(inspected);
}

function gridKey(memory, event) {
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  if (moves[event.key] && !event.shiftKey) {
    const own = pinned?.memory === memory ? pinned.cell : { row: 0, column: -moves[event.key][1] };
    const [down, right] = moves[event.key];
    pin(memory, {
      row: Math.max(0, Math.min(memory.rows - 1, own.row + down)),
      column: Math.max(0, Math.min(memory.columns - 1, own.column + right)),
    });
  } else if (event.key === "Enter" && pinned) jumpToWrite();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

// ---- Time ----

const isFollowedFrame = frame =>
  followed.warp < 0 ||
  (F.warp[frame] === followed.warp && (followed.lane < 0 || ((F.lanes[frame] >>> followed.lane) & 1) === 1)) ||
  isFault(frame);

function step(direction, from = t) {
  for (let frame = from + direction; frame >= 0 && frame < N; frame += direction)
    if (isFollowedFrame(frame)) return frame;
  return from;
}

// The next source line of the warp, or the beginning of this or the line before.
function stepLine(direction) {
  const warp = F.warp[t],
    here = lineKey(F.pc[t]);
  const ofWarp = frame => F.warp[frame] === warp;
  if (direction > 0) {
    for (let frame = t + 1; frame < N; frame++) if (ofWarp(frame) && lineKey(F.pc[frame]) !== here) return frame;
    return N - 1;
  }
  const before = frame => {
    for (frame--; frame >= 0; frame--) if (ofWarp(frame)) return frame;
    return -1;
  };
  const previous = before(t);
  if (previous < 0) return 0;
  const line = lineKey(F.pc[previous]);
  let first = previous;
  for (let frame = before(previous); frame >= 0 && lineKey(F.pc[frame]) === line; frame = before(frame)) first = frame;
  return first;
}

function nextBarrier(direction) {
  for (let frame = t + direction; frame >= 0 && frame < N; frame += direction)
    if (isBarrier(frame) && isFollowedFrame(frame)) return frame;
  return direction > 0 ? N - 1 : 0;
}

function go(frame) {
  t = Math.max(0, Math.min(N - 1, Math.round(frame)));
  update();
}

let isPlaying = false,
  lastTick = 0,
  owed = 0;

function play(on) {
  isPlaying = on && t < N - 1;
  element("play").textContent = isPlaying ? "Pause" : "Play";
  element("play").setAttribute("aria-pressed", isPlaying);
  // A screen reader reads lines on request only, not while they fly past.
  element("line-text").setAttribute("aria-live", isPlaying ? "off" : "polite");
  lastTick = performance.now();
  owed = 0;
  if (isPlaying) requestAnimationFrame(tick);
}

function tick(now) {
  if (!isPlaying) return;
  owed += Math.min(1, (now - lastTick) / 1000) * Number(element("speed").value);
  lastTick = now;
  let frame = t,
    isStopped = false;
  for (; owed >= 1 && !isStopped; owed--) {
    const next = step(1, frame);
    isStopped = next !== frame && stopsAt(next);
    frame = next;
  }
  if (frame !== t) go(frame);
  if (isStopped || t >= N - 1 || step(1) === t) play(false);
  else requestAnimationFrame(tick);
}

function follow(warp, lane) {
  const isSame = followed.warp === warp && followed.lane === lane;
  followed = isSame ? { warp: -1, lane: -1 } : { warp, lane };
  element("follow-warp").value = followed.warp;
  element("follow-lane").value = followed.lane;
  element("follow-lane").disabled = followed.warp < 0;
  if (followed.warp >= 0 && !isFollowedFrame(t)) {
    const next = step(1);
    t = next !== t ? next : step(-1);
  }
  update();
}

function layout() {
  drawWarps();
  const size = fitCells();
  for (const memory of memories) memory.fit = size;
  timelineImage = null;
  update();
}

function update() {
  showMemoryAt(t);
  element("slider").value = t;
  element("slider").setAttribute("aria-valuetext", `${ordinal(t)}, warp ${F.warp[t]}`);
  showInstruction();
  showSource(F.pc[t]);
  drawWarps();
  memories.forEach(drawGrid);
  if (pinned) inspect(pinned.memory, pinned.cell);
  drawTimeline();
  scrollToAccesses();
}

function legend(into, entries) {
  for (const [draw, text] of entries) {
    const span = make("span"),
      canvas = make("canvas");
    draw(canvasOf(canvas, 15, 15));
    span.append(canvas, text);
    into.append(span);
  }
}

function drawLegends() {
  element("legend").replaceChildren();
  element("lanes-legend").replaceChildren();
  const c = colours,
    box = (context, colour, width) => {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(1.5, 1.5, 12, 12);
    };
  const entries = [
    [context => box(context, c.read, 2), "read"],
    [
      context => {
        box(context, c.write, 2);
        context.fillStyle = c.write;
        context.beginPath();
        context.moveTo(1, 1);
        context.lineTo(9, 1);
        context.lineTo(1, 9);
        context.fill();
      },
      "written",
    ],
    [
      context => {
        hatch(context, 1, 1, 13, 13, c.muted);
        box(context, c.rule, 1);
      },
      "never written",
    ],
  ];
  if (R.fault?.cell)
    entries.push([
      context => {
        box(context, c.fault, 2);
        context.beginPath();
        context.moveTo(3, 3);
        context.lineTo(12, 12);
        context.moveTo(12, 3);
        context.lineTo(3, 12);
        context.stroke();
      },
      "fault",
    ]);
  legend(element("legend"), entries);
  legend(
    element("lanes-legend"),
    STATES.map((name, state) => [context => drawState(context, state, 1, 1, 14), name]),
  );
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target instanceof HTMLSelectElement) return;
  const isButton = event.target.matches("button, summary") && (event.key === " " || event.key === "Enter");
  if (isButton) return;
  const rows = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (rows && event.target.matches("button.number")) {
    event.preventDefault();
    return moveInListing(event.target, rows);
  }
  const isLine = event.shiftKey;
  const actions = {
    ArrowLeft: () => go(isLine ? stepLine(-1) : step(-1)),
    ArrowRight: () => go(isLine ? stepLine(1) : step(1)),
    Home: () => go(0),
    End: () => go(N - 1),
    " ": () => play(!isPlaying),
    b: () => go(nextBarrier(1)),
    B: () => go(nextBarrier(-1)),
    c: () => go(nextBreakpoint(1)),
    C: () => go(nextBreakpoint(-1)),
    k: () => toggleBreakpoint(element("listing").querySelector(".line.here")),
    f: () => {
      if (R.fault) go(N - 1);
    },
    p: () => {
      element("view").value = element("view").value === "ptx" ? "source" : "ptx";
      shownFile = undefined;
      update();
    },
    Escape: () => {
      document.activeElement?.blur?.();
      follow(-1, -1);
      if (pinned) pin(pinned.memory, null);
    },
    "+": () => resize(1.25),
    "-": () => resize(0.8),
  };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  if (event.key !== " ") play(false);
  action();
}

function resize(factor) {
  zoom = Math.max(0.5, Math.min(6, zoom * factor));
  update();
}

function connect() {
  const click = (id, action) =>
    element(id).addEventListener("click", () => {
      play(false);
      action();
    });
  click("home", () => go(0));
  click("end", () => go(N - 1));
  click("back", () => go(step(-1)));
  click("on", () => go(step(1)));
  click("back-line", () => go(stepLine(-1)));
  click("on-line", () => go(stepLine(1)));
  click("barrier", () => go(nextBarrier(1)));
  click("to-breakpoint", () => go(nextBreakpoint(1)));
  click("to-fault", () => go(N - 1));
  click("smaller", () => resize(0.8));
  click("larger", () => resize(1.25));
  click("cell-jump", jumpToWrite);
  element("play").addEventListener("click", () => play(!isPlaying));
  element("listing").addEventListener("click", event => {
    // The end of a selection is no click on a line.
    if (getSelection().isCollapsed) toggleBreakpoint(event.target.closest(".line"));
  });
  element("slider").addEventListener("input", event => {
    play(false);
    go(Number(event.target.value));
  });
  element("view").addEventListener("change", () => {
    shownFile = undefined;
    update();
  });
  for (const speed of [1, 2, 5, 10, 30, 100, 300, 1000]) {
    element("speed").append(new Option(`${number(speed)}/s`, speed, false, speed === (N > 2000 ? 100 : 5)));
  }
  element("follow-warp").append(new Option("all warps", -1));
  statuses.forEach((_, warp) => element("follow-warp").append(new Option(`warp ${warp}`, warp)));
  element("follow-lane").append(new Option("all lanes", -1));
  for (let lane = 0; lane < LANES; lane++) element("follow-lane").append(new Option(`lane ${lane}`, lane));
  element("follow-lane").disabled = true;
  element("follow-warp").addEventListener("change", event => {
    followed = { warp: -2, lane: -2 };
    follow(Number(event.target.value), -1);
  });
  element("follow-lane").addEventListener("change", event => {
    const { warp } = followed;
    followed = { warp: -2, lane: -2 };
    follow(warp, Number(event.target.value));
  });
  element("lanes").addEventListener("click", event => {
    const box = element("lanes").getBoundingClientRect(),
      row = laneCell + (statuses.length > 8 ? 0 : 3);
    const warp = Math.floor((event.clientY - box.top - 14) / row),
      lane = Math.floor((event.clientX - box.left - LABEL) / laneCell);
    if (warp >= 0 && warp < statuses.length) follow(warp, lane >= 0 && lane < LANES ? lane : -1);
  });
  const seek = event => {
    const box = element("timeline").getBoundingClientRect();
    play(false);
    go(Math.floor(((event.clientX - box.left) / box.width) * N));
  };
  element("timeline").addEventListener("pointerdown", event => {
    element("timeline").setPointerCapture(event.pointerId);
    seek(event);
  });
  element("timeline").addEventListener("pointermove", event => {
    if (event.buttons) seek(event);
  });
  document.addEventListener("keydown", onKey);
  window.addEventListener("resize", layout);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => {
    readColours();
    drawLegends();
    layout();
  });
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
  setInterval(() => {
    if (!R.fault?.cell || !isFault(t)) return;
    flash = isCalm.matches || !flash;
    drawGrid(memories[R.fault.cell[0]]);
  }, 450);
}

function describeLaunch() {
  element("kernel").textContent = R.kernel;
  const size = ([x, y, z]) => `${x} × ${y} × ${z}`;
  element("launch").textContent = `grid ${size(R.grid)}, block ${size(R.block)}, ${R.ptx}`;
  const recorded = N - (R.fault && !R.fault.issued ? 1 : 0),
    which = R.fault ? "last" : "first";
  const extent =
    recorded === R.issued
      ? `all ${plural(R.issued, "instruction")}`
      : `the ${which} ${number(recorded)} of ${plural(R.issued, "instruction")}`;
  element("extent").textContent = `block (${R.index.join(", ")}): ${extent}`;
  const hint = R.other_fault
    ? `Another block has a fault: ${R.other_fault}`
    : recorded < R.issued
      ? `Only a part is recorded: ${extent}.`
      : "";
  element("notice").textContent = hint;
}

async function begin() {
  R = JSON.parse(new TextDecoder().decode(await unpack("recording")));
  const { time, warp, pc, lanes, skipped } = R.frames;
  F = { time: summed(time), warp: summed(warp), pc: summed(pc), lanes, skipped };
  N = lanes.length;
  statuses = R.existing.map(() => []);
  for (const status of R.statuses) statuses[status[1]].push(status);
  prepareMemories();
  prepareLines();
  prepareBefore();
  readColours();
  describeLaunch();
  prepareGrids();
  prepareFault();
  connect();
  drawLegends();
  element("slider").max = N - 1;
  // The fragment #46 of the address is the instruction to begin with.
  const asked = Number(location.hash.slice(1));
  t = asked > 0 ? Math.max(0, Math.min(N - 1, asked - 1 - R.first)) : 0;
  layout();
  document.body.dataset.ready = "true";
}

begin().catch(error => {
  element("notice").textContent = `The recording cannot be shown: ${error.message}`;
});
