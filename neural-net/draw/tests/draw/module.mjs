// Reads images, 784 bytes each, from stdin, and prints what the page's WebAssembly module predicts for each, as JSON.
// Usage: node module.mjs PAGE

import { readFileSync } from "node:fs";

const page = readFileSync(process.argv[2], "utf8");
const [, base64] = page.match(/<script id="wasm" type="text\/plain">([^<]*)</);
const { instance } = await WebAssembly.instantiate(Buffer.from(base64, "base64"));
const { memory, image, activations, predict } = instance.exports;
const pixels = new Uint8Array(memory.buffer, image(), 784);
const outputs = new Float32Array(memory.buffer, activations(), 202).subarray(192);

const images = readFileSync(0);
const answers = [];
for (let at = 0; at < images.length; at += 784) {
  pixels.set(images.subarray(at, at + 784));
  answers.push({ digit: predict(), outputs: [...outputs] });
}
console.log(JSON.stringify(answers));
