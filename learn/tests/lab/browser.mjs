// Solves the puzzles and fixes the bugs of the kernel lab in headless Chromium, and prints what the page shows, as JSON.
// Usage: node browser.mjs CHROMIUM PAGE

import { pathToFileURL } from "node:url";

import { withBrowser } from "../../../neural-net/draw/tests/draw/devtools.mjs";
import { drive, print } from "./drive.mjs";

const [chromium, page] = process.argv.slice(2);

async function solve({ send, evaluate, open, report }) {
  const { until, click, text, press, type, tabTo, tree, resize, ready } = drive({ send, evaluate });
  const theme = value => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
  // A run has ended when nothing is asked any more, and the page has said what it found.
  const settled = () => until(`document.body.dataset.busy === "false" && !isPending()
    && !document.getElementById("verdict").textContent.includes("Checking")`);
  const verdict = async () => {
    await settled();
    return text("verdict");
  };
  const forget = () => evaluate("localStorage.clear()");
  const start = async (fragment = "") => {
    await send("Page.navigate", { url: "about:blank" });
    await until(`location.href === "about:blank"`);
    if (fragment) await send("Page.navigate", { url: pathToFileURL(page) + fragment });
    else await open(page);
    await ready();
  };
  const hash = async (fragment, condition) => {
    await evaluate(`location.hash = ${JSON.stringify(fragment)}`);
    await until(condition);
  };
  const editorText = () => evaluate(`document.getElementById("editor-text").value`);
  const puzzle = name => hash(`#puzzle=${name}`, `entry.name === "${name}" && !entry.isBug`);
  // Replaces the whole text at once, as a paste does, and runs it.
  const paste = async text => {
    await evaluate(`document.getElementById("editor-text").focus()`);
    await press("a", 2);
    await send("Input.insertText", { text });
    await press("Enter", 2);
    return verdict();
  };

  await start();
  await forget();
  await resize(1400, 900);
  await theme("light");
  await start();
  await settled();
  report.before = { verdict: await text("verdict"), tree: await tree() };
  const puzzles = await evaluate("book.puzzles.map(({ name, blank, solution }) => ({ name, blank, solution }))");
  const bugs = await evaluate(`book.bugs.map(({ key, kind, name, blank, wrong }) => ({ key, kind, name, blank, wrong }))`);
  const solutionOf = name => puzzles.find(puzzle => puzzle.name === name).solution;

  // The keyboard alone: the skip link leads to the code, Run is near, and every puzzle is solved by typing.
  await press("Tab");
  await press("Enter");
  report.skipped = await evaluate("document.activeElement.id");
  await press("Escape");
  report.tabsToRun = await tabTo("#run");
  report.typed = [];
  for (const { name, blank, solution } of puzzles) {
    await until(`entry.name === "${name}"`);
    await evaluate(`document.getElementById("title").focus()`);
    await tabTo("#editor-text");
    const lines = solution.split("\n"),
      at = blank.split("\n").findIndex(line => line.includes("// write"));
    const written = lines.slice(at, at + 1 + lines.length - blank.split("\n").length);
    await press("Home", 2);
    for (let line = 0; line < at; line++) await press("ArrowDown");
    await press("End");
    await press("Home", 8);
    for (let column = 0; column < /^ */.exec(written[0])[0].length; column += 4) await press("Tab");
    for (const [index, line] of written.entries()) {
      if (index > 0) await press("Enter");
      await type(line.trim());
    }
    const isSame = (await editorText()) === solution;
    const shown = await verdict();
    report.typed.push({ name, isSame, verdict: shown, why: await text("why") });
    if (name === puzzles.at(-1).name) break;
    await press("Escape");
    await tabTo("#go-on");
    await press("Enter");
  }
  report.finish = await text("finish");

  // Bugs: a guess, then a run, then the fix.
  report.bugs = [];
  const fix = async ({ key, name, blank, wrong }, index) => {
    await hash(`#bug=${index + 1}`, `entry.key === "${key}"`);
    const leaks = await evaluate(`document.getElementById("lesson").innerText + location.hash`);
    const isShut = await evaluate(`document.getElementById("run").disabled && document.getElementById("editor-text").readOnly
      && document.querySelector("#picture svg") === null`);
    await evaluate(`document.getElementById("title").focus()`);
    await tabTo("#guesses input");
    await press(" ");
    await tabTo("#run");
    await press("Enter");
    const found = await verdict();
    const fault = await evaluate("shown.answer.faults[0]?.class ?? null");
    const marked = await evaluate(`[...document.querySelectorAll("#editor-numbers .fault, #editor-numbers .other")].map(line => Number(line.textContent))`);
    const fixed = await paste(solutionOf(name));
    const isLeaked = leaks.includes(key) || leaks.includes(wrong.slice(0, 30)) || leaks.includes("wrong.rs") || leaks.includes("bugs.rs");
    return { key, isLeaked, isShut, found, fault, marked, fixed, lines: blank.split("\n").length };
  };
  for (const [index, bug] of bugs.entries()) report.bugs.push(await fix(bug, index));
  report.score = await text("score");
  report.bugFinish = await text("finish");

  // A reload keeps all of it, and a link has the code.
  const own = solutionOf("zip").replace("a[i] + b[i]", "b[i] + a[i]");
  await puzzle("zip");
  await paste(own);
  await start();
  await settled();
  report.reloaded = await text("score");
  await puzzle("zip");
  report.kept = (await editorText()) === own;
  await evaluate(`navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }`);
  await click("#copy");
  await until("window.copied");
  const link = await evaluate("window.copied");
  await evaluate(`progress.texts = {}; remember()`);
  await start(link.slice(link.indexOf("#")));
  await settled();
  report.linked = { isSame: (await editorText()) === own, verdict: await text("verdict") };
  await click("#mine");
  report.linked.isBack = (await editorText()) === (await evaluate("entry.blank"));
  await hash("#puzzle=zip&code=%00nothing", `document.getElementById("verdict").textContent.includes("cannot be read")`);
  await hash("#puzzle=<b>&code=x", "true");
  // The file to hand in.
  report.file = await evaluate(`handIn(book, name => name === "map" ? ${JSON.stringify(solutionOf("map"))} : undefined)`);

  // Errors: a race whose numbers change with the schedule, and text that is no kernel.
  await puzzle("neighbors");
  const race = solutionOf("neighbors").replace("    thread::sync_threads();\n", "");
  report.race = { verdict: await paste(race), results: [], faults: await text("faults") };
  for (let swap = 0; swap < 2; swap++) {
    report.race.results.push(await evaluate("shown.answer.schedule + ' ' + shown.found.join(' ')"));
    await click("#swap");
    await settled();
  }
  report.race.red = await evaluate(`["line", "thread", "cell"].map(kind => document.querySelectorAll("#picture ." + kind + ".fault").length)`);
  await click("#picture .thread.fault");
  report.race.words = await text("thread-words");
  await press("Tab");
  await evaluate(`document.getElementById("more").open = true`);
  await click("#play");
  await until(`document.querySelector("#player iframe")?.srcdoc.includes('id="recording"')`);
  report.race.player = await evaluate(`document.getElementById("player").getBoundingClientRect().top < innerHeight`);
  await click("#close-player");
  await puzzle("map");
  report.mistakes = [];
  for (const [from, to] of [
    ["x[i] + 10", "x[i] + 1.5"],
    ["let i = thread::index_1d() as usize;", "int i = threadIdx.x;"],
    ["x[i] + 10", "<img src=x onerror=window.ran=1>"],
    ["out.set(i, x[i] + 10);", "loop {}"],
    ["map", "other"],
    ["x: &[i32],", "x: &[i32], y: &[i32],"],
  ]) {
    const shown = await paste(solutionOf("map").replace(from, to));
    report.mistakes.push({ to, shown, marks: await text("editor-marks"), at: await evaluate(`document.querySelector("#editor-colors .at")?.textContent ?? null`) });
  }
  report.markup = await evaluate("[document.images.length, Boolean(window.ran)]");
  report.undone = await (async () => {
    await evaluate(`document.getElementById("editor-text").focus()`);
    await press("Tab");
    const before = await editorText();
    await evaluate(`document.execCommand("undo")`);
    return before !== (await editorText());
  })();

  // The time from the end of the pause to the new picture, on a processor that is slowed four times.
  await paste(solutionOf("map"));
  await send("Emulation.setCPUThrottlingRate", { rate: 4 });
  report.redraws = await evaluate(`(async () => {
    const field = document.getElementById("editor-text"), times = [];
    for (let round = 0; round < 20; round++) {
      field.value = field.value.replace(/\\+ \\d+/, "+ " + (20 + round));
      const begun = performance.now();
      const drawn = new Promise(resolve => new MutationObserver((_, observer) => { observer.disconnect(); resolve(); })
        .observe(document.getElementById("picture"), { childList: true }));
      field.dispatchEvent(new Event("input"));
      await drawn;
      times.push(performance.now() - begun - PAUSE);
    }
    return times;
  })()`);
  await send("Emulation.setCPUThrottlingRate", { rate: 1 });

  // Other screens, each from nothing.
  report.screens = [];
  for (const [width, height, color] of [[360, 740, "dark"], [390, 844, "light"], [3840, 2160, "dark"]]) {
    await forget();
    await resize(width, height);
    await theme(color);
    await start();
    await settled();
    const screen = { width, unsolved: [], wide: [], unfixed: [] };
    const check = async name => {
      if ((await evaluate("document.scrollingElement.scrollWidth")) > width) screen.wide.push(name);
    };
    for (const { name, solution } of puzzles) {
      await puzzle(name);
      const shown = await paste(solution);
      if (!shown.startsWith("Solved")) screen.unsolved.push([name, shown]);
      await check(name);
    }
    for (const [index, bug] of bugs.entries()) {
      const { fixed } = await fix(bug, index);
      if (!fixed.startsWith("Fixed")) screen.unfixed.push([bug.key, fixed]);
      await check(bug.key);
    }
    await start();
    await settled();
    screen.reloaded = await text("score");
    await puzzle("double");
    await evaluate(`document.getElementById("editor-text").scrollIntoView({ block: "start" })`);
    screen.run = await evaluate(`(() => {
      const { top, bottom } = document.getElementById("run").getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    })()`);
    screen.text = await evaluate(`parseFloat(getComputedStyle(document.getElementById("task")).fontSize)`);
    report.screens.push(screen);
  }
  return report;
}

print(await withBrowser(chromium, solve));
