// Solves the lessons of the laboratory in headless Chromium, and prints what the page shows, as JSON.
// Usage: node browser.mjs CHROMIUM PAGE

import { withBrowser } from "../../../neural-net/draw/tests/draw/devtools.mjs";
import { drive, print } from "./drive.mjs";

const [chromium, page] = process.argv.slice(2);

async function solve({ send, evaluate, open, report }) {
  const { until, idle, click, clicks, text, press, tabTo, tree, resize, ready } = drive({ send, evaluate });
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

  // From opening to the first race, on a processor that is slowed four times.
  await resize(1280, 800);
  await send("Emulation.setCPUThrottlingRate", { rate: 4 });
  const opened = Date.now();
  await open(page);
  await ready();
  await click("#lessons li:nth-child(4) button");
  await click("#run");
  await until(`document.querySelector("#faults li") !== null`);
  report.first = { milliseconds: Date.now() - opened, clicks: clicks(), ...(await outcome()) };
  await send("Emulation.setCPUThrottlingRate", { rate: 1 });

  // What says whether a kernel is right, before and after it has been run, and hints by degree.
  await click("#lessons li:nth-child(1) button");
  const choice = () => evaluate(`[...document.querySelectorAll("#kernels label"), document.getElementById("source")]
    .map(shown => shown.textContent)`);
  report.before = { shown: await choice(), tree: await tree(), hints: [] };
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

  // Readable on a screen of 3840 × 2160 pixels.
  await resize(3840, 2160);
  await evaluate(`location.hash = "#lesson=5&run=1"`);
  await until(`document.getElementById("title").textContent.startsWith("5.")`);
  await idle();
  report.wide = await evaluate(`(() => {
    const size = id => parseFloat(getComputedStyle(document.getElementById(id)).fontSize);
    return { text: size("task"), code: size("source"), line: document.getElementById("task").clientWidth / size("task"),
      width: document.scrollingElement.scrollWidth };
  })()`);

  await resize(360, 740);
  report.narrow = [];
  for (let lesson = 1; lesson <= lessons.length; lesson++) {
    await evaluate(`location.hash = "#lesson=${lesson}"`);
    await until(`document.getElementById("title").textContent.startsWith("${lesson}.")`);
    if (lesson === 3) await click("#edit");
    report.narrow.push(await evaluate("document.scrollingElement.scrollWidth"));
  }
  return report;
}

print(await withBrowser(chromium, solve));
