// Pointers and keys for a page in headless Chromium, by the protocol of devtools.mjs.

import { press as pressKey } from "./devtools.mjs";

// - `afterFrame(expression)`: its value once the page has shown the last event, which it does in its next animation frame,
// - `mouse(type, place, pointerType)`, `touch(type, places)`: an event,
// - `press(key, times)`: presses a key.
export function hands({ send, evaluate }) {
  function afterFrame(expression) {
    return evaluate(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(${expression}))))`);
  }
  function mouse(type, [x, y], pointerType) {
    const buttons = Number(type !== "mouseReleased");
    return send("Input.dispatchMouseEvent", { type, x, y, pointerType, button: "left", buttons, clickCount: 1 });
  }
  function touch(type, points) {
    return send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y]) => ({ x, y })) });
  }
  async function press(key, times = 1) {
    for (let time = 0; time < times; time++) await pressKey(send, key);
  }
  return { afterFrame, mouse, touch, press };
}
