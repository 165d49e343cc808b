// What reading and formatting costs: Markdown to Telegram, Discord and web messages, by size. Told also as a
// multiple of markdown-it's own parse and rendering to HTML of the same text in the same run: the least that
// a Markdown reply costs anywhere. `node bench/text.ts [--json <file>]`
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { replyParser } from "@parley/agent";
import { healPartial, renderHtml, renderMarkdown } from "@parley/channels";
import MarkdownIt from "markdown-it";
import { Bench } from "tinybench";

const { values } = parseArgs({ options: { json: { type: "string" } } });

/**
 * A reply as models write them: about 800 characters with a heading, a list, code, a table, links and styles.
 */
const reply = `## What changed

The **lane runner** now takes the *longest waiting* lane first; see [the design](https://example.org/design#lanes) for why.
Two things follow from that, and both of them are easy to check on any machine:

1. A flooded lane goes to the back.
2. Nothing waits for more than one turn of each other lane.
   - This holds for cron jobs, too.
   - And for \`subagent\` lanes.

\`\`\`ts
const lane = await store.take({ holder, leaseMs: 30_000 });
if (lane !== null) await run(lane);
\`\`\`

| Class | Before | After |
|:------|-------:|------:|
| person | 120 ms | 14 ms |
| cron | 80 ms | 81 ms |

> Measured with one hundred lanes, half of them flooded.

That is all; ~~the old order is gone~~, and there is no setting to bring it back.

`;
const sizesChars = [200, 1000, 4000, 16_000, 64_000];
const bare = new MarkdownIt({ html: false, linkify: true });

interface Row {
  readonly sizeChars: number;
  readonly task: string;
  readonly medianMs: number;
  readonly timesBare: number;
}

/** As a model streams it: a few characters at a time. */
function readStreamed(text: string): void {
  const parser = replyParser();
  for (let at = 0; at < text.length; at += 5) parser.push(text.slice(at, at + 5));
  parser.end();
}

function textOf(sizeChars: number): string {
  return reply.repeat(Math.ceil(sizeChars / reply.length)).slice(0, sizeChars);
}

async function measure(sizeChars: number): Promise<Row[]> {
  const text = textOf(sizeChars);
  const bench = new Bench({ time: 400, warmupTime: 150 })
    .add("markdown-it", () => bare.render(text))
    .add("telegram", () => renderMarkdown(text, { dialect: "telegram", textChars: 4096, textEntities: 100 }))
    .add("discord", () => renderMarkdown(text, { dialect: "discord", textChars: 2000 }))
    .add("html", () => renderHtml(text))
    .add("heal", () => healPartial(text))
    .add("read, streamed", () => readStreamed(text));
  const tasks = await bench.run();
  const medians = tasks.map(({ name, result }) => ({
    name,
    medianMs: result.state === "completed" ? result.latency.p50 : Number.NaN,
  }));
  const baselineMs = medians[0]?.medianMs ?? Number.NaN;
  return medians.map(({ name, medianMs }) => ({
    sizeChars,
    task: name,
    medianMs,
    timesBare: medianMs / baselineMs,
  }));
}

const rows: Row[] = [];
for (const sizeChars of sizesChars) rows.push(...(await measure(sizeChars)));
console.table(
  rows.map((row) => ({ ...row, medianMs: row.medianMs.toFixed(3), timesBare: row.timesBare.toFixed(2) })),
);
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(rows, null, 2)}\n`);
