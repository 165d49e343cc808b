// A replay as the command line shows it, a turn that is saved, and a folder of turns with an exit code for
// CI.
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { fakeGateway, parley, Refusal } from "./fake-gateway.ts";

const side = {
  model: "lab/one",
  stop: "stop",
  answer: "noted",
  calls: [{ name: "write", args: {} }],
  steps: 2,
  inputTokens: 10,
  outputTokens: 2,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 0.01,
  tookMs: 5,
};
const replayed = {
  turn: "agent:main:main#1",
  session: "agent:main:main",
  before: side,
  after: { ...side, answer: "written" },
  prompt: null,
  unanswered: [],
  moved: ["answer: other words"],
  failures: [],
};
const saved = {
  v: 1,
  kind: "parley-turn",
  turn: "agent:main:main#1",
  session: "agent:main:main",
  place: null,
  by: null,
  fields: {},
  history: [],
  entries: [{ type: "user" }],
  prompt: null,
  startedAtMs: 0,
  tookMs: 5,
  expect: { calls: "names", answer: {} },
};

test("replay shows both sides, and saves a turn without replacing a file", async () => {
  const { home, requests } = await fakeGateway(({ params }) =>
    (params as { save?: boolean }).save === true ? { ...replayed, after: null, saved } : replayed,
  );
  const shown = await parley(home, ["replay", "agent:main:main", "--model", "lab/two"]);
  expect(shown.exitCode).toBe(0);
  expect(shown.out).toContain("Was        noted");
  expect(shown.out).toContain("Is         written");
  expect(shown.out).toContain("  answer: other words");
  expect(requests.find(({ method }) => method === "turns.replay")?.params).toMatchObject({
    id: "agent:main:main",
    model: "lab/two",
    ask: true,
  });
  const file = join(home, "turns", "turn.json");
  expect((await parley(home, ["replay", "agent:main:main", "--save", file])).exitCode).toBe(0);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(saved);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8")).toMatch(/^\{\n {2}"v": 1,[^]*\n\}\n$/);
  const other = join(home, "other.json");
  expect(await parley(home, ["replay", "t", "--save", other, "--json"])).toEqual({
    exitCode: 0,
    out: `${JSON.stringify({ turn: "agent:main:main#1", path: other })}\n`,
    err: "",
  });
  const below = join(other, "turn.json");
  const refused = await parley(home, ["replay", "t", "--save", below]);
  expect([refused.exitCode, refused.err]).toEqual([
    1,
    expect.stringMatching(/other\.json\/turn\.json cannot be written: E/),
  ]);
  const again = await parley(home, ["replay", "agent:main:main", "--save", file]);
  expect([again.exitCode, again.err]).toEqual([1, `${file} is there already\n`]);
});

test("eval runs a folder, names what failed and ends with 1", async () => {
  const { home } = await fakeGateway(({ params }) => {
    const { turn } = (params as { saved: typeof saved }).saved;
    return turn.endsWith("#2") ? { ...replayed, failures: ["other tools: write to none"] } : replayed;
  });
  const folder = join(home, "turns");
  expect((await parley(home, ["eval", folder])).err).toBe(`there is no folder ${folder}\n`);
  mkdirSync(folder);
  expect((await parley(home, ["eval", folder])).err).toContain("has no turns");
  writeFileSync(join(folder, "a.json"), JSON.stringify(saved));
  expect((await parley(home, ["eval", folder])).exitCode).toBe(0);
  writeFileSync(join(folder, "b.json"), JSON.stringify({ ...saved, turn: "agent:main:main#2" }));
  writeFileSync(join(folder, "c.json"), JSON.stringify({ ...saved, by: { owner: true, senders: [7] } }));
  const { exitCode, out } = await parley(home, ["eval", folder]);
  expect(exitCode).toBe(1);
  expect(out).toMatch(/pass {2}a\.json/);
  expect(out).toMatch(/FAIL {2}b\.json\n {6}other tools: write to none/);
  expect(out).toMatch(/FAIL {2}c\.json\n {6}it is no saved turn: by\.senders\.0 .+/);
  expect(out).toContain("1 passed, 2 failed");
  const json = await parley(home, ["eval", folder, "--json"]);
  expect(JSON.parse(json.out)).toMatchObject({ ok: false, passed: 1, failed: 2 });
});

test("each turn of a folder is asked for in the order of the names, with what was chosen; one refusal is its own", async () => {
  const { home, requests } = await fakeGateway(({ params }) => {
    const { turn } = (params as { saved: typeof saved }).saved;
    if (turn.endsWith("#a")) throw new Refusal("missing", "there is no model lab/x");
    if (turn.endsWith("#gone")) throw new Refusal("unavailable", "it stops");
    return { ...replayed, saved, moved: ["answer: other words", "calls: none"] };
  });
  const folder = join(home, "turns");
  mkdirSync(folder);
  const write = (name: string, turn: string): void =>
    writeFileSync(join(folder, name), JSON.stringify({ ...saved, turn }));
  write("b.json", "t#b");
  write("a.json", "t#a");
  writeFileSync(join(folder, "c.json"), "{");
  writeFileSync(join(folder, "d.txt"), "no turn");
  const argv = ["eval", folder, "--model", "lab/x", "--config", "other.json5"];
  const run = await parley(home, argv);
  expect([run.exitCode, run.err]).toEqual([1, ""]);
  expect(run.out.replace(/(SyntaxError): .*/, "$1")).toBe(`FAIL  a.json
      there is no model lab/x
pass  b.json
      answer: other words
      calls: none
FAIL  c.json
      it cannot be read: SyntaxError
1 passed, 2 failed
`);
  expect(requests.filter(({ method }) => method !== "connect").map(({ params }) => params)).toEqual(
    ["t#a", "t#b"].map((turn) => ({
      saved: { ...saved, turn },
      model: "lab/x",
      config: resolve("other.json5"),
    })),
  );
  const { results } = JSON.parse((await parley(home, [...argv, "--json"])).out) as { results: unknown[] };
  const { saved: _, ...replay } = { ...replayed, saved, moved: ["answer: other words", "calls: none"] };
  expect(results.slice(0, 2)).toEqual([
    { file: "a.json", ok: false, failures: ["there is no model lab/x"], moved: [], replay: null },
    { file: "b.json", ok: true, failures: [], moved: replay.moved, replay },
  ]);
  // A gateway that is not there any more says nothing of the turns.
  write("b.json", "t#gone");
  expect(await parley(home, argv)).toEqual({
    exitCode: 1,
    out: "FAIL  a.json\n      there is no model lab/x\n",
    err: "it stops\n",
  });
  const empty = join(home, "empty");
  mkdirSync(empty);
  const words = `${empty} has no turns: write some with \`parley replay TURN --save ${empty}/NAME.json\`\n`;
  expect(await parley(home, ["eval", empty])).toEqual({ exitCode: 2, out: "", err: words });
  expect((await parley(home, ["eval", join(empty, "x")])).exitCode).toBe(2);
});
