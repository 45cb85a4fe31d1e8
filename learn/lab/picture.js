// ---- The picture: each thread's reads and writes, phase by phase ----

// A phase of a thread lasts from one barrier or shuffle to the next. Arrays that are read are above the threads of a phase,
// arrays that are written below.

const SVG = "http://www.w3.org/2000/svg";
const draw = (name, attributes = {}, text) => {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};
const short = text => {
  if (text === null || text === undefined) return "?";
  if (text.length <= 5) return text;
  const value = Number(text);
  if (Number.isInteger(value)) return Number.isNaN(value) ? text.slice(0, 5) : value.toExponential(0).replace("e+", "e");
  return value.toPrecision(2).length <= 6 ? value.toPrecision(2) : value.toExponential(0).replace("e+", "e");
};
// Larger grids are drawn one block at a time.
const MAX_DRAWN = 16,
  MAX_WIDTH = 720;
const BLOCK_GAP = 16;

// The width of a cell, of a block with its shared memory, and whether all blocks are drawn.
function sizesOf({ grid, block }, trace) {
  const perBlock = block[0] * block[1] * block[2],
    blockCount = grid[0] * grid[1] * grid[2],
    cell = perBlock > 16 ? 24 : 34;
  const lengths = trace.arrays.filter(array => array.is_shared).map(array => Math.min(array.length, 16));
  const blockWidth = cell * Math.max(perBlock, 2, ...lengths);
  const isAll = blockCount === 1 || (perBlock * blockCount <= MAX_DRAWN && blockCount * (blockWidth + BLOCK_GAP) <= MAX_WIDTH);
  return { perBlock, blockCount, cell, blockWidth, isAll };
}

// What a trace says, by phases: for each one its accesses, and who arrives at its end.
function phasesOf(trace) {
  const counts = new Map(),
    phases = [];
  const phase = index => (phases[index] ??= { accesses: [], arrived: new Set(), shuffles: [] });
  phase(0);
  for (const [block, thread, kind, array, index, value, line] of trace.events) {
    const id = `${block}:${thread}`,
      at = counts.get(id) ?? 0;
    if (kind === "b" || kind === "s") {
      counts.set(id, at + 1);
      phase(at + 1);
      if (kind === "b") phase(at).arrived.add(id);
      else phase(at).shuffles.push({ block, thread, from: array + 32 * Math.floor(thread / 32) });
    } else phase(at).accesses.push({ block, thread, kind, array, index, value, line });
  }
  return phases;
}

// In words, what a thread does, for those who do not see the lines.
function wordsOf(trace, block, thread) {
  const words = trace.events
    .filter(event => event[0] === block && event[1] === thread)
    .map(([, , kind, array, index, value]) => {
      const name = kind === "s" || array === null ? "" : `${trace.arrays[array].name}[${index}]`;
      if (kind === "r") return `reads ${name} = ${value ?? "?"}`;
      if (kind === "w") return `writes ${name} = ${value ?? "?"}`;
      if (kind === "a") return `atomically changes ${name} to ${value ?? "?"}`;
      return kind === "b" ? "waits at the barrier" : `takes the value of lane ${array}`;
    });
  return words.length ? words.join(", ") : "accesses no memory";
}

