// Reads images, 784 bytes each, from stdin, and prints what the page's WebAssembly module predicts for each, and what after a
// training step for 9 minus the digit, as JSON.
// Usage: node module.mjs PAGE

import { readFileSync } from "node:fs";

const page = readFileSync(process.argv[2], "utf8");
const [, base64] = page.match(/<script id="wasm" type="text\/plain">([^<]*)</);
const { instance } = await WebAssembly.instantiate(Buffer.from(base64, "base64"));
const { memory, load, image, activations, predict, nearest, distance, verdict, step } = instance.exports;
load(true);
const pixels = new Uint8Array(memory.buffer, image(), 784);
const outputs = new Float32Array(memory.buffer, activations(), 202).subarray(192);

const images = readFileSync(0);
const answers = [];
for (let at = 0; at < images.length; at += 784) {
  pixels.set(images.subarray(at, at + 784));
  const answer = { digit: predict(), outputs: [...outputs], nearest: nearest(), distance: distance(), verdict: verdict() };
  step(9 - answer.digit);
  predict();
  answers.push({ ...answer, stepped: [...outputs] });
  load(true);
}
console.log(JSON.stringify(answers));
