// Answers requests in the page's WebAssembly module, and prints the answers, as JSON.
// Usage: node module.mjs PAGE <REQUESTS, where REQUESTS is a JSON array of texts. To them come those of all puzzles and
// bugs of the page with all of their cases; each has its request, its answer, and what the page makes of the result.

import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";

const page = readFileSync(process.argv[2], "utf8");
const part = id => page.match(new RegExp(`<script id="${id}"[^>]*>([^<]*)<`))[1].trim();
const unpack = id => inflateSync(Buffer.from(part(id), "base64"));
const script = id => page.match(new RegExp(`<script id="${id}">([^]*?)</script>`))[1];
const scripts = `${script("base-script")}\n${script("book-script")}`;
const { bookOf, sourcesOf, launchOf, compare } = new Function(`${scripts}
  return { bookOf, sourcesOf, launchOf, compare };`)();
const book = bookOf(JSON.parse(unpack("learn")));

const { instance } = await WebAssembly.instantiate(unpack("module"));
const { memory, request: place, run, answer } = instance.exports;
function answerTo(request) {
  const bytes = new TextEncoder().encode(request);
  // The memory may grow here, and in the run.
  const at = place(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const length = run();
  return new TextDecoder().decode(new Uint8Array(memory.buffer, answer(), length));
}

const runs = [];
const ask = (entry, key, text) => {
  for (const [index, kase] of entry.cases.entries()) {
    // The first case is drawn, in each of two schedules; the others are checked.
    const tasks = index ? [{ task: "check" }] : ["ascending", "descending"].map(schedule => ({ task: "trace", schedule }));
    for (const task of tasks) {
      const files = sourcesOf(book, text);
      const request = JSON.stringify({ ...task, files, launch: launchOf(entry.name, kase), orders: 4, seed: 0 });
      const answered = answerTo(request),
        { buffers } = JSON.parse(answered);
      const { states } = compare(buffers.find(buffer => buffer.name === kase.out), kase);
      runs.push({ key, case: index, request, answer: answered, isRight: states.every(state => state === 0) });
    }
  }
};
for (const puzzle of book.puzzles) ask(puzzle, puzzle.key, puzzle.solution);
for (const bug of book.bugs) ask(bug, bug.key, bug.blank);
const others = JSON.parse(readFileSync(0, "utf8")).map(request => answerTo(request));
process.stdout.write(JSON.stringify({ runs, others }), () => process.exit());
