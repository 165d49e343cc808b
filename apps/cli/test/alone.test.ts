// Commands that start the gateway's program themselves: for its records while none runs, to put a copy back,
// to try a model, to import, and to run it. What the program is told, what becomes of its answer, and how
// each ends.
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { probeModel } from "../src/probes.ts";
import { parley, stateFolder } from "./fake-gateway.ts";
import { standIn, type StandIn } from "./stand-in.ts";

describe("with no gateway that runs", () => {
  const away = "{ gateway: { port: 1 } }";

  test("the records are read by one that is started for this; what is wrong with the config is told behind it", async () => {
    const { env, calls } = standIn({ answers: { "dead.list": { rows: [] } } });
    expect(await parley(stateFolder(away), ["dead", "list"], { env })).toEqual({
      exitCode: 0,
      out: "No message is dead.\n",
      err: "",
    });
    expect(calls()).toEqual([["--once"], { method: "dead.list", params: {} }]);
    const home = stateFolder("{ gateway: { port: 1 }, loging: {} }");
    const odd = await parley(home, ["dead", "list"], { env });
    expect([odd.exitCode, odd.out]).toEqual([0, "No message is dead.\n"]);
    expect(odd.err).toBe(
      `config: ${home}/parley.json5:1:25 loging: unknown key "loging". Did you mean "logging"?\n`,
    );
  });

  test.each<[StandIn, number, string]>([
    [{ err: "\na.b: unknown key\n\n", exitCode: 78 }, 78, "a.b: unknown key\n"],
    [{ exitCode: 3 }, 1, "The gateway ended without an answer.\n"],
  ])(
    "one that does not come up, as %j, ends the command with %d and its words",
    async (does, code, words) => {
      const { env } = standIn({ isDown: true, ...does });
      const said = await parley(stateFolder(away), ["dead", "list"], { env });
      expect(said).toEqual({ exitCode: code, out: "", err: words });
    },
  );

  test("what its log has of a mistake of its own is told behind the words that point there", async () => {
    const { env } = standIn({
      answers: { "dead.list": { code: "internal", message: "its log has more under 1234" } },
      err: '{"level":50,"reference":"1234"}\n',
    });
    const said = await parley(stateFolder(away), ["dead", "list"], { env });
    expect([said.exitCode, said.out]).toEqual([1, ""]);
    expect(said.err).toBe('its log has more under 1234\n{"level":50,"reference":"1234"}\n');
  });

  test("a refusal of it is told as one", async () => {
    const { env } = standIn({ answers: { "outbox.drop": { code: "missing", message: "there is none" } } });
    const said = await parley(stateFolder(away), ["outbox", "drop", "x", "--json"], { env });
    expect([said.exitCode, JSON.parse(said.out)]).toEqual([
      1,
      { ok: false, error: { code: "missing", message: "there is none" } },
    ]);
  });
});

describe("a copy that is put back", () => {
  const open =
    "were open when the backup was made; they may have been done since, so they wait for you: parley dead list, parley outbox list --troubled.\n";

  test.each([
    [[], { resume: false }, { keptAs: null, messages: 0, answers: 0 }, "There was no database before.\n"],
    [
      ["--resume-work", "--passphrase", "env:PASS"],
      { passphrase: "of mine", resume: true },
      { keptAs: "/s/state.db.replaced-1", messages: 2, answers: 0 },
      `The old database is kept as /s/state.db.replaced-1.\n2 messages and 0 answers ${open}`,
    ],
    [
      [],
      { resume: false },
      { keptAs: "/s/old", messages: 0, answers: 1 },
      `The old database is kept as /s/old.\n0 messages and 1 answers ${open}`,
    ],
  ])("with %j: %j, and it is told where the old one is and what waits", async (flags, asked, done, words) => {
    const answer = { path: "/s/state.db", ...done };
    const { env, calls } = standIn({ answers: { restore: answer } });
    const home = stateFolder(null);
    const run = await parley(home, ["restore", "copy.db", ...flags], { env: { ...env, PASS: "of mine" } });
    expect(run).toEqual({ exitCode: 0, out: `Restored /s/state.db.\n${words}`, err: "" });
    expect(calls()).toEqual([
      ["--once"],
      { method: "restore", params: { path: resolve("copy.db"), ...asked } },
    ]);
  });
});

const answered = {
  id: "lab/deep",
  ok: true,
  error: null as object | null,
  totalMs: 9,
  usesTools: true,
  toolCalling: true,
  roundTrip: true as boolean | null,
  thinking: { level: "high", works: true },
};
const failed = (status: number): object => ({
  ...answered,
  ok: false,
  error: { kind: "x", message: "no", status },
});
const toolless = ", but it does not work with tools";

