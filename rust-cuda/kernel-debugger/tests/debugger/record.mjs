// Plays recordings in headless Chromium by keys, buttons and the slider, and prints what they show, as JSON.
// Usage: node record.mjs CHROMIUM PAGE…
//
// It speaks the Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol) through the browser's file
// descriptors 3 and 4.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, ...pages] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "record-"));
const options = [
  "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--no-first-run", `--user-data-dir=${profile}`,
];
// Its temporary files are in the profile, which is removed at the end.
const env = { ...process.env, TMPDIR: profile };
const browser = spawn(chromium, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], env });
const [, , , requests, responses] = browser.stdio;
const ended = new Promise(resolve => browser.on("exit", resolve));

// Requests wait for the response with their number; events are passed to `onEvent`.
const waiting = new Map();
let session, onEvent = () => {}, sent = 0;
function send(method, params = {}) {
  const id = ++sent;
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

async function press(key, code, virtualKey) {
  const event = { key, code, windowsVirtualKeyCode: virtualKey };
  await send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  return shown();
}

const shown = () => evaluate(`(() => {
  const text = id => document.getElementById(id).textContent;
  return {
    line: text("line-text"), place: text("place"), position: text("position"), who: text("who"),
    fault: text("fault-text"), threads: text("fault-threads"), isFaultShown: !document.getElementById("fault").hidden,
  };
})()`);

const slideTo = part => evaluate(`(() => {
  const slider = document.getElementById("slider");
  slider.value = Math.floor(Number(slider.max) * ${part});
  slider.dispatchEvent(new Event("input", { bubbles: true }));
})()`);

async function play(page) {
  const report = { loaded: [], errors: [] };
  onEvent = (method, params) => {
    if (method === "Network.requestWillBeSent") report.loaded.push(params.request.url);
    if (method === "Runtime.exceptionThrown") report.errors.push(params.exceptionDetails.exception.description);
    if (method === "Log.entryAdded") report.errors.push(params.entry.text);
  };
  const url = pathToFileURL(page).href;
  await send("Page.navigate", { url });
  // The page before may still be there.
  const isReady = `location.href === ${JSON.stringify(url)} && document.body?.dataset.ready === 'true'`;
  while (!(await evaluate(isReady))) await new Promise(done => setTimeout(done, 50));
  report.title = await evaluate("document.title");
  report.scripts = await evaluate("document.scripts.length");
  report.images = await evaluate("document.images.length");
  await slideTo(1);
  report.end = await shown();
  if (report.end.isFaultShown) {
    await evaluate("document.querySelector('#fault button').click()");
    report.other = await shown();
    await evaluate("pin(memories[R.fault.cell[0]], { row: 0, column: 31 })");
    report.cell = await evaluate("document.getElementById('cell-text').textContent");
  } else {
    report.lastValues = await evaluate(`(() => {
      const { content } = memories.find(memory => memory.name === "out");
      return [...new Float32Array(content.buffer).slice(-4)];
    })()`);
  }
  await slideTo(0.5);
  report.middle = await shown();
  report.home = await press("Home", "Home", 36);
  report.right = await press("ArrowRight", "ArrowRight", 39);
  report.barrier = await press("b", "KeyB", 66);
  // A breakpoint by a click on the line of the barrier, its next arrivals, and the same by keys.
  report.breakpoint = await evaluate(`(() => {
    const at = () => [document.querySelector(".line.here .number").textContent, t];
    const here = document.querySelector(".line.here"), line = here.querySelector("button.number");
    here.querySelector(".text").click();
    const pressed = line.getAttribute("aria-pressed");
    go(0);
    const stops = [];
    for (let i = 0; i < 3; i++) {
      document.getElementById("to-breakpoint").click();
      stops.push(at());
    }
    line.focus();
    return { line: line.textContent, name: line.getAttribute("aria-label"), pressed, stops };
  })()`);
  await press("ArrowDown", "ArrowDown", 40);
  report.breakpoint.below = await evaluate("Number(document.activeElement.textContent)");
  await press("ArrowUp", "ArrowUp", 38);
  for (const type of ["keyDown", "keyUp"])
    await send("Input.dispatchKeyEvent", { type, key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" });
  report.breakpoint.left = await evaluate("[...breakpoints].length");
  return report;
}

async function run() {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
  for (const domain of ["Network", "Page", "Runtime", "Log"]) await send(`${domain}.enable`);
  const reports = [];
  for (const page of pages) reports.push(await play(page));
  return reports;
}

const tooLong = new Promise((_, reject) => setTimeout(reject, 1_200_000, new Error("the browser takes too long")));
const stopped = ended.then(code => { throw new Error(`the browser has ended with exit code ${code}`); });
stopped.catch(() => {});
try {
  console.log(JSON.stringify(await Promise.race([run(), tooLong, stopped])));
} finally {
  // A browser that closes by itself ends its other processes first, which would write to the profile.
  session = undefined;
  send("Browser.close").catch(() => {});
  const timeout = setTimeout(() => browser.kill(), 300_000);
  await ended;
  clearTimeout(timeout);
  try {
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  } catch (error) {
    // Processes that outlive the browser may still write to it.
    console.error(`${profile} is left: ${error.message}`);
  }
}
process.exit();
