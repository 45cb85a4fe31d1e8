// Headless Chromium, driven by the Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol) through
// the browser's file descriptors 3 and 4.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Removes a browser's profile. Processes that outlive the browser may still write to it: then files are left in the system's folder for them.
export function removeProfile(profile) {
  try {
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  } catch (error) {
    console.error(`${profile} is left: ${error.message}`);
  }
}

const CODES = {
  Tab: 9, Enter: 13, Escape: 27, " ": 32, End: 35, Home: 36, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40,
};

// Presses a key by requests of `send`. Modifiers: 2 is Ctrl, 8 is Shift.
export async function press(send, key, modifiers = 0) {
  const event = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: CODES[key] ?? key.charCodeAt(0), modifiers };
  const text = { Enter: "\r", " ": " " }[key];
  const commands = key === "a" && modifiers === 2 ? ["selectAll"] : [];
  const type = text && !modifiers ? "keyDown" : "rawKeyDown";
  await send("Input.dispatchKeyEvent", { type, ...event, text, commands });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
}

// Milliseconds after which a browser counts as one that hangs: the tests take a minute.
const LIMIT = 1_200_000;

// Runs an action with a browser, and returns what it returns. The action gets
// - `send(method, parameters)`: the result of a request,
// - `evaluate(expression)`: the value of an expression in the page,
// - `open(file)`: loads the page of a file,
// - `report`: `loaded`, the addresses of what the page has loaded, and `errors`, its uncaught errors and what its policy blocks.
export async function withBrowser(chromium, action) {
  const profile = mkdtempSync(join(tmpdir(), "page-"));
  const options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", `--user-data-dir=${profile}`];
  // Its temporary files are in the profile, which is removed at the end.
  const env = { ...process.env, TMPDIR: profile };
  const browser = spawn(chromium, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], env });
  const [, , , requests, responses] = browser.stdio;
  const ended = new Promise(resolve => browser.on("exit", resolve));

  // Requests wait for the response with their number.
  const waiting = new Map(), report = { loaded: [], errors: [] };
  let session, sent = 0, onLoad = () => {};
  function send(method, params = {}) {
    const id = ++sent;
    requests.write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  }
  function onEvent(method, params) {
    if (method === "Network.requestWillBeSent") report.loaded.push(params.request.url);
    if (method === "Runtime.exceptionThrown") report.errors.push(params.exceptionDetails.exception.description);
    if (method === "Log.entryAdded" && params.entry.source === "security") report.errors.push(params.entry.text);
    if (method === "Page.loadEventFired") onLoad();
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
  async function open(file) {
    const loading = new Promise(resolve => { onLoad = resolve; });
    await send("Page.navigate", { url: pathToFileURL(file).href });
    await loading;
  }
  async function run() {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    for (const domain of ["Log", "Network", "Page", "Runtime"]) await send(`${domain}.enable`);
    return action({ send, evaluate, open, report });
  }

  const tooLong = new Promise((_, reject) => setTimeout(reject, LIMIT, new Error("the browser takes too long")));
  const stopped = ended.then(code => { throw new Error(`the browser has ended with exit code ${code}`); });
  stopped.catch(() => {});
  try {
    return await Promise.race([run(), tooLong, stopped]);
  } finally {
    browser.kill();
    await ended;
    removeProfile(profile);
  }
}