test.each([
  [answered, { ok: true, words: "lab/deep answered in 9 ms" }],
  [
    { ...answered, roundTrip: null, thinking: { level: "high", works: false } },
    {
      ok: true,
      words: `lab/deep answered in 9 ms${toolless}, but it refuses to think at the level high`,
    },
  ],
  [
    { ...answered, usesTools: false, toolCalling: false },
    { ok: true, words: "lab/deep answered in 9 ms" },
  ],
  [failed(401), { ok: false, words: "lab/deep: no (HTTP 401)", fix: "Check the key at the provider" }],
  [failed(403), { ok: false, words: "lab/deep: no (HTTP 403)", fix: "Check the key at the provider" }],
  [
    failed(404),
    { ok: false, words: "lab/deep: no (HTTP 404)", fix: "Check the model's id and the provider's baseUrl" },
  ],
  [
    failed(429),
    { ok: false, words: "lab/deep: no (HTTP 429)", fix: "Check the account's limits at the provider" },
  ],
  [
    { ...answered, ok: false },
    {
      ok: false,
      words: "lab/deep: no answer",
      fix: "Check the network and the provider's baseUrl",
    },
  ],
  [
    { code: "invalid", message: "a.b: no such model" },
    { ok: false, words: "a.b: no such model", fix: "Mend what the message names" },
  ],
])("a model that is tried and tells %j is %j", async (answer, probe) => {
  const { env, calls } = standIn({ answers: { "models.test": answer } });
  const isNamed = answer === answered;
  expect(await (isNamed ? probeModel(env, "deep") : probeModel(env))).toEqual(probe);
  expect(calls()[1]).toEqual({ method: "models.test", params: isNamed ? { id: "deep" } : {} });
});

describe("an import", () => {
  const imported = {
    from: "/old",
    home: "/new",
    applied: true,
    changes: true,
    met: [{ what: "file", name: "SOUL.md", fate: "carried" }],
    todo: [],
  };
  const out = JSON.stringify(imported);

  test.each([
    [["old", "--apply"], [resolve("old"), "--apply"], "Files\n  1 as they are (--all shows them)\n"],
    [["/old", "--all", "--even-if-running"], ["/old", "--even-if-running"], "Files\n  carried  SOUL.md\n"],
  ])("%j has the program run with %j", async (flags, words, shown) => {
    const { env, calls } = standIn({ out });
    const run = await parley(stateFolder(null), ["import", "openclaw", ...flags], { env });
    expect(run).toEqual({ exitCode: 0, out: `${shown}Carried into /new. Start it: parley start\n`, err: "" });
    expect(calls()).toEqual([["--import", ...words]]);
  });

  test("with --json is the program's own document; a refusal and an end without one are told", async () => {
    const run = async (does: StandIn) =>
      parley(stateFolder(null), ["import", "openclaw", "/old", "--json"], { env: standIn(does).env });
    expect(await run({ out })).toEqual({ exitCode: 0, out: `${out}\n`, err: "" });
    const error = { code: "conflict", message: "a gateway runs" };
    const told = async (does: StandIn): Promise<unknown> => {
      const { exitCode, out: text } = await run(does);
      return [exitCode, (JSON.parse(text) as { readonly error: unknown }).error];
    };
    expect([
      await told({ out: JSON.stringify({ error }) }),
      await told({ out: "\n", err: "no room\n", exitCode: 1 }),
    ]).toEqual([
      [1, error],
      [1, { code: "internal", message: "no room" }],
    ]);
  });

  test("without a folder takes the one of today's name, then those of older ones, of whoever asks", async () => {
    const home = stateFolder(null, null);
    vi.stubEnv("HOME", home);
    onTestFinished(() => void vi.unstubAllEnvs());
    const taken = async (): Promise<unknown> => {
      const { env, calls } = standIn({ out });
      await parley(home, ["import", "openclaw"], { env });
      return (calls()[0] as readonly string[])[1];
    };
    const found = [await taken()];
    for (const name of [".clawdbot", ".moltbot"]) {
      mkdirSync(join(home, name));
      found.push(await taken());
    }
    const names = [".openclaw", ".clawdbot", ".moltbot"];
    expect(found).toEqual(names.map((name) => join(home, name)));
  });
});

test("start and migrate hand their words to the program, and end as it does", async () => {
  const { env, calls } = standIn({ exitCode: 7 });
  vi.stubEnv("NODE_OPTIONS", env.NODE_OPTIONS);
  onTestFinished(() => void vi.unstubAllEnvs());
  const home = stateFolder(null);
  const run = async (...argv: readonly string[]) => (await parley(home, argv)).exitCode;
  expect(await run("start", "--role", "edge", "--node", "n1", "--port", "7")).toBe(7);
  expect(await run("migrate", "--to", "redis")).toBe(7);
  expect(calls()).toEqual([
    ["--role", "edge", "--node", "n1", "--port", "7"],
    ["--migrate", "redis"],
  ]);
});
