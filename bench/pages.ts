// What reading a page costs, by its size: from HTML to Markdown, as the reading process does it. Told also as
// a multiple of linkedom's parse of the same page in the same run: the least that any reader with a tree
// pays. `node bench/pages.ts [--json <file>]`
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { pageFetcher, type Dialler } from "@parley/egress";
import { systemClock } from "@parley/protocol";
import { parseHTML } from "linkedom";

const { values } = parseArgs({ options: { json: { type: "string" } } });

const words = "The lane runner takes the longest waiting lane first, and a flooded lane goes to the back. ";
/** A section as documentation has it: about 2,000 characters with prose, a list, code, a table and links. */
const section = (at: number): string => `<h2 id="s${at}">Part ${at}</h2>
<p class="lead">${words.repeat(4)} See <a href="/part/${at}">part ${at}</a>.</p>
<ul><li>${words}</li><li><a href="#s${at}">${words}</a></li></ul>
<pre><code class="language-ts">const lane = await store.take({ holder, leaseMs: 30_000 });</code></pre>
<table><thead><tr><th>Class</th><th>Before</th><th>After</th></tr></thead><tbody>
<tr><td>person</td><td>120 ms</td><td>14 ms</td></tr><tr><td>cron</td><td>80 ms</td><td>81 ms</td></tr></tbody></table>
<p>${words.repeat(6)}</p>`;
const page = (sizeChars: number): string => {
  let body = "";
  for (let at = 0; body.length < sizeChars; at += 1) body += section(at);
  return `<!doctype html><html><head><title>Lanes</title><style>.lead{font-size:18px}</style></head><body><nav><a href="/">Home</a></nav><main><article><h1>Lanes</h1>${body}</article></main></body></html>`;
};

/** Hands out the page without a network, which is not what is measured here. */
const shelf = (source: string): Dialler => ({
  async dial(request) {
    const bytes = new TextEncoder().encode(source);
    return {
      url: request.url,
      status: 200,
      headers: { "content-type": "text/html; charset=utf-8" },
      redirects: 0,
      body: (async function* () {
        yield bytes;
      })(),
      bytes: async () => ({ bytes, cut: false }),
      discard: () => {},
    };
  },
  close: async () => {},
});

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN;

async function measure(sizeChars: number) {
  const source = page(sizeChars);
  const parse: number[] = [];
  const read: number[] = [];
  const clock = systemClock();
  const readMs = { html: 120_000, text: 120_000, json: 120_000, pdf: 120_000 };
  const { fetchPage, close } = pageFetcher({ dialler: shelf(source), clock, read: { readMs } });
  let text = "";
  // The first round starts the process and warms both.
  for (let round = 0; round < 8; round += 1) {
    const parsing = clock.mono();
    parseHTML(source).document.querySelector("article");
    const reading = clock.mono();
    text = (
      await fetchPage(
        "https://docs.test/lanes",
        { fresh: true, textChars: 1_000_000 },
        new AbortController().signal,
      )
    ).text;
    if (round > 0) {
      parse.push(reading - parsing);
      read.push(clock.mono() - reading);
    }
  }
  await close();
  return {
    kB: Math.round(source.length / 1_000),
    markdownKB: Math.round(text.length / 1_000),
    parseMs: Math.round(median(parse)),
    readMs: Math.round(median(read)),
    timesParse: Number((median(read) / median(parse)).toFixed(1)),
  };
}

const rows = [];
for (const sizeChars of [14_000, 100_000, 1_000_000]) rows.push(await measure(sizeChars));
console.table(rows);
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(rows, null, 2)}\n`);
