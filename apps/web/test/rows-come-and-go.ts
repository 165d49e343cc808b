// Draws a list whose rows come and go, and prints how many nodes the page holds each time. A program of its
// own, because Lit looks for the document once, when it is loaded.
import { parseHTML } from "linkedom";

const { document } = parseHTML("<!doctype html><body></body>");
Object.assign(globalThis, { document });
const { render } = await import("lit");
const { repeat } = await import("lit/directives/repeat.js");
const counts: number[] = [];
for (let from = 0; from < 40; from += 1) {
  const rows = [0, 1, 2, 3, 4].map((at) => from + at);
  render(repeat(rows, Number, String), document.body);
  counts.push(document.body.childNodes.length);
}
console.log(JSON.stringify({ counts, text: document.body.textContent }));
