// What the scripts of this folder do with the page in a browser: wait, click, press keys, and read the
// accessibility tree.

import { press as pressKey } from "../../../neural-net/draw/tests/draw/devtools.mjs";

const LANDMARKS = ["banner", "navigation", "main", "contentinfo", "region", "form", "status"];

// The actions on a page of `withBrowser`.
export function drive({ send, evaluate }) {
  const until = async condition => {
    const end = Date.now() + 300_000;
    while (!(await evaluate(condition))) {
      if (Date.now() > end) throw new Error(`never true: ${condition}`);
      await new Promise(resolve => setTimeout(resolve, 10));
    }
  };
  const idle = () => until(`document.body.dataset.busy === "false"
    && ["verdict", "own-verdict"].every(id => !/^(Running|Reading)/.test(document.getElementById(id).textContent))`);
  // A click of the mouse in the middle of an element.
  const click = async selector => {
    const { x, y } = await evaluate(`(() => {
      const chosen = document.querySelector(${JSON.stringify(selector)});
      chosen.scrollIntoView({ block: "center" });
      const box = chosen.getBoundingClientRect();
      return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
    })()`);
    for (const type of ["mousePressed", "mouseReleased"])
      await send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
  };
  const text = id => evaluate(`document.getElementById("${id}").textContent`);
  const press = (key, modifiers) => pressKey(send, key, modifiers);
  // Types characters, one key after the other.
  const type = async text => {
    for (const character of text) {
      // A sign's own number would be the code of another key.
      const code = /\w/.test(character) ? character.toUpperCase().charCodeAt(0) : 0;
      const event = { key: character, windowsVirtualKeyCode: code };
      await send("Input.dispatchKeyEvent", { type: "keyDown", ...event, text: character });
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    }
  };
  // Presses Tab until an element has the focus; the number of presses.
  const tabTo = async selector => {
    for (let presses = 1; presses < 80; presses++) {
      await press("Tab");
      if (await evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return presses;
    }
    throw new Error(`the Tab key does not reach ${selector}`);
  };
  // The page for a screen reader, from the browser's accessibility tree.
  const tree = async () => {
    const answer = await send("Accessibility.getFullAXTree");
    const nodes = answer.nodes
      .filter(node => !node.ignored)
      .map(({ role, name, properties }) => ({
        role: role.value,
        name: name?.value ?? "",
        focusable: properties?.some(of => of.name === "focusable" && of.value.value) ?? false,
        live: properties?.find(of => of.name === "live")?.value.value,
      }));
    const isNameless = node => node.focusable && node.name === "" && node.role !== "RootWebArea";
    return {
      landmarks: nodes.filter(node => LANDMARKS.includes(node.role)).map(({ role, name }) => `${role}: ${name}`),
      nameless: nodes.filter(isNameless).map(node => node.role),
      live: nodes.filter(node => node.live === "polite").map(node => node.role),
    };
  };
  // The window; one of at most 800 pixels is a telephone's.
  const resize = (width, height) =>
    send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 800 });
  // Once the page is ready. It ends a run after a minute: on a busy machine a test waits longer.
  const ready = async () => {
    await evaluate(`(() => {
      const begin = window.setTimeout;
      window.setTimeout = (action, milliseconds, ...values) =>
        begin(action, milliseconds >= 60_000 ? 600_000 : milliseconds, ...values);
    })()`);
    await until(`document.body.dataset.ready === "true"`);
  };
  return { until, idle, click, text, press, type, tabTo, tree, resize, ready };
}

// Prints a report as JSON. A pipe takes a long text in parts: the process ends once it has all.
export function print(report) {
  process.stdout.write(JSON.stringify(report), () => process.exit());
}
