// The nightly upkeep of notes on the message path: what is alike is proposed to an owner in private, once,
// and no note changes before the owner says so; a process may die at any moment of it.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { Button } from "@parley/protocol";
import { provenanceOf } from "@parley/runner";
import { memoryEngine } from "@parley/memory";
import type { JsonObject } from "@parley/protocol";
import { forgetMethods } from "../../src/operator/agent/memory.ts";
import type { Answer, Asked } from "./scripted-model.ts";
import { configIn, stage, type Stage, type StageOptions } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const dayMs = 86_400_000;
const job = "memory-upkeep-main";
const notes = {
  "MEMORY.md": "# People\n- Ann lives in Lisbon near the harbour.\n- Ann drinks tea.\n",
  "memory/2026-01-01.md":
    "- Ferry to Hven leaves at nine.\r\n- The ferry to Hven leaves at nine\r\n- It rained\r\n",
  "memory/2025-12-30.md": "- The ferry to Hven leaves at ten.\n",
  "memory/shared/all.md": "- The ferry to Hven leaves at nine.\n",
};
const first = "memory/2026-01-01.md#L1";
const second = "memory/2026-01-01.md#L2";
const old = "memory/2025-12-30.md#L1";
const merge = {
  kind: "merge",
  lines: [first, second],
  text: "The ferry to Hven leaves at nine.",
  why: "the same",
};
const contradiction = { kind: "contradiction", lines: [first, old], why: "nine or ten" };

/** The upkeep looks once, and proposes these. */
function proposing(changes: readonly object[]): (asked: Asked) => Answer {
  return ({ messages, users }) => {
    if (users.at(-1)?.includes("Look after your notes") !== true) return "hello";
    const lastUser = messages.findLastIndex(({ role }) => role === "user");
    const results = messages.slice(lastUser).filter(({ role }) => role === "tool").length;
    if (results === 0) return { calls: { name: "memory_upkeep", args: { action: "look" } } };
    if (results === 1)
      return {
        calls: { name: "memory_upkeep", args: { action: "propose", changes } as unknown as JsonObject },
      };
    return "done";
  };
}

const on = { agents: { defaults: { memorySearch: { upkeep: { enabled: true } } } } };

async function begin(
  changes: readonly object[],
  {
    files = notes,
    config = on,
    ...more
  }: Partial<StageOptions> & { files?: { [path: string]: string } } = {},
): Promise<void> {
  s = await stage({
    catalogue: true,
    ...more,
    config: { commands: { ownerAllowFrom: ["telegram:olga"] }, ...config },
    telegram: { groupPolicy: "open", groups: { "*": { requireMention: false } } },
  });
  s.model.answers(proposing(changes));
  for (const [path, text] of Object.entries(files)) {
    const at = join(s.home, "workspace", path);
    await mkdir(dirname(at), { recursive: true });
    await writeFile(at, text);
  }
}

const read = (path: string): Promise<string> => readFile(join(s.home, "workspace", path), "utf8");
const shown = (): readonly string[] => s.telegram.shown("olga").filter((text) => text.includes("🧹"));
const card = () => s.telegram.sent("olga").find(({ part }) => "text" in part && part.text.includes("🧹"));
const proposals = () => s.core().upkeep.list();
const runs = async () => (await s.rows()).filter(({ id }) => id.startsWith("cron:memory-upkeep-main:"));

/** Nothing runs meanwhile, so that no timer of those hours is waited for. */
async function away(ms: number): Promise<void> {
  await s.kill();
  await s.clock.advance(ms);
  await s.start();
}

/** To a minute before the upkeep of the next night. */
async function evening(): Promise<void> {
  await s.until(async () => (await s.core().schedules.jobs.get(job)) !== null, "the job");
  const kept = await s.core().schedules.jobs.get(job);
  await away((kept?.job.state.nextMs ?? 0) - s.clock.now() - 60_000);
}

async function night(): Promise<void> {
  await evening();
  await s.until(async () => (await proposals()).length > 0 && shown().length > 0, "the card");
}

/** The nights that follow, each with its run. */
async function nights(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) {
    const before = (await runs()).length;
    await evening();
    await s.until(async () => (await runs()).length > before, "the run");
    await s.until(async () => (await runs()).every(({ state }) => state === "ended"), "its end");
  }
}

function press(label: string, who = "olga"): void {
  const part = card()?.part;
  const buttons: readonly Button[] = part?.kind === "text" ? (part.buttons ?? []).flat() : [];
  const value = buttons.find((each) => each.label.includes(label))?.value ?? `no button ${label}`;
  s.person(who).says("", {
    id: `telegram:default:press-${who}-${label}`,
    messageId: `press-${who}-${label}`,
    kind: "callback",
    callback: { id: `cb-${who}-${label}`, value },
    replyTo: { messageId: card()?.id ?? "", toBot: true },
  });
}

const settled = (state: string): Promise<void> =>
  s.until(async () => (await proposals())[0]?.state === state, state);

