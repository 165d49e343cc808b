// What memory finds and what it costs: recall and rank on three committed sets of questions, then the time to
// index and to search by the number of passages. Meaning is measured with a service of your own:
// `node bench/memory.ts [--chunks 1000,10000] [--ollama <model>] [--json <file>]`
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { memoryEngine, type MemoryTarget } from "@parley/memory";
import { systemClock } from "@parley/protocol";

const { values } = parseArgs({
  options: {
    chunks: { type: "string", default: "1000,10000,100000" },
    ollama: { type: "string" },
    json: { type: "string" },
  },
});

type Question = readonly [query: string, path: string, words: string];
type Sets = { readonly notes: { readonly [path: string]: string } } & {
  readonly [set in "facts" | "paraphrases" | "dates and names"]: readonly Question[];
};
const sets = JSON.parse(readFileSync(new URL("./memory/questions.json", import.meta.url), "utf8")) as Sets;

const clock = systemClock();
const root = mkdtempSync(join(tmpdir(), "parley-bench-memory-"));
const embedder =
  values.ollama === undefined
    ? null
    : {
        provider: "ollama" as const,
        model: values.ollama,
        baseUrl: "http://127.0.0.1:11434",
        apiKey: null,
      };

function target(name: string, tokens: number, files: { readonly [path: string]: string }): MemoryTarget {
  const workspace = join(root, name);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
  }
  const chunking = { tokens, overlap: Math.floor(tokens / 5) };
  return { workspace, indexPath: join(root, `${name}.sqlite`), chunking, embedder, talk: false };
}

const request = (query: string, vectorWeight: number) => ({
  query,
  scopes: "all" as const,
  maxResults: 5,
  minScore: 0,
  hybrid: {
    vectorWeight,
    textWeight: 1 - vectorWeight,
    candidateMultiplier: 4,
    mmr: { enabled: true, lambda: 0.7 },
    temporalDecay: { enabled: false, halfLifeDays: 30 },
  },
  nowMs: clock.now(),
  sync: true,
});

const percent = (of: number, all: number): string => `${Math.round((100 * of) / all)} %`;
const at = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;

const engine = memoryEngine({ clock });
const found: object[] = [];
// Small passages, so that five of them are not the whole memory.
const small = target("questions", 50, sets.notes);
await engine.reindex(small);
for (const set of ["facts", "paraphrases", "dates and names"] as const)
  for (const weight of embedder === null ? [0] : [0, 0.3, 0.5, 0.7, 1]) {
    let recalled = 0;
    let reciprocal = 0;
    for (const [query, path, words] of sets[set]) {
      const { hits } = await engine.search(small, request(query, weight));
      const rank = hits.findIndex((hit) => hit.path === path && hit.snippet.includes(words));
      if (rank < 0) continue;
      recalled += 1;
      reciprocal += 1 / (rank + 1);
    }
    const all = sets[set].length;
    found.push({
      set,
      "weight of meaning": weight,
      "recall@5": percent(recalled, all),
      MRR: Math.round((100 * reciprocal) / all) / 100,
    });
  }
console.table(found);

const nouns =
  "boat lamp river garden engine letter window bridge winter market doctor ticket kettle ladder harbour ribbon candle meadow copper violin".split(
    " ",
  );
/** The same text each time, with words as rare as names and as common as days. */
function passage(n: number): string {
  const word = (k: number): string => nouns[(n * 7 + k * 13 + ((n * k) % 11)) % nouns.length] ?? "";
  return `# Note ${n}\n${Array.from({ length: 30 }, (_, k) => `- The ${word(k)} of person${(n * 31 + k * 17) % 5_000} met the ${word(k + 1)} on day ${(n + k) % 365}.`).join("\n")}\n`;
}
const costs: object[] = [];
for (const chunks of values.chunks.split(",").map(Number)) {
  const perFile = 20;
  const files: { [path: string]: string } = {};
  for (let n = 0; n < chunks; n += perFile)
    files[`memory/n${n}.md`] = Array.from({ length: Math.min(perFile, chunks - n) }, (_, k) =>
      passage(n + k),
    ).join("");
  const big = { ...target(`notes-${chunks}`, 400, files), embedder: null };
  const began = clock.mono();
  const status = await engine.reindex(big);
  const indexMs = clock.mono() - began;
  const times: number[] = [];
  const ownTimes: number[] = [];
  for (let n = 0; n < 100; n += 1) {
    // Every other question is of words alone that stand in nearly every passage.
    const query = `${nouns[n % nouns.length]} of ${n % 2 === 0 ? `person${(n * 97) % 5_000}` : nouns[(n + 3) % nouns.length]}`;
    const start = clock.mono();
    const own = process.cpuUsage();
    await engine.search(big, { ...request(query, 0), sync: false });
    times.push(clock.mono() - start);
    const { user, system } = process.cpuUsage(own);
    ownTimes.push((user + system) / 1_000);
  }
  writeFileSync(join(big.workspace, "memory/n0.md"), `${files["memory/n0.md"]}- a zebra came\n`);
  const edited = clock.mono();
  const { hits } = await engine.search(big, request("zebra", 0));
  costs.push({
    passages: status.chunks,
    "index s": Math.round(indexMs / 100) / 10,
    "file MB": Math.round(status.bytes / 1e5) / 10,
    "search p50 ms": Math.round(at(times, 0.5) * 10) / 10,
    "search p99 ms": Math.round(at(times, 0.99) * 10) / 10,
    // What a busy machine does not stretch.
    "p99 of processor ms": Math.round(at(ownTimes, 0.99) * 10) / 10,
    "edit to found ms": hits.length > 0 ? Math.round(clock.mono() - edited) : "not found",
  });
}
console.table(costs);
engine.close();
rmSync(root, { recursive: true });
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ found, costs }, null, 2));
