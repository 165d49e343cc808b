// In which order a daemon ends its parts, and that none that hangs or fails keeps the rest from ending.
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { Parts } from "../../src/daemon/parts.ts";
import { stopParts } from "../../src/daemon/stop-parts.ts";

function stage({ othersLead = false as boolean | Error, hangs = false } = {}) {
  const did: string[] = [];
  const does =
    (what: string) =>
    async (...given: readonly unknown[]): Promise<void> =>
      void did.push(given.length === 0 ? what : `${what} ${JSON.stringify(given)}`);
  const ending = new AbortController();
  ending.signal.addEventListener("abort", () => did.push("abort"));
  const parts = {
    wired: {
      channels: new Map([
        [
          "a",
          {
            stop: () => (did.push("stop a"), hangs ? new Promise(() => {}) : Promise.reject(new Error("no"))),
          },
        ],
        ["b", { stop: does("stop b") }],
      ]),
    },
    state: { enter: (phase: string) => void did.push(phase) },
    ending,
    nodeRegistry: {
      leave: does("leave"),
      async othersLead() {
        if (othersLead instanceof Error) throw othersLead;
        return othersLead;
      },
    },
    cluster: { handOver: does("hand over"), close: does("close cluster") },
    hookProcesses: { close: does("close hooks") },
    machinePorts: { end: does("end ports") },
    mcp: { close: does("close mcp") },
    closeHub: does("close hub"),
    workNotifier: { close: does("close notifier") },
    control: { close: does("close control") },
  } as unknown as Parts;
  return {
    did,
    stop: (clock = virtualClock()) => stopParts(parts, { drain: does("drain") } as never, clock),
  };
}

const drained = [
  'drain [{"turnsMs":25000,"flushMs":10000}]',
  "close hooks",
  "end ports",
  "close mcp",
  "hand over",
  "leave",
  "close cluster",
  "close hub",
  "close notifier",
  "close control",
];

test("work ends before what it uses, clients last; a channel that cannot stop keeps nothing", async () => {
  const alone = stage();
  await alone.stop();
  expect(alone.did).toEqual(["draining", "abort", "stop a", "stop b", ...drained]);
  // Where others can take over they do at once; whether they can is a question that may fail.
  const among = stage({ othersLead: true });
  await among.stop();
  expect(among.did).toEqual(["draining", "abort", "hand over", "stop a", "stop b", ...drained]);
  const away = stage({ othersLead: new Error("the store is away") });
  await away.stop();
  expect(away.did).toEqual(alone.did);
});

test("a channel that hangs is waited for ten seconds", async () => {
  const clock = virtualClock();
  const s = stage({ hangs: true });
  const stopped = s.stop(clock);
  await clock.advance(9_999);
  expect(s.did.at(-1)).toBe("stop b");
  await clock.advance(1);
  await stopped;
  expect(s.did.slice(4)).toEqual(drained);
});
