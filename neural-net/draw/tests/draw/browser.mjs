// Draws on the page in headless Chromium by pointer events, and prints what it shows, as JSON.
// Usage: node browser.mjs CHROMIUM PAGE <DRAWINGS, where DRAWINGS is a JSON array of {pointer, strokes}; pointer is
// "mouse", "pen" or "touch", and strokes are lists of points (x, y) in widths of the field.

import { readFileSync } from "node:fs";
import { withBrowser } from "./devtools.mjs";
import { hands } from "./hands.mjs";

const [chromium, page] = process.argv.slice(2);
const drawings = JSON.parse(readFileSync(0, "utf8"));

async function read(browser) {
  const { send, evaluate, open, report } = browser;
  const { afterFrame, mouse, touch } = hands(browser);

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

  await send("Emulation.setTouchEmulationEnabled", { enabled: true });
  await open(page);
  while (!(await evaluate("Boolean(network)"))) await afterFrame("0");
  Object.assign(report, { shown: [] });
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
  // What the page's policy blocks is an error of the page, but for this.
  const { errors, loaded } = report;
  Object.assign(report, { errors: [], loaded: [] });
  return { ...report, blocked: await evaluate(`(${intrude})()`), errors, loaded };
}

// In the page: tries to run scripts and to send something. The rules by which each is blocked, and what has run.
function intrude() {
  return new Promise(resolve => {
    const blocked = [];
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
      if (blocked.push(effectiveDirective) === 4) resolve([...blocked.sort(), window.ran ?? "nothing has run"]);
    });
    document.body.insertAdjacentHTML("beforeend", "<img src='https://example.org/' alt='' onerror='window.ran = 1'>");
    document.body.append(Object.assign(document.createElement("script"), { textContent: "window.ran = 2" }));
    fetch("https://example.org/").catch(() => {});
  });
}

const text = JSON.stringify(await withBrowser(chromium, read));
// A pipe takes a long text in parts: the process ends once it has all.
process.stdout.write(text, () => process.exit());