function methods(config: Awaited<ReturnType<typeof configIn>>) {
  const memory = memoryEngine({ clock: s.clock });
  return forgetMethods({
    ...s.core(),
    config,
    memory,
    store: s.store(),
    home: join(s.home, "state"),
    clock: s.clock,
  });
}

test("shows an owner what is alike in one scope, and writes it once it is accepted", async () => {
  await begin([merge]);
  await night();
  expect(new Date(s.clock.now()).toISOString()).toMatch(/T03:3/);
  const looked = JSON.stringify(s.model.asked[1]?.messages.findLast(({ role }) => role === "tool"));
  expect(looked).toContain(`${first}: - Ferry to Hven`);
  // What everybody may know stands beside nothing of the owners.
  expect(looked).not.toContain("memory/shared/all.md");
  expect(shown()[0]).toMatch(
    /These say the same.*memory\/2026-01-01\.md#L1.*=> The ferry to Hven leaves at nine\./s,
  );
  expect(await read("memory/2026-01-01.md")).toBe(notes["memory/2026-01-01.md"]);

  press("Accept");
  await settled("accepted");
  expect(await read("memory/2026-01-01.md")).toBe("- The ferry to Hven leaves at nine.\r\n- It rained\r\n");
  await s.until(
    () => shown().some((text) => text.includes("accepted by olga, 1 of 1 change made")),
    "the end",
  );
  const [why] = await provenanceOf(s.store(), "main", "- The ferry to Hven leaves at nine.");
  expect(why).toMatchObject({ tool: "upkeep", by: ["telegram:olga"], turn: (await runs())[0]?.turn });

  const { "memory.history": history, "memory.undo": undo } = methods(await configIn(s.home, {}));
  expect((await history({})).changes).toMatchObject([
    { path: "memory/2026-01-01.md", tool: "upkeep", by: ["telegram:olga"] },
  ]);
  expect(await undo({})).toMatchObject({ changed: true });
  expect(await read("memory/2026-01-01.md")).toBe(notes["memory/2026-01-01.md"]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/upkeep-alike.txt");
});

test("marks what holds no more, and leaves both lines", async () => {
  await begin([contradiction]);
  await night();
  press("Accept");
  await settled("accepted");
  expect(await read("memory/2025-12-30.md")).toBe(
    "- The ferry to Hven leaves at ten. [superseded 2026-01-01: Ferry to Hven leaves at nine.]\n",
  );
  expect(await read("memory/2026-01-01.md")).toBe(notes["memory/2026-01-01.md"]);
});

test("is refused: nothing changes, and the same is not proposed again", async () => {
  await begin([merge]);
  await night();
  press("Refuse");
  await settled("refused");
  expect(await read("memory/2026-01-01.md")).toBe(notes["memory/2026-01-01.md"]);
  await nights(1);
  // What was looked at is looked at again after a month.
  await away(31 * dayMs);
  await nights(1);
  expect(JSON.stringify(s.model.asked.at(-1)?.messages)).toContain("an owner has refused a change");
  expect(await proposals()).toEqual([]);
  expect(shown()).toHaveLength(1);
});

test("is an owner's to decide, in private, in time, and by words too", async () => {
  await begin([merge, { ...contradiction, lines: ["MEMORY.md#L2", "MEMORY.md#L3"] }]);
  await night();
  const [{ id } = { id: "" }] = await proposals();
  s.person("bob").says(`/memory accept ${id}`);
  await s
    .person("olga", { chat: "g1" })
    .says(`/memory accept ${id}`, {
      address: { channel: "telegram", account: "default", kind: "group", peer: "g1" },
    })
    .gets(/in private/);
  expect((await proposals())[0]?.state).toBe("open");
  const olga = s.person("olga");
  olga.says("/memory");
  await s.until(() => s.telegram.shown("olga").some((text) => text.includes(`${id}`)), "the list");
  olga.says(`/memory accept ${id} 9`);
  await s.until(() => s.telegram.shown("olga").some((text) => /no change 9/.test(text)), "the refusal");
  await away(8 * dayMs);
  expect((await proposals()).find((each) => each.id === id)?.state).toBe("expired");
  olga.says(`/memory accept ${id}`);
  await s.until(() => s.telegram.shown("olga").some((text) => /decided before/i.test(text)), "the end");
  expect(await read("memory/2026-01-01.md")).toBe(notes["memory/2026-01-01.md"]);
});

describe("a change is left out", () => {
  test("when its lines are of different people, made up, or of no group", async () => {
    await begin([
      { ...merge, lines: [first, "memory/shared/all.md#L1"] },
      { ...merge, lines: [first, "MEMORY.md#L99"] },
      { ...merge, lines: [first, first] },
      { ...merge, text: "" },
    ]);
    await nights(1);
    expect(await proposals()).toEqual([]);
    const told = JSON.stringify(s.model.asked[2]?.messages.findLast(({ role }) => role === "tool"));
    expect(told).toMatch(/Nothing is proposed.*name two or more lines.*needs a text/s);
  });

  test("when somebody changed its lines before it was accepted", async () => {
    await begin([merge]);
    await night();
    await writeFile(join(s.home, "workspace/memory/2026-01-01.md"), "- Ferry to Hven leaves at nine.\n");
    press("Accept");
    await settled("accepted");
    expect(await read("memory/2026-01-01.md")).toBe("- Ferry to Hven leaves at nine.\n");
    expect((await proposals())[0]?.left).toEqual(["change 1: memory/2026-01-01.md was changed since"]);
  });
});

test("what was noted after reading strangers says so to the owner, and stays marked", async () => {
  const page = "https://evil.example/page";
  await begin([merge], {
    files: { "memory/2026-01-01.md": "- Ferry to Hven leaves at nine.\n" },
    web: { [page]: "x" },
  });
  s.model.answers((asked) => {
    const results = asked.messages.filter(({ role }) => role === "tool").length;
    if (asked.users.at(-1) !== "note it") return proposing([merge])(asked);
    if (results === 0) return { calls: { name: "web_fetch", args: { url: page } } };
    const content = "- Ferry to Hven leaves at nine.\n- The ferry to Hven leaves at nine\n";
    return results === 1
      ? { calls: { name: "write", args: { path: "memory/2026-01-01.md", content } } }
      : "noted";
  });
  const olga = s.person("olga");
  await olga.says("note it").gets("noted");
  await night();
  expect(shown()[0]).toMatch(/Noted after reading text of strangers.*evil\.example/s);
  press("Accept");
  await settled("accepted");
  const [why] = await provenanceOf(s.store(), "main", "The ferry to Hven leaves at nine.");
  expect(why).toMatchObject({ tool: "upkeep", untrusted: "evil.example" });
  s.model.answers(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? "read"
      : { calls: { name: "memory_get", args: { path: "memory/2026-01-01.md" } } },
  );
  olga.says("look");
  await s.until(() => olga.sees().includes("read"), "the answer");
  const result = JSON.stringify(s.model.asked.at(-1)?.messages.findLast(({ role }) => role === "tool"));
  expect(result).toContain("notes made after reading evil.example");
});

test("killed at any write: proposed once, written once, in the history once", async () => {
  await begin([merge]);
  await evening();
  for (let nth = 1; nth < 40; nth += 1) {
    const died = s.dieAtWrite(nth);
    await s.pass(nth < 3 ? 61_000 : 5_000);
    if (died()) {
      await s.kill();
      await s.start();
    }
  }
  await s.until(() => shown().length > 0, "the card");
  expect((await proposals()).map(({ state }) => state)).toEqual(["open"]);
  expect(await runs()).toHaveLength(1);
  press("Accept");
  for (let nth = 1; nth < 14; nth += 1) {
    const died = s.dieAtWrite(nth);
    await s.pass(5_000);
    if (died()) {
      await s.kill();
      await s.start();
    }
  }
  await settled("accepted");
  expect(shown()).toHaveLength(1);
  expect(await read("memory/2026-01-01.md")).toBe("- The ferry to Hven leaves at nine.\r\n- It rained\r\n");
  const { "memory.history": history } = methods(await configIn(s.home, {}));
  expect((await history({})).changes).toHaveLength(1);
});

describe("the job", () => {
  test("is not there unless the config says so, and its tool is in no other session", async () => {
    await begin([], { config: {} });
    await away(dayMs);
    await s.pass(60_000);
    expect(await runs()).toEqual([]);
    await s.person("olga").says("hi").gets("hello");
    const tools = s.model.asked[0]?.request.tools.map(({ name }) => name) ?? [];
    expect(tools).toContain("memory_get");
    expect(tools).not.toContain("memory_upkeep");
    expect(await s.core().schedules.jobs.get(job)).toBeNull();
  });

  test("is a job like any other, with the tool alone and a cap", async () => {
    await begin([]);
    await s.until(async () => (await s.core().schedules.jobs.get(job)) !== null, "the job");
    const kept = await s.core().schedules.jobs.get(job);
    expect(kept?.job).toMatchObject({
      mostTokensPerDay: 100_000,
      schedule: { kind: "cron", expression: "30 3 * * *" },
    });
    await s.core().keepOwnJobs();
    expect((await s.core().schedules.jobs.get(job))?.cell).toBe(kept?.cell);
    await nights(1);
    expect(s.model.asked[0]?.request.tools.map(({ name }) => name)).toEqual(["memory_upkeep"]);
    // What was looked at is not asked again.
    const before = s.model.asked.length;
    await nights(1);
    const looked = s.model.asked.slice(before).map(({ messages }) => JSON.stringify(messages.at(-1)));
    expect(looked.join("\n")).toContain("There is nothing to do");
    expect(await proposals()).toEqual([]);
  });
});
