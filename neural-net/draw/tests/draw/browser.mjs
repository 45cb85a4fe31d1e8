// Draws on the page in headless Chromium by pointer events, and prints what it shows, as JSON.
// Usage: node browser.mjs CHROMIUM PAGE <DRAWINGS, where DRAWINGS is a JSON array of {pointer, strokes}; pointer is
// "mouse", "pen" or "touch", and strokes are lists of points (x, y) in widths of the field.
//
// It speaks the Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol) through the browser's file
// descriptors 3 and 4.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, page] = process.argv.slice(2);
const drawings = JSON.parse(readFileSync(0, "utf8"));
const profile = mkdtempSync(join(tmpdir(), "draw-"));
const options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", `--user-data-dir=${profile}`];
// Its temporary files are in the profile, which is removed at the end.
const env = { ...process.env, TMPDIR: profile };
const browser = spawn(chromium, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], env });
const [, , , requests, responses] = browser.stdio;
const ended = new Promise(resolve => browser.on("exit", resolve));

// Requests wait for the response with their number; events are passed to `onEvent`.
const waiting = new Map();
let session;
let onEvent = () => {};
function send(method, params = {}) {
  const id = waiting.size + 1;
  requests.write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}
let received = "";
responses.setEncoding("utf8").on("data", text => {
  const messages = (received + text).split("\0");
  received = messages.pop();
  for (const { id, result, error, method, params } of messages.map(message => JSON.parse(message))) {
    if (!id) onEvent(method, params);
    else if (error) waiting.get(id).reject(new Error(error.message));
    else waiting.get(id).resolve(result);
  }
});

async function evaluate(expression) {
  const answer = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception.description);
  return answer.result.value;
}

// The value of an expression once the page has shown the last event, which it does in its next animation frame.
const afterFrame = expression =>
  evaluate(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(${expression}))))`);

function mouse(type, [x, y], pointerType) {
  const buttons = Number(type !== "mouseReleased");
  return send("Input.dispatchMouseEvent", { type, x, y, pointerType, button: "left", buttons, clickCount: 1 });
}

function touch(type, points) {
  return send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y]) => ({ x, y })) });
}

async function draw(points, pointer) {
  const [first, ...others] = points, last = points.at(-1);
  // The moves are sent without waiting, so that the page gets several in one event.
  if (pointer === "touch") {
    await touch("touchStart", [first]);
    await Promise.all(others.map(point => touch("touchMove", [point])));
    await touch("touchEnd", []);
  } else {
    await mouse("mousePressed", first, pointer);
    await Promise.all(others.map(point => mouse("mouseMoved", point, pointer)));
    await mouse("mouseReleased", last, pointer);
  }
}

async function run() {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
  const report = { shown: [], loaded: [], errors: [] };
  const loading = new Promise(resolve => {
    onEvent = (method, params) => {
      if (method === "Network.requestWillBeSent") report.loaded.push(params.request.url);
      if (method === "Runtime.exceptionThrown") report.errors.push(params.exceptionDetails.exception.description);
      if (method === "Page.loadEventFired") resolve();
    };
  });
  for (const domain of ["Network", "Page", "Runtime"]) await send(`${domain}.enable`);
  await send("Emulation.setTouchEmulationEnabled", { enabled: true });
  await send("Page.navigate", { url: pathToFileURL(page).href });
  await loading;
  while (!(await evaluate("Boolean(network)"))) await afterFrame("0");
  report.text = await afterFrame("element('answer').textContent");

  const box = id => evaluate(`element("${id}").getBoundingClientRect().toJSON()`);
  const field = await box("field"), button = await box("clear");
  const clear = [button.left + button.width / 2, button.top + button.height / 2];
  for (const { pointer, strokes } of drawings) {
    const place = ([x, y]) => [field.left + x * field.width, field.top + y * field.height];
    for (const stroke of strokes) await draw(stroke.map(place), pointer);
    const shown = await afterFrame(
      "({ text: element('answer').textContent, image: [...image], outputs: [...activations.subarray(192)] })",
    );
    await mouse("mousePressed", clear, "mouse");
    await mouse("mouseReleased", clear, "mouse");
    shown.cleared = await afterFrame("element('answer').textContent");
    report.shown.push(shown);
  }
  return report;
}

const tooLong = new Promise((_, reject) => setTimeout(reject, 180_000, new Error("the browser takes too long")));
const stopped = ended.then(code => { throw new Error(`the browser has ended with exit code ${code}`); });
stopped.catch(() => {});
try {
  console.log(JSON.stringify(await Promise.race([run(), tooLong, stopped])));
} finally {
  browser.kill();
  await ended;
  rmSync(profile, { recursive: true, force: true });
}
process.exit();
