// ---- Runs, in a worker that can be ended at any time ----

// Seconds after which a run is ended.
const MAX_SECONDS = 60;
// A block of the reader's own PTX ends after this number of instructions, and one that stores nothing after the second.
const BLOCK_INSTRUCTIONS = 2 ** 27,
  WITHOUT_PROGRESS = 2 ** 25;
let moduleBytes,
  worker = null,
  asked = 0;
const waiting = new Map();

function startWorker() {
  const address = URL.createObjectURL(new Blob([element("worker").textContent], { type: "text/javascript" }));
  worker = new Worker(address);
  URL.revokeObjectURL(address);
  worker.onmessage = ({ data: { id, text, failure } }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    showBusy();
    if (failure === undefined) return resolve(text);
    // The module has trapped: its memory is in no state to go on with.
    endWorker();
    reject(new Error(`the interpreter stopped (${failure}): use fewer or smaller buffers, blocks or threads`));
  };
  worker.onerror = event => stop(`the worker failed: ${event.message}`);
  worker.postMessage(moduleBytes.slice(0));
}

function endWorker() {
  worker?.terminate();
  worker = null;
}

// The text of the answer to a request.
function ask(request) {
  if (!worker) startWorker();
  const id = ++asked;
  const late = `ended after ${MAX_SECONDS} seconds: use a smaller launch or fewer schedules`;
  const timer = setTimeout(() => stop(late), 1000 * MAX_SECONDS);
  const answer = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  worker.postMessage({ id, request: JSON.stringify(request) });
  showBusy();
  return answer.finally(() => clearTimeout(timer));
}

// The answer to a request, as an object; its error, if it has one, is thrown, with the place of a refused source.
async function answerTo(request) {
  const answer = JSON.parse(await ask(request));
  if (answer.error !== undefined) throw Object.assign(new Error(answer.error), { place: answer.place });
  return answer;
}

function stop(reason = "stopped") {
  endWorker();
  const all = [...waiting.values()];
  waiting.clear();
  showBusy();
  for (const { reject } of all) reject(new Error(reason));
}

function showBusy() {
  const isBusy = waiting.size > 0;
  for (const id of ["stop", "own-stop"]) element(id).disabled = !isBusy;
  document.body.dataset.busy = isBusy;
}

// ---- Step by step: the page that kernel-debugger records, in a frame of its own ----

async function play(request, verdict) {
  const frame = element("player-frame");
  frame.replaceChildren(make("p", "", "Recording…"));
  element("player").hidden = false;
  try {
    const { html } = await answerTo({ ...request, task: "record", instructions: 20000 });
    const view = make("iframe");
    view.title = "The run, step by step";
    view.setAttribute("sandbox", "allow-scripts");
    view.srcdoc = html;
    frame.replaceChildren(view);
    element("player").scrollIntoView({ block: "start" });
  } catch (error) {
    element("player").hidden = true;
    verdict.className = "wrong-result";
    verdict.textContent = `Not recorded: ${error.message}`;
  }
}

function inOrder(launch, order) {
  return order === "ascending" ? launch : { ...launch, order };
}
