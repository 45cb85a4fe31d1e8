// Runs requests in the WebAssembly module, one after the other. The first message is the module's bytes.

let lab;

onmessage = async ({ data }) => {
  if (data instanceof ArrayBuffer) {
    lab = WebAssembly.instantiate(data).then(({ instance }) => instance.exports);
    return;
  }
  const { id, request } = data;
  try {
    const { memory, request: place, run, answer } = await lab;
    const bytes = new TextEncoder().encode(request);
    // The memory may grow here, and in the run.
    const at = place(bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    const length = run();
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, answer(), length));
    postMessage({ id, text });
  } catch (error) {
    postMessage({ id, failure: String(error?.message ?? error) });
  }
};
