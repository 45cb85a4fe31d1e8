// Solves the lessons of the laboratory in headless Chromium, and prints what the page shows, as JSON.
// Usage: node browser.mjs CHROMIUM PAGE <INPUT, where INPUT is {foreign, markup, endless}: PTX of other compilers with
// launches, and two PTX texts.

import { readFileSync } from "node:fs";
import { withBrowser } from "../../../neural-net/draw/tests/draw/devtools.mjs";

const [chromium, page] = process.argv.slice(2);
const { foreign, markup, endless } = JSON.parse(readFileSync(0, "utf8"));

async function solve({ send, evaluate, open, report }) {
  const until = async condition => {
    const end = Date.now() + 300_000;
    while (!(await evaluate(condition))) {
      if (Date.now() > end) throw new Error(`never true: ${condition}`);
      await new Promise(resolve => setTimeout(resolve, 10));
    }
  };
  const idle = () => until(`document.body.dataset.busy === "false"
    && ["verdict", "own-verdict"].every(id => !document.getElementById(id).textContent.startsWith("Running"))`);
  let clicks = 0;
  // A click of the mouse in the middle of an element.
  const click = async selector => {
    clicks++;
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
  const outcome = () => evaluate(`(() => {
    const marked = [];
    let file = "";
    for (const line of document.querySelectorAll("#source > div > div")) {
      if (line.matches(".file")) file = line.textContent;
      if (line.matches(".line.fault, .line.other")) marked.push([file, Number(line.firstChild.textContent)]);
    }
    const faults = [...document.querySelectorAll("#faults li")].map(fault => fault.textContent);
    return { verdict: document.getElementById("verdict").textContent, faults, marked };
  })()`);

  const press = async (key, modifiers = 0) => {
    const code = { Tab: 9, Enter: 13, " ": 32, ArrowDown: 40 }[key];
    const event = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: code, modifiers };
    const text = { Enter: "\r", " ": " " }[key];
    await send("Input.dispatchKeyEvent", { type: text && !modifiers ? "keyDown" : "rawKeyDown", ...event, text });
    await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  };
  // Presses Tab until an element has the focus; the number of presses.
  const tabTo = async selector => {
    for (let presses = 1; presses < 80; presses++) {
      await press("Tab");
      if (await evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return presses;
    }
    throw new Error(`the Tab key does not reach ${selector}`);
  };
  // The roles and names of the nodes of the accessibility tree.
  const tree = async () => {
    const { nodes } = await send("Accessibility.getFullAXTree");
    const shown = nodes.filter(node => !node.ignored);
    return shown.map(({ role, name, properties }) => ({
      role: role.value,
      name: name?.value ?? "",
      focusable: properties?.some(of => of.name === "focusable" && of.value.value) ?? false,
      live: properties?.find(of => of.name === "live")?.value.value,
    }));
  };
  const LANDMARKS = ["banner", "navigation", "main", "contentinfo", "region", "form", "status"];
  const describeTree = nodes => ({
    landmarks: nodes.filter(node => LANDMARKS.includes(node.role)).map(({ role, name }) => `${role}: ${name}`),
    nameless: nodes.filter(node => node.focusable && node.name === "" && node.role !== "RootWebArea").map(node => node.role),
    live: nodes.filter(node => node.live === "polite").map(node => node.role),
    radios: nodes.filter(node => node.role === "radio").map(node => node.name),
  });

  // From opening to the first race, on a processor that is slowed four times.
  await send("Emulation.setDeviceMetricsOverride", { width: 1280, height: 800, deviceScaleFactor: 1, mobile: false });
  await send("Emulation.setCPUThrottlingRate", { rate: 4 });
  const opened = Date.now();
  await open(page);
  // The page ends a run after a minute: on a busy machine a test waits longer.
  await evaluate(`(() => {
    const begin = window.setTimeout;
    window.setTimeout = (action, milliseconds, ...values) => begin(action, milliseconds >= 60_000 ? 600_000 : milliseconds, ...values);
  })()`);
  await until(`document.body.dataset.ready === "true"`);
  await click("#lessons li:nth-child(4) button");
  await click("#run");
  await until(`document.querySelector("#faults li") !== null`);
  report.first = { milliseconds: Date.now() - opened, clicks, ...(await outcome()) };
  await send("Emulation.setCPUThrottlingRate", { rate: 1 });

  // What says whether a kernel is right, before and after it has been run, and hints by degree.
  await click("#lessons li:nth-child(1) button");
  const choice = () => evaluate(`[...document.querySelectorAll("#kernels label"), document.getElementById("source")]
    .map(shown => shown.textContent)`);
  report.before = { shown: await choice(), tree: describeTree(await tree()), hints: [] };
  for (let step = 0; step < 3; step++) {
    await click("#hint");
    report.before.hints.push(await evaluate(`document.querySelector("#hint-list li:last-child").textContent`));
  }
  // By the keyboard alone: the second kernel, its run, and the page that plays it.
  await evaluate(`document.getElementById("title").focus()`);
  await tabTo("#kernels input");
  await press("ArrowDown");
  report.keys = { chosen: await evaluate("document.activeElement.value") };
  await tabTo("#run");
  await press("Enter");
  await idle();
  report.keys.verdict = await text("verdict");
  report.after = await choice();
  await press("Tab");
  await press(" ");
  await until(`document.querySelector("#player iframe") !== null`);
  report.keys.closedBy = await tabTo("#close-player");
  await press("Enter");
  report.keys.focused = await evaluate("document.activeElement.id");

  report.runs = [];
  const lessons = await evaluate(`LESSONS.map(({ page, kernels }) =>
    ({ page, kernels: kernels.map(({ name, role }) => ({ name, role })) }))`);
  for (const [index, lesson] of lessons.entries()) {
    await click(`#lessons li:nth-child(${index + 1}) button`);
    for (const { name, role } of lesson.kernels) {
      await click(`#kernels input[value="${name}"]`);
      await click("#run");
      await idle();
      report.runs.push({ kernel: name, role, ...(await outcome()) });
    }
  }
  report.solved = await evaluate(`[...document.querySelectorAll("#lessons .done")].map(mark => mark.textContent)`);

  // The keyboard: Enter in an input runs the kernel.
  await evaluate(`document.getElementById("size").focus()`);
  const enter = { key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" };
  await send("Input.dispatchKeyEvent", { type: "keyDown", ...enter });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...enter });
  await idle();
  report.byKey = await text("verdict");

  // The recording of a run.
  await click("#play");
  await until(`document.querySelector("#player iframe")?.srcdoc.includes('id="recording"')`);
  await click("#close-player");

  // The address has the state.
  report.fragment = await evaluate("location.hash");
  await evaluate(`location.hash = "#lesson=3&kernel=add_row&size=20&orders=5&run=1"`);
  await until(`document.getElementById("verdict").textContent.includes("5 orders")`);
  await idle();
  await evaluate(`location.hash = "#lesson=99&kernel=<b>&size=-1&grid=x"`);
  await until(`document.getElementById("title").textContent.startsWith("1.")`);

  // Edits: the sentence of the mistake, at its line; then the kernel as it was.
  const edit = async (lesson, kernel, from, to) => {
    await click(`#lessons li:nth-child(${lesson}) button`);
    await click(`#kernels input[value="${kernel}"]`);
    await click("#edit");
    const changed = await evaluate(`(() => {
      const field = document.getElementById("editor-text");
      const before = field.value;
      field.value = before.replace(${JSON.stringify(from)}, ${JSON.stringify(to)});
      field.dispatchEvent(new Event("input"));
      return field.value !== before && document.activeElement === field;
    })()`);
    const started = Date.now();
    await click("#run");
    await idle();
    const milliseconds = Date.now() - started;
    const numbers = `[...document.querySelectorAll("#editor-numbers .fault")].map(line => Number(line.textContent))`;
    const found = { changed, milliseconds, editor: await evaluate(numbers), marks: await text("editor-marks") };
    const counts = await text("counts");
    await click("#edit");
    const shown = await outcome();
    return { ...found, counts, ...shown };
  };
  report.markupInEditor = await edit(2, "saxpy", "while i < y.len() {", "while i < <img src=x onerror=window.ran=1> {");
  report.markupInEditor.images = await evaluate(`[document.images.length, Boolean(window.ran)]`);
  report.edits = [
    await edit(1, "double", "i < x.len()", "i <= x.len()"),
    await edit(5, "average", "    thread::sync_threads();\n", ""),
    await edit(1, "double", "i <= x.len()", "i < x.length()"),
    await edit(6, "sum_by_halves", "half /= 2", "half = half / 2"),
  ];
  // The keyboard leaves the editor, and runs from it.
  await click("#edit");
  await press("Enter", 2);
  await until(`!document.getElementById("verdict").textContent.startsWith("Not run yet")`);
  await idle();
  report.byKeyInEditor = await text("verdict");
  await press("Tab");
  report.leftBy = await evaluate(`document.activeElement.id`);
  await click("#restore");
  await click("#run");
  await idle();
  report.restored = [await text("verdict"), await evaluate(`edits.has("sum_by_halves")`)];
  await click("#edit");
  await click(`#kernels input[value="sum_by_halves"]`);

  // PTX of others.
  await click("#own-tab");
  // The page reads PTX a moment after it is typed, and then replaces this verdict.
  const expectReading = () => evaluate(`document.getElementById("own-verdict").textContent = "Running: not read yet"`);
  const paste = async ptx => {
    await expectReading();
    await evaluate(`(() => {
      const field = document.getElementById("ptx");
      field.value = ${JSON.stringify(ptx)};
      field.dispatchEvent(new Event("input"));
    })()`);
    await idle();
  };
  report.foreign = [];
  for (const { name, ptx, grid, block, cooperative, shared, arguments: list } of foreign) {
    await paste(ptx);
    await evaluate(`(() => {
      const set = (field, value) => {
        if (field.type === "checkbox") field.checked = value;
        else field.value = value;
        field.dispatchEvent(new Event("change"));
      };
      const at = id => document.getElementById(id);
      set(at("own-kernel"), ${JSON.stringify(name)});
      set(at("own-grid"), ${JSON.stringify(String(grid))});
      set(at("own-block"), ${JSON.stringify(String(block))});
      set(at("own-shared"), ${shared});
      set(at("own-cooperative"), ${JSON.stringify(cooperative)});
      ${JSON.stringify(list)}.forEach((argument, index) => {
        const [kind, type] = at("parameters").children[index].querySelectorAll("select");
        const [count, values] = at("parameters").children[index].querySelectorAll("input");
        set(kind, argument.count === undefined ? argument.type : "buffer");
        if (argument.count !== undefined) {
          set(type, argument.type);
          set(count, argument.count);
        }
        set(values, argument.values);
      });
    })()`);
    await click("#own-run");
    await idle();
    report.foreign.push(`${name}: ${await text("own-verdict")} ${await text("own-faults")}`);
  }

  report.ownTree = describeTree(await tree());

  // Text from outside is text.
  const elements = () => evaluate(`document.querySelectorAll("script, img, b, iframe, object, a, svg").length`);
  const scripts = await elements();
  await paste(markup);
  await click("#own-run");
  await idle();
  const added = (await elements()) - scripts;
  report.markup = { added, ran: await evaluate("Boolean(window.ran)"), faults: await text("own-faults") };
  await click("#own-play");
  await until(`document.querySelector("#player iframe") !== null`);

  report.markup.played = await evaluate(`(() => {
    const page = new DOMParser().parseFromString(document.querySelector("#player iframe").srcdoc, "text/html");
    return [page.scripts.length, page.querySelectorAll("img").length];
  })()`);

  // A kernel without an end can be stopped, and another one runs.
  await paste(endless);
  await evaluate(`document.getElementById("own-grid").value = "60000"; document.getElementById("own-shared").value = 0`);
  await click("#own-run");
  await until(`document.body.dataset.busy === "true"`);
  await click("#own-stop");
  await idle();
  report.stopped = await text("own-verdict");
  await expectReading();
  await click("#example");
  await idle();
  await click("#own-run");
  await idle();
  report.example = await text("own-faults");

  // Readable on a screen of 3840 × 2160 pixels.
  await send("Emulation.setDeviceMetricsOverride", { width: 3840, height: 2160, deviceScaleFactor: 1, mobile: false });
  await evaluate(`location.hash = "#lesson=5&run=1"`);
  await until(`document.getElementById("title").textContent.startsWith("5.")`);
  await idle();
  report.wide = await evaluate(`(() => {
    const size = id => parseFloat(getComputedStyle(document.getElementById(id)).fontSize);
    return { text: size("task"), code: size("source"), line: document.getElementById("task").clientWidth / size("task"),
      width: document.scrollingElement.scrollWidth };
  })()`);

  await send("Emulation.setDeviceMetricsOverride", { width: 360, height: 740, deviceScaleFactor: 2, mobile: true });
  report.narrow = [];
  for (let lesson = 1; lesson <= lessons.length; lesson++) {
    await evaluate(`location.hash = "#lesson=${lesson}"`);
    await until(`document.getElementById("title").textContent.startsWith("${lesson}.")`);
    if (lesson === 3) await click("#edit");
    report.narrow.push(await evaluate("document.scrollingElement.scrollWidth"));
  }
  return report;
}

const text = JSON.stringify(await withBrowser(chromium, solve));
// A pipe takes a long text in parts: the process ends once it has all.
process.stdout.write(text, () => process.exit());
