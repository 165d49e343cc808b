// What stands for the path in force, and is given out once: each of its members reaches the path that a
// reload put in place.
import { expect, test } from "vitest";
import { livePath, type ConfiguredPath } from "../../src/message-path/paths-by-config.ts";

test("every member of the path that was given out once is that of the path in force", async () => {
  const parts = [
    "commands",
    "work",
    "models",
    "pairing",
    "owners",
    "forgetting",
    "talk",
    "upkeep",
    "closed",
    "turnPreparer",
    "prompts",
    "usage",
    "ledger",
    "quarantine",
    "running",
    "approvals",
    "questions",
    "hold",
    "mcp",
    "schedules",
    "heard",
    "stop",
  ] as const;
  const calls = ["receive", "route", "start", "keepOwnJobs", "dropDeliveries", "reach"] as const;
  const configured = (of: string): ConfiguredPath =>
    ({
      path: {
        ...Object.fromEntries(parts.map((part) => [part, { is: `${of} ${part}` }])),
        ...Object.fromEntries(
          calls.map((call) => [call, (...given: readonly unknown[]) => [`${of} ${call}`, ...given]]),
        ),
      },
      models: { is: `${of} models` },
      skills: { is: `${of} skills` },
      hooks: { is: `${of} hooks` },
    }) as never;
  let now = configured("first");
  const { path, ...more } = livePath(() => now);
  expect(Object.keys(path).toSorted()).toEqual([...parts, ...calls].toSorted());
  now = configured("second");
  const is = (part: unknown): unknown => (part as { readonly is: string }).is;
  expect(parts.map((part) => is(path[part]))).toEqual(parts.map((part) => `second ${part}`));
  expect([is(more.models), is(more.skills), is(more.hooks)]).toEqual([
    "second models",
    "second skills",
    "second hooks",
  ]);
  const all = path as unknown as { readonly [call: string]: (...given: readonly unknown[]) => unknown };
  expect(
    ["receive", "route", "keepOwnJobs", "dropDeliveries", "reach"].map((call) => all[call]?.("a", "b")),
  ).toEqual([
    ["second receive", "a"],
    ["second route", "a"],
    ["second keepOwnJobs"],
    ["second dropDeliveries", "a", "b"],
    ["second reach", "a"],
  ]);
  // Without handlers of its own, what was begun by one path goes on with those of the next.
  const begun = all["start"]?.(undefined, "share");
  const [name, work, share] = begun as readonly [string, () => unknown, string];
  now = configured("third");
  expect([name, is(work()), share]).toEqual(["second start", "third work", "share"]);
  const own = (): string => "own";
  expect(all["start"]?.(own, "share")).toEqual(["third start", own, "share"]);
});
