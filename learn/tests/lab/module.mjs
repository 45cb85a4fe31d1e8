// Answers requests in the page's WebAssembly module, and prints the answers, as JSON.
// Usage: node module.mjs PAGE <REQUESTS, where REQUESTS is a JSON array of texts. To them come those of all lessons and
// kernels of the page, with the lesson's size; each has its request, its answer, and what the page makes of the result.

import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";

const page = readFileSync(process.argv[2], "utf8");
const part = id => page.match(new RegExp(`<script id="${id}"[^>]*>([^<]*)<`))[1].trim();
const unpack = id => inflateSync(Buffer.from(part(id), "base64"));
const learn = JSON.parse(unpack("learn"));
const script = id => page.match(new RegExp(`<script id="${id}">([^]*?)</script>`))[1];
const lessons = `${script("base-script")}\n${script("lessons-script")}`;
const { LESSONS, launchOf, compare } = new Function(`${lessons}\nreturn { LESSONS, launchOf, compare };`)();

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
for (const lesson of LESSONS) {
  for (const kernel of lesson.kernels) {
    const launch = launchOf(lesson, kernel, lesson.size);
    const request = JSON.stringify({ task: "check", ptx: learn.ptx, names: learn.names, launch, orders: 2, seed: 0 });
    const text = answerTo(request), { buffers } = JSON.parse(text), problem = lesson.data(lesson.size);
    const { found, states } = compare(buffers.find(buffer => buffer.name === problem.out), problem);
    const { page, size } = lesson, { name, role } = kernel, isRight = states.every(state => state === 0);
    // JSON has no NaN, which a wrong result may contain.
    runs.push({ page, size, kernel: name, role, request, answer: text, found: isRight ? found : [], isRight });
  }
}
const others = JSON.parse(readFileSync(0, "utf8")).map(request => answerTo(request));
console.log(JSON.stringify({ runs, others }));
