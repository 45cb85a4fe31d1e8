// Runs PTX of others on the page of the kernel lab in headless Chromium, and prints what it shows, as JSON.
// Usage: node own.mjs CHROMIUM PAGE <INPUT, where INPUT has `foreign`, PTX of other compilers with launches, and
// the texts `markup`, `endless`, `blocks`, `unknown` and `large`.

import { readFileSync } from "node:fs";
import { withBrowser } from "../../../neural-net/draw/tests/draw/devtools.mjs";
import { drive, print } from "./drive.mjs";

const [chromium, page] = process.argv.slice(2);
const { foreign, markup, endless, blocks, unknown, large } = JSON.parse(readFileSync(0, "utf8"));

async function runOwn({ send, evaluate, open, report }) {
  const { until, idle, click, text, press, tabTo, tree, resize, ready } = drive({ send, evaluate });
  const length = () => evaluate(`document.getElementById("own-kernel").length`);
  const isRunDisabled = () => evaluate(`document.getElementById("own-run").disabled`);
  const firstField = () => evaluate(`document.querySelector("#parameters input").value`);
  const value = id => evaluate(`document.getElementById("${id}").value`);
  // Types a text; the state of the form at once, before anything can have been read.
  const paste = async ptx => {
    const state = await evaluate(`(() => {
      const field = document.getElementById("ptx");
      field.value = ${JSON.stringify(ptx)};
      field.dispatchEvent(new Event("input"));
      return [document.getElementById("own-kernel").length, document.getElementById("own-run").disabled,
        document.getElementById("own-verdict").textContent];
    })()`);
    await idle();
    return state;
  };
  const run = async () => {
    await click("#own-run");
    await idle();
  };
  // The width that the page needs in a window of this width.
  const widthIn = async width => {
    await resize(width, 740);
    const found = await evaluate("document.scrollingElement.scrollWidth");
    await resize(1280, 800);
    return found;
  };

  await resize(1280, 800);
  await open(page);
  await ready();
  await click("#own-tab");
  report.folded = await evaluate(`document.getElementById("ptx-sources").open`);
  await click("#ptx-sources summary");
  report.sources = await text("ptx-sources");
  report.narrow = [await widthIn(360)];
  await click("#ptx-sources summary");

  report.foreign = [];
  for (const { name, ptx, grid, block, cooperative, shared, arguments: list } of foreign) {
    await paste(ptx);
    report.foreign.push(
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
        const chosen = at("own-kernel").selectedOptions[0];
        return { name: chosen.textContent, title: chosen.title, needs: at("own-needs").textContent,
          parameter: at("parameters").querySelector("strong").textContent };
      })()`),
    );
    await run();
    Object.assign(report.foreign.at(-1), { verdict: await text("own-verdict"), faults: await text("own-faults") });
    report.narrow.push(await widthIn(360));
  }
  report.tree = await tree();

  // Block sizes of the directives, and a form that outlives an edit of the text.
  report.pasted = await paste(blocks);
  report.blocks = [];
  for (const kernel of ["required", "limited", "small"]) {
    await evaluate(`(() => {
      const list = document.getElementById("own-kernel");
      list.value = "${kernel}";
      list.dispatchEvent(new Event("change"));
    })()`);
    report.blocks.push([await value("own-block"), await text("own-needs")]);
  }
  await evaluate(`document.querySelector("#parameters input").value = "7"`);
  await evaluate(`document.getElementById("own-block").value = "3"`);
  await paste(`${blocks}\n`);
  report.kept = [await value("own-kernel"), await value("own-block"), await firstField()];

  // A wrong instruction.
  await paste(unknown);
  report.unknown = [await text("own-verdict"), await text("refused"), await isRunDisabled()];

  // A large file: the earlier list is gone before it is read, and other text in its place wins.
  await click("#example");
  await idle();
  report.large = [await paste(large), await length()];
  const overtaken = await evaluate(`(() => {
    const field = document.getElementById("ptx");
    const type = text => {
      field.value = text;
      field.dispatchEvent(new Event("input"));
    };
    type(${JSON.stringify(large)});
    readPtx();
    type("");
    return document.getElementById("own-verdict").textContent;
  })()`);
  await idle();
  report.overtaken = [overtaken, await text("own-verdict"), await length()];

  // Text from outside is text.
  const elements = () => evaluate(`document.querySelectorAll("script, img, b, iframe, object, a, svg").length`);
  const before = await elements();
  await paste(markup);
  await run();
  const added = (await elements()) - before;
  report.markup = { added, ran: await evaluate("Boolean(window.ran)"), faults: await text("own-faults") };
  await click("#own-play");
  await until(`document.querySelector("#player iframe") !== null`);
  report.markup.played = await evaluate(`(() => {
    const page = new DOMParser().parseFromString(document.querySelector("#player iframe").srcdoc, "text/html");
    return [page.scripts.length, page.querySelectorAll("img").length];
  })()`);

  // A kernel without an end shows the seconds, and can be stopped; an edit stops it too. Then another one runs.
  const startEndless = async () => {
    await evaluate(`document.getElementById("own-grid").value = "60000"`);
    await evaluate(`document.getElementById("own-shared").value = 0`);
    await click("#own-run");
    await until(`document.body.dataset.busy === "true"`);
  };
  await paste(endless);
  await startEndless();
  await until(`/^[1-9]\\d* s$/.test(document.getElementById("own-elapsed").textContent)`);
  await click("#own-stop");
  await idle();
  report.stopped = [await text("own-verdict"), await text("own-elapsed")];
  await startEndless();
  await click("#example");
  await idle();
  report.edited = await text("own-verdict");
  // By the keyboard alone, from the title.
  await evaluate(`document.getElementById("own-title").focus()`);
  report.tabs = await tabTo("#own-run");
  await press("Enter");
  await until(`document.querySelector("#own-faults li") !== null`);
  await idle();
  report.example = await text("own-faults");
  await evaluate(`(() => {
    for (const id of ["own-grid", "own-block"]) document.getElementById(id).value = "1";
    document.getElementById("ptx").focus();
  })()`);
  await press("Enter", 2);
  await until(`document.getElementById("own-verdict").textContent.startsWith("No error")`);
  report.byKeyInText = await text("own-verdict");
  return report;
}

print(await withBrowser(chromium, runOwn));
