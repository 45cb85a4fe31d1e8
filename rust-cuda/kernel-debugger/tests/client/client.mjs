// Drives the debugger by VS Code's own test client, started as the extension starts it: node client.mjs WORKSPACE
//
// A breakpoint at the first barrier of X·Xᵀ by tiles in shared memory, the tile as a matrix, a step over the barrier, a
// step back, a sum by its name, and on to the end.

import assert from "node:assert";
import { readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { DebugClient } from "@vscode/debugadapter-testsupport";

const [workspace] = process.argv.slice(2);

// The extension with the few parts of VS Code that it uses.
let factory;
const vscode = {
  ProgressLocation: { Notification: 15 },
  window: {
    createOutputChannel: () => ({ append: console.error, show: () => {} }),
    withProgress: (_, task) => task(),
  },
  DebugAdapterExecutable: class {
    constructor(command, words, options) {
      Object.assign(this, { command, words, options });
    }
  },
  debug: {
    registerDebugAdapterDescriptorFactory: (type, registered) => {
      assert.equal(type, "kernel");
      factory = registered;
    },
  },
};
const load = Module._load;
Module._load = (request, ...others) => (request === "vscode" ? vscode : load(request, ...others));
createRequire(import.meta.url)(`${workspace}/rust-cuda/kernel-debugger/vscode/extension.js`).activate({ subscriptions: [] });
const configuration = { sourceRoot: workspace };
const { command, words, options } = await factory.createDebugAdapterDescriptor({ configuration });
const path = `${workspace}/rust-cuda/test_kernels/src/stepping.rs`;
const lineWith = (text) => readFileSync(path, "utf8").split("\n").findIndex((line) => line.includes(text)) + 1;
const [barrier, product] = [lineWith("sync_threads"), lineWith("sum = math::fma")];
const columns = 40;

const client = new DebugClient("/usr/bin/env", `-S${[command, ...words].join(" ")}`, "kernel", options);
// A busy machine takes longer than the library's five seconds.
client.defaultTimeout = 600_000;
const stopped = () => client.waitForEvent("stopped");
const line = async (threadId) => (await client.stackTraceRequest({ threadId })).body.stackFrames[0].line;

await client.start();
const launchFile = `${workspace}/rust-cuda/kernel-debugger/launches/matmul_tiles_f32.json`;
await Promise.all([
  client.configurationSequence(),
  client.launch({ launchFile, sourceRoot: workspace, stopOnEntry: true }),
  client.assertStoppedLocation("entry", {}),
]);

// Once each of the 32 warps has come to the barrier, the tile is complete.
await client.setBreakpointsRequest({ source: { path }, breakpoints: [{ line: barrier }] });
for (let warp = 0; warp < 32; warp++) {
  const [event] = await Promise.all([stopped(), client.continueRequest({ threadId: 1 })]);
  assert.equal(event.body.reason, "breakpoint");
  assert.equal(event.body.threadId, warp + 1);
}
const tile = (await client.evaluateRequest({ expression: "shared0 as f32 32x33 [..][..32]" })).body;
const rows = (await client.variablesRequest({ variablesReference: tile.variablesReference })).body.variables;
const expected = (row) => Array.from({ length: 32 }, (_, column) => row * columns + column);
assert.equal(rows.length, 32);
rows.forEach(({ value }, row) => assert.deepEqual(value.split(", ").map(Number), expected(row)));

await client.setBreakpointsRequest({ source: { path }, breakpoints: [] });
const threadId = 32;
await Promise.all([stopped(), client.nextRequest({ threadId })]);
assert((await line(threadId)) > barrier, "the step goes over the barrier");
await Promise.all([stopped(), client.stepBackRequest({ threadId })]);
assert.equal(await line(threadId), barrier, "the step back leads to it");

// The sum of warp 2 by its name, before its first term and, the loop being unrolled, four terms later: row 2 of X times
// each of the rows 0 to 31.
const breakpoint = { line: product, condition: "warp == 2" };
await client.setBreakpointsRequest({ source: { path }, breakpoints: [breakpoint] });
const x = (row, column) => row * columns + column;
const term = (row, p) => x(2, p) * x(row, p);
const sums = Array.from({ length: 32 }, (_, row) => term(row, 0) + term(row, 1) + term(row, 2) + term(row, 3));
for (const expected of ["all lanes: 0", sums.join(", ")]) {
  await Promise.all([stopped(), client.continueRequest({ threadId })]);
  const frames = (await client.stackTraceRequest({ threadId: 3 })).body.stackFrames;
  assert.deepEqual(frames.map(({ name }) => name), ["shared_tiles<f32>", "matmul_tiles_f32"]);
  const sum = (await client.evaluateRequest({ expression: "sum", frameId: frames[0].id })).body.result;
  assert.equal(sum, expected);
}
await client.setBreakpointsRequest({ source: { path }, breakpoints: [] });
await Promise.all([client.waitForEvent("terminated"), client.continueRequest({ threadId })]);
await client.stop();
console.log("the session went as expected");
