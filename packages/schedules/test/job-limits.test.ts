// The form of a job in its cell, at both sides of each limit: what a daemon wrote before, it reads again
// whole, and a job that another hand wrote beyond a limit is left alone.
import { expect, test } from "vitest";
import { formatJob, parseJob } from "../src/job.ts";
import { jobOf } from "./jobs.ts";

const long = (chars: number): string => "x".repeat(chars);
const many = (count: number, value: unknown): readonly unknown[] =>
  Array.from({ length: count }, () => value);
const dayMs = 86_400_000;
const to = { channel: "telegram", account: "default", kind: "dm", peer: "7" };
const state = (more: object): object => ({ state: { ...jobOf({}).state, ...more } });
const last = { slot: "s", instantMs: 1, endedAtMs: 2, outcome: "ok", reason: null };

const changes: readonly (readonly [what: string, ok: readonly object[], refused: readonly object[]])[] = [
  ["version", [{ v: 1 }, { version: 1 }], [{ v: 2 }, { version: 0 }, { version: 1.5 }]],
  [
    "id",
    ["a", "0", "a-b", `a${long(63)}`].map((id) => ({ id })),
    ["", "-a", "A", "a b", "a_b", "a:b", `a${long(64)}`, "a\n"].map((id) => ({ id })),
  ],
  ["name", [{ name: "n" }, { name: long(120) }], [{ name: "" }, { name: "  " }, { name: long(121) }]],
  ["agent", [{ agent: "a" }], [{ agent: "" }]],
  [
    "every",
    [1_000, 366 * dayMs].map((everyMs) => ({ schedule: { kind: "every", everyMs, anchorMs: -1 } })),
    [999, 366 * dayMs + 1, 1_000.5].map((everyMs) => ({ schedule: { kind: "every", everyMs, anchorMs: 0 } })),
  ],
  [
    "cron",
    [{ schedule: { kind: "cron", expression: long(200), zone: "UTC" } }],
    [
      { schedule: { kind: "cron", expression: long(201), zone: "UTC" } },
      { schedule: { kind: "cron", expression: "* * * * *" } },
      { schedule: { kind: "at", atMs: 1.5, zone: "UTC" } },
      { schedule: { kind: "often" } },
    ],
  ],
  [
    "watch",
    [
      { schedule: { kind: "watch", path: "a", debounceMs: 100 } },
      { schedule: { kind: "watch", path: long(300), debounceMs: 3_600_000 } },
    ],
    [
      { schedule: { kind: "watch", path: "", debounceMs: 100 } },
      { schedule: { kind: "watch", path: long(301), debounceMs: 100 } },
      { schedule: { kind: "watch", path: "a", debounceMs: 99 } },
      { schedule: { kind: "watch", path: "a", debounceMs: 3_600_001 } },
    ],
  ],
  [
    "payload",
    [
      { payload: { kind: "systemEvent", text: long(16_000) } },
      { payload: { kind: "agentTurn", message: long(16_000) } },
      { payload: { kind: "command", command: "x", cwd: long(1_000) } },
    ],
    [
      { payload: { kind: "systemEvent", text: "" } },
      { payload: { kind: "systemEvent", text: long(16_001) } },
      { payload: { kind: "agentTurn", message: "" } },
      { payload: { kind: "agentTurn", message: long(16_001) } },
      { payload: { kind: "command", command: "x", cwd: long(1_001) } },
    ],
  ],
  [
    "a turn's models and tools",
    [
      { model: long(200) },
      { fallbacks: many(10, long(200)) },
      { thinking: "xhigh" },
      { thinking: "off" },
      { tools: many(200, long(100)) },
      { tools: [] },
      { lightContext: true },
    ].map((more) => ({ payload: { kind: "agentTurn", message: "m", ...more } })),
    [
      { model: "" },
      { model: long(201) },
      { fallbacks: many(11, "a") },
      { fallbacks: [long(201)] },
      { fallbacks: [""] },
      { thinking: "deep" },
      { tools: many(201, "a") },
      { tools: [""] },
      { tools: [long(101)] },
    ].map((more) => ({ payload: { kind: "agentTurn", message: "m", ...more } })),
  ],
  [
    "target",
    [
      { target: { kind: "main" } },
      { target: { kind: "isolated" } },
      { target: { kind: "current", session: "s" } },
      { target: { kind: "session", session: "s" } },
    ],
    [
      { target: { kind: "current" } },
      { target: { kind: "session", session: "" } },
      { target: { kind: "x" } },
    ],
  ],
  [
    "delivery",
    [
      { delivery: { kind: "none" } },
      { delivery: { kind: "announce", to, bestEffort: true } },
      { delivery: { kind: "webhook", url: "http://a.test/x", bestEffort: false } },
      { delivery: { kind: "webhook", url: "https://a.test/x", bestEffort: false } },
    ],
    [
      { delivery: { kind: "announce", to } },
      { delivery: { kind: "announce", to: { ...to, kind: "letter" }, bestEffort: true } },
      { delivery: { kind: "webhook", url: "ftp://a.test", bestEffort: false } },
      { delivery: { kind: "webhook", url: "xhttp://a.test", bestEffort: false } },
      { delivery: { kind: "webhook", url: "httpsx://a.test", bestEffort: false } },
      { delivery: { kind: "webhook", url: "a.test", bestEffort: false } },
    ],
  ],
  [
    "owner",
    [
      { owner: { ...jobOf({}).owner, tools: many(500, long(100)) } },
      { owner: { ...jobOf({}).owner, tools: null, untrusted: long(1_000) } },
      { owner: { ...jobOf({}).owner, kind: "operator", sender: null, conversation: null, session: null } },
    ],
    [
      { owner: { ...jobOf({}).owner, tools: many(501, "a") } },
      { owner: { ...jobOf({}).owner, tools: [long(101)] } },
      { owner: { ...jobOf({}).owner, untrusted: long(1_001) } },
      { owner: { ...jobOf({}).owner, kind: "guest" } },
      { owner: { ...jobOf({}).owner, authority: null } },
    ],
  ],
  [
    "stagger and catching up",
    [{ staggerMs: 0 }, { staggerMs: 3_600_000 }, { catchUpMs: 60_000 }, { catchUpMs: 4 * dayMs }],
    [
      { staggerMs: -1 },
      { staggerMs: 3_600_001 },
      { catchUpMs: 59_999 },
      { catchUpMs: 4 * dayMs + 1 },
      { catchUpMs: 0 },
    ],
  ],
  [
    "limits of runs",
    [
      { maxRuns: 1 },
      { maxRuns: null },
      { timeoutSeconds: 1 },
      { timeoutSeconds: 86_400 },
      { mostTokensPerDay: 1 },
      { mostTokensPerDay: null },
    ],
    [{ maxRuns: 0 }, { timeoutSeconds: 0 }, { timeoutSeconds: 86_401 }, { mostTokensPerDay: 0 }],
  ],
  [
    "policies",
    [
      ...["latest", "all", "none"].map((misfire) => ({ misfire })),
      ...["skip", "queue", "replace"].map((overlap) => ({ overlap })),
      ...["now", "next-heartbeat"].map((wake) => ({ wake })),
    ],
    [{ misfire: "skip" }, { overlap: "all" }, { wake: "later" }, { enabled: "yes" }, { deleteAfterRun: 1 }],
  ],
  [
    "state",
    [
      state({ nextMs: null, runs: 0, missed: 0, consecutiveErrors: 0, backoffMs: 0 }),
      state({ seen: { generation: 0, digest: "", atMs: 1 } }),
      ...["ok", "silent", "failed", "skipped", "missed", "superseded"].map((outcome) =>
        state({ last: { ...last, outcome, reason: long(1_000) } }),
      ),
      state({ paused: { reason: long(1_000), atMs: 1, until: to } }),
      state({ paused: { reason: "", atMs: 1 } }),
      state({ alertedAtMs: null }),
    ],
    [
      state({ runs: -1 }),
      state({ missed: -1 }),
      state({ consecutiveErrors: -1 }),
      state({ backoffMs: -1 }),
      state({ runs: 0.5 }),
      state({ seen: { generation: -1, digest: "", atMs: 1 } }),
      state({ last: { ...last, outcome: "well" } }),
      state({ last: { ...last, reason: long(1_001) } }),
      state({ paused: { reason: long(1_001), atMs: 1 } }),
      state({ decidedMs: null }),
    ],
  ],
];

test.each(changes)("a job's %s is read at its limits, and not beyond them", (_what, ok, refused) => {
  const written = (change: object): string => JSON.stringify({ ...jobOf({}), ...change });
  for (const change of ok) {
    const read = parseJob(written(change));
    expect(read, `should be read: ${JSON.stringify(change).slice(0, 200)}`).toEqual({
      ...jobOf({}),
      ...change,
    });
    if (read !== null) expect(formatJob(read)).toBe(JSON.stringify(read));
  }
  for (const change of refused)
    expect(
      parseJob(written(change)),
      `should not be read: ${JSON.stringify(change).slice(0, 200)}`,
    ).toBeNull();
});

test("a name is kept without blanks around it, and no field may be missing but those that are optional", () => {
  expect(parseJob(JSON.stringify({ ...jobOf({}), name: "  n " }))?.name).toBe("n");
  const whole = Object.entries(jobOf({}));
  const without = (name: string) => Object.fromEntries(whole.filter(([each]) => each !== name));
  const needless = whole.filter(([name]) => parseJob(JSON.stringify(without(name))) !== null);
  expect(needless).toEqual([]);
});
