// Uses the page in headless Chromium by the keyboard, a mouse and a finger, and prints what it shows, as JSON: all examples, three training
// steps, patterns of units, and the weights before training. Usage: node inside.mjs CHROMIUM PAGE

import { withBrowser } from "./devtools.mjs";
import { hands } from "./hands.mjs";

const [chromium, page] = process.argv.slice(2);

// What the page shows. A pixel of a pattern is its opacity, 0 to 255, negative where it is orange.
const SHOWN = `(() => {
  const text = id => element(id).textContent;
  const signed = id => {
    const { data } = element(id).getContext("2d").getImageData(0, 0, 28, 28);
    return Array.from({ length: 784 }, (_, at) => (data[4 * at] > data[4 * at + 2] ? -1 : 1) * data[4 * at + 3]);
  };
  const focused = document.activeElement, box = focused.getBoundingClientRect();
  return {
    answer: text("answer"), distance: text("distance"), taught: text("taught"), name: text("name"), unit: text("unit"),
    focus: focused.getAttribute("aria-label") ?? focused.textContent, side: Math.min(box.width, box.height),
    image: [...image], outputs: [...activations.subarray(192)], pattern: signed("pattern"), change: signed("change"),
  };
})()`;

// How far the page is wider than a window of each width, in pixels.
async function overflows({ send, evaluate }) {
  const overflows = [];
  for (const width of [1400, 390, 320]) {
    await send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
    overflows.push(await evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"));
  }
  await send("Emulation.clearDeviceMetricsOverride");
  return overflows;
}

async function use(browser) {
  const { send, evaluate, open, report } = browser;
  const { afterFrame, mouse, touch, press } = hands(browser);
  const shown = () => afterFrame(SHOWN);
  await send("Emulation.setFocusEmulationEnabled", { enabled: true });
  await send("Emulation.setTouchEmulationEnabled", { enabled: true });
  await open(page);
  while (!(await evaluate("Boolean(network)"))) await afterFrame("0");
  report.overflows = await overflows(browser);

  // Clear is the first stop, the examples are the second.
  await press("Tab", 2);
  report.examples = [];
  for (let at = 0; at < 23; at++) {
    await press("Enter");
    report.examples.push(await shown());
    await press("ArrowRight");
  }

  // "It is a 3" for the first 2, three times.
  await press("Home");
  await press("ArrowRight", 4);
  await press("Enter");
  await press("Tab");
  await press("ArrowRight", 3);
  report.steps = [];
  for (let step = 0; step < 3; step++) {
    await press("Enter");
    report.steps.push(await shown());
  }
  await press("Tab");
  report.undo = await shown();
  await press("Enter");
  report.undone = await shown();

  const middle = async button => {
    const { x, y, width, height } = await evaluate(`(${button}.scrollIntoView(), ${button}.getBoundingClientRect().toJSON())`);
    return [x + width / 2, y + height / 2];
  };
  report.units = [];
  await mouse("mouseMoved", await middle("units[0][19]"), "mouse");
  report.units.push(await shown());
  await mouse("mouseMoved", await middle("element('weights')"), "mouse");
  report.left = await shown();
  const place = await middle("units[1][9]");
  const clicked = evaluate("new Promise(done => addEventListener('click', () => done(), { once: true }))");
  await touch("touchStart", [place]);
  await touch("touchEnd", []);
  await clicked;
  report.units.push(await shown());
  await evaluate("element('digits').querySelector('[tabindex=\"0\"]').focus()");
  await press("Tab");
  await press("ArrowDown", 2);
  report.units.push(await shown());

  await press("Tab");
  await press("ArrowRight");
  report.untrained = await shown();
  return report;
}

const text = JSON.stringify(await withBrowser(chromium, use));
// A pipe takes a long text in parts: the process ends once it has all.
process.stdout.write(text, () => process.exit());