// The picture of a run as an SVG element. `view` has the trace; the case's `grid`, `block`, `arguments` and `out`;
// `expected` texts or null; `faults`; `block` to draw if there are many threads; `before`, the results in another schedule.
function pictureOf(view) {
  const { trace, grid, block: extents, out, faults, before } = view;
  const { perBlock, blockCount, cell, blockWidth, isAll } = sizesOf({ grid, block: extents }, trace);
  const blocks = isAll ? Array.from({ length: blockCount }, (_, b) => b) : [view.drawnBlock];
  const height = 26,
    gap = BLOCK_GAP,
    labels = 74;
  const phases = phasesOf(trace);
  const arrays = trace.arrays.map((array, index) => {
    const argument = view.arguments.find(({ name }) => name === array.name);
    const shape = array.is_shared ? [array.length] : argument.shape;
    const isMatrix = shape.length === 2;
    return { ...array, index, shape, columns: isMatrix ? shape[1] : array.length, isMatrix, argument };
  });
  const inner = Math.max(360, blocks.length * (blockWidth + gap) - gap);
  for (const array of arrays) {
    const most = array.is_shared ? 16 : Math.max(1, Math.floor(inner / cell));
    if (!array.isMatrix || array.is_shared) array.columns = Math.max(1, Math.min(array.length, most));
  }
  const width = Math.max(inner, ...arrays.map(array => (array.is_shared ? 0 : array.columns * cell))) + labels + 14;
  const blockLeft = position => labels + position * (blockWidth + gap) + (width - labels - 14 - (blocks.length * (blockWidth + gap) - gap)) / 2;

  // The memory's values as the phases go on: by array, and for shared ones by block.
  const values = new Map();
  const key = (array, block) => (arrays[array].is_shared ? `${array}:${block}` : `${array}`);
  const valuesOf = (array, block) => {
    const name = key(array, block);
    if (!values.has(name)) {
      const initial = arrays[array].argument?.values;
      values.set(name, Array.isArray(initial) ? initial.map(String) : Array(arrays[array].length).fill(undefined));
    }
    return values.get(name);
  };
  const fault = faults[0],
    guilty = new Set((fault?.threads ?? []).map(([block, thread]) => `${block}:${thread}`));
  const faultArray = fault?.element ? arrays.findIndex(({ name }) => name === fault.element[0]) : -1,
    faultIndex = fault?.element?.[1];
  if (fault?.class === "barrier divergence") {
    // Not those that wait are at fault, but those that do not arrive.
    const [block] = fault.threads[0],
      last = phases.findLast(({ arrived }) => [...arrived].some(id => id.startsWith(`${block}:`)));
    guilty.clear();
    for (let thread = 0; thread < perBlock; thread++) if (!last?.arrived.has(`${block}:${thread}`)) guilty.add(`${block}:${thread}`);
  }
  // Shared memory has an element in each block.
  const isFaulty = (array, block, index) =>
    array === faultArray && index === faultIndex && (!arrays[array].is_shared || block === fault.threads[0][0]);
  const isGuilty = ({ block, thread, array, index }) =>
    array === faultArray && index === faultIndex && guilty.has(`${block}:${thread}`);

  const back = draw("g"),
    front = draw("g"),
    lines = draw("g"),
    faulty = draw("g");
  let y = 8;
  // Draws a row of arrays; returns where each cell is: by array and block, for an index, its middle and its top.
  const drawArray = (array, block, left, isFinal) => {
    const { columns, length, name } = arrays[array];
    const cells = valuesOf(array, block),
      total = Math.max(length, 1),
      rows = Math.ceil(total / columns),
      top = y;
    const beyond = isFaulty(array, block, faultIndex) && faultIndex >= length ? [faultIndex] : [];
    const placeOf = index => {
      const shown = index < length ? index : length;
      const [row, column] = index < length ? [Math.floor(shown / columns), shown % columns] : [rows - 1, columns + 0.4];
      return { x: left + (column + 0.5) * cell, top: top + row * height, bottom: top + (row + 1) * height - 4 };
    };
    for (const index of [...Array(length).keys(), ...beyond]) {
      const { x, top } = placeOf(index),
        isBeyond = index >= length,
        value = cells[index];
      let kind = value === undefined ? "empty" : "";
      const wanted = isFinal && !isBeyond ? view.expected?.[index] : undefined;
      if (wanted !== undefined) kind = view.states[index] === 0 ? "right" : view.states[index] === 2 ? "empty wanted" : "wrong";
      if (isFaulty(array, block, index)) kind += " fault";
      if (isBeyond) kind = "fault beyond";
      const group = draw("g", { class: `cell ${kind}` });
      group.append(draw("rect", { x: x - cell / 2 + 1, y: top, width: cell - 2, height: height - 4, rx: 3 }));
      const text = isBeyond ? "✗" : value === undefined ? "·" : short(value);
      group.append(draw("text", { x, y: top + 15, "text-anchor": "middle", class: text.length > 3 ? "long" : "" }, text));
      let title = `${name}[${index}]${isBeyond ? " does not exist" : value === undefined ? " is not written yet" : ` = ${value}`}`;
      if (wanted !== undefined) title += `, expected ${wanted}`;
      if (isFinal && before && before[index] !== value) {
        group.append(draw("circle", { cx: x + cell / 2 - 4, cy: top + 2, r: 4, class: "changed" }));
        title += `, ${before[index] ?? "not written"} in the other schedule`;
      }
      group.append(draw("title", {}, title));
      front.append(group);
      if (isFinal && wanted !== undefined && view.states[index] !== 0)
        front.append(draw("text", { x, y: placeOf(index).bottom + 11, "text-anchor": "middle", class: "expected" }, short(String(wanted))));
    }
    return { placeOf, rows };
  };
  // A tier: arrays at one height, global ones first; shared ones below their block.
  const drawTier = (list, isFinal) => {
    const places = new Map();
    const globals = list.filter(array => !arrays[array].is_shared),
      shared = list.filter(array => arrays[array].is_shared);
    for (const array of shared) {
      let tall = 0;
      front.append(draw("text", { x: labels - 8, y: y + 15, "text-anchor": "end", class: "name" }, arrays[array].name));
      blocks.forEach((block, position) => {
        const from = blockLeft(position) + (blockWidth - arrays[array].columns * cell) / 2;
        const { placeOf, rows } = drawArray(array, block, from, false);
        places.set(key(array, block), placeOf);
        tall = Math.max(tall, rows * height);
      });
      back.append(draw("rect", { x: labels - 4, y: y - 4, width: width - labels - 4, height: tall + 4, class: "shared", rx: 5 }));
      y += tall;
    }
    let left = labels,
      rowsInLine = 0;
    const total = globals.reduce((sum, array) => sum + arrays[array].columns * cell + 46, -46);
    const isOneLine = total <= width - labels - 14;
    if (isOneLine && globals.length) left = labels + (width - labels - 14 - total) / 2;
    globals.forEach((array, position) => {
      const final = isFinal && arrays[array].name === out;
      if (!isOneLine) left = labels + (width - labels - 14 - arrays[array].columns * cell) / 2;
      front.append(draw("text", { x: left - 8, y: y + 15, "text-anchor": "end", class: "name" }, arrays[array].name));
      const { placeOf, rows } = drawArray(array, 0, left, final);
      places.set(`${array}`, placeOf);
      const tall = rows * height + (final && view.states?.some(state => state !== 0) ? 14 : 0);
      rowsInLine = Math.max(rowsInLine, tall);
      left += arrays[array].columns * cell + 46;
      if (!isOneLine || position === globals.length - 1) {
        y += rowsInLine;
        rowsInLine = 0;
      }
    });
    return places;
  };
  const threadX = (position, thread) => blockLeft(position) + (blockWidth - perBlock * cell) / 2 + (thread + 0.5) * cell;
  const threadName = thread => (extents[1] === 1 ? `${thread}` : `${thread % extents[0]},${Math.floor(thread / extents[0])}`);
  const lineBetween = (from, to, kind, id, isFault) => {
    const bend = (to.y - from.y) / 2;
    const path = `M${from.x} ${from.y}C${from.x} ${from.y + bend} ${to.x} ${to.y - bend} ${to.x} ${to.y}`;
    (isFault ? faulty : lines).append(draw("path", { d: path, class: `line ${kind}${isFault ? " fault" : ""}`, "data-thread": id }));
  };

  const used = kinds => phase => [...new Set(phase.accesses.filter(({ kind, array, block }) => array !== null && kinds.includes(kind) && blocks.includes(block)).map(({ array }) => array))];
  const readIn = used("r"),
    changedIn = used("wa");
  const outIndex = arrays.findIndex(({ name }) => name === out);
  const given = arrays.filter(({ is_shared, argument }) => !is_shared && Array.isArray(argument?.values)).map(({ index }) => index);
  // The arrays at the bottom of the phase before, which the next one reads from there.
  let above = new Map(),
    aboveList = [];
  phases.forEach((phase, number) => {
    const isLast = number === phases.length - 1;
    const changed = changedIn(phase).sort((a, b) => a - b);
    const wanted = [...new Set([...(number === 0 ? given : []), ...readIn(phase)])].filter(
      array => !aboveList.includes(array) && !(arrays[array].is_shared && changed.includes(array)),
    );
    if (wanted.length) {
      for (const [name, placeOf] of drawTier(wanted, false)) above.set(name, placeOf);
      y += 2;
    }
    const accesses = phase.accesses.filter(({ block }) => blocks.includes(block));
    if (wanted.length || above.size) y += 36;
    const threadsTop = y,
      threadsBottom = y + 22;
    blocks.forEach((block, position) => {
      back.append(draw("rect", { x: blockLeft(position) - 4, y: y - 5, width: blockWidth + 8, height: 32, class: "block", rx: 7 }));
      if (number === 0)
        front.append(draw("text", { x: blockLeft(position), y: y - 9, class: "block-name" }, `block ${block}`));
      for (let thread = 0; thread < perBlock; thread++) {
        const id = `${block}:${thread}`;
        const group = draw("g", { class: `thread${guilty.has(id) ? " fault" : ""}`, "data-thread": id });
        const x = threadX(position, thread);
        group.append(draw("rect", { x: x - cell / 2 + 2, y: threadsTop, width: cell - 4, height: 22, rx: 11 }));
        group.append(draw("text", { x, y: threadsTop + 15, "text-anchor": "middle" }, threadName(thread)));
        front.append(group);
      }
    });
    if (number === 0) front.append(draw("text", { x: labels - 8, y: y + 15, "text-anchor": "end", class: "name" }, "threads"));
    y = threadsBottom;
    // Values after the phase.
    for (const { kind, array, block, index, value } of phase.accesses)
      if (array !== null && kind !== "r") valuesOf(array, block)[index] = value ?? undefined;
    const below = isLast ? [...new Set([...changed, outIndex])] : changed;
    let places = new Map();
    if (below.length) {
      y += 34;
      places = drawTier(below, isLast);
      y += 4;
    }
    const seen = new Set();
    for (const access of accesses) {
      const { block, thread, kind, array, index } = access;
      if (array === null) continue;
      const isFault = isGuilty(access),
        name = key(array, block),
        once = `${block}:${thread}:${kind}:${array}:${index}`;
      if (seen.has(once)) continue;
      seen.add(once);
      const x = threadX(blocks.indexOf(block), thread),
        id = `${block}:${thread}`;
      const meets = kind !== "r" || !above.has(name) || (isFault && places.has(name));
      if (meets && places.has(name)) {
        const { x: at, top } = places.get(name)(index);
        lineBetween({ x, y: threadsBottom }, { x: at, y: top }, kind, id, isFault);
      } else if (above.has(name)) {
        const { x: at, bottom } = above.get(name)(index);
        lineBetween({ x: at, y: bottom }, { x, y: threadsTop }, kind, id, isFault);
      }
    }
    // An access that did not happen: its element does not exist, or the run ended there.
    if (isLast && faultArray >= 0 && fault.class === "out-of-bounds access") {
      const [block, thread] = fault.threads[0];
      const name = key(faultArray, block),
        position = blocks.indexOf(block);
      if (position >= 0) {
        const x = threadX(position, thread);
        if (places.has(name)) {
          const { x: at, top } = places.get(name)(faultIndex);
          lineBetween({ x, y: threadsBottom }, { x: at, y: top }, "w", `${block}:${thread}`, true);
        } else if (above.has(name)) {
          const { x: at, bottom } = above.get(name)(faultIndex);
          lineBetween({ x: at, y: bottom }, { x, y: threadsTop }, "r", `${block}:${thread}`, true);
        }
      }
    }
    for (const { block, thread, from } of phase.shuffles.filter(({ block }) => blocks.includes(block))) {
      const position = blocks.indexOf(block);
      lineBetween({ x: threadX(position, from), y: threadsBottom }, { x: threadX(position, thread), y: y + 36 }, "s", `${block}:${thread}`, false);
    }
    if (!isLast) {
      if (phase.shuffles.length && !phase.arrived.size) y += 36;
      else {
        // A wall, with a hole below each thread that never arrives.
        y += 6;
        blocks.forEach((block, position) => {
          const absent = Array.from({ length: perBlock }, (_, t) => t).filter(t => !phase.arrived.has(`${block}:${t}`));
          if (absent.length === perBlock) return;
          for (let thread = 0; thread < perBlock; thread++) {
            const isAbsent = absent.includes(thread);
            const x = threadX(position, thread);
            front.append(draw("rect", { x: x - cell / 2, y, width: cell, height: 8, class: `wall${isAbsent ? " absent" : ""}` }));
          }
        });
        front.append(draw("text", { x: labels - 8, y: y + 9, "text-anchor": "end", class: "name wall-name" }, "barrier"));
        y += 14;
      }
    }
    above = new Map([...places].map(([name, placeOf]) => [name, placeOf]));
    aboveList = below;
  });
  const svg = draw("svg", { viewBox: `0 0 ${width} ${y + 8}`, role: "img", class: "picture" });
  svg.style.setProperty("--wide", `${width * 1.25}px`);
  svg.append(back, lines, front, faulty);
  return svg;
}

// Lights the lines of one thread, or of all.
function light(id) {
  const svg = element("picture").querySelector("svg");
  if (!svg) return;
  svg.classList.toggle("lit", id !== "");
  for (const part of svg.querySelectorAll("[data-thread]")) part.classList.toggle("on", part.dataset.thread === id);
}
