// What an import tells a person: a dry run, one that wrote, and one that had nothing to do.
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { tellImport, type Imported } from "../src/commands/import-words.ts";

function told(answer: Partial<Imported>, all = false): string {
  const out = new PassThrough();
  const nothing = { from: "/old", home: "/new", applied: false, changes: true, met: [], todo: [] };
  tellImport({ out, env: {} }, { ...nothing, ...answer }, all);
  return String(out.read() ?? "");
}

const met: Imported["met"] = [
  { what: "session", name: "s1", fate: "carried", to: "telegram:default:dm:1" },
  { what: "key", name: "agents.defaults", fate: "carried" },
  { what: "key", name: "agent.model", fate: "changed", to: "agents.defaults.model", why: "it moved" },
  { what: "key", name: "gateway.mode", fate: "unknown", why: "no such key" },
  { what: "file", name: "SOUL.md", fate: "carried", to: "SOUL.md" },
  { what: "file", name: "USER.md", fate: "there" },
  { what: "file", name: "exec.json", fate: "refused", why: "it lets everything run" },
  { what: "person", name: "ada", fate: "changed", to: "telegram:2", why: "it has an id" },
  { what: "owner", name: "telegram:1", fate: "there" },
  { what: "variable", name: "OPENAI_API_KEY", fate: "carried", to: "env" },
  { what: "variable", name: "HOME", fate: "there" },
  { what: "job", name: "daily", fate: "carried" },
  { what: "other", name: "plugins", fate: "unknown", why: "nobody looked" },
];

test("kind by kind in their order; of files and keys that are as they were only how many", () => {
  expect(told({ met, todo: ["Set OPENAI_API_KEY", "Pair again"] })).toBe(`Config
  changed  agent.model -> agents.defaults.model: it moved
  unknown  gateway.mode: no such key
  1 as they are (--all shows them)
Variables
  carried  OPENAI_API_KEY -> env
  there    HOME
Files
  refused  exec.json: it lets everything run
  2 as they are (--all shows them)
Owners
  there    telegram:1
People
  changed  ada -> telegram:2: it has an id
Schedules
  carried  daily
Conversations
  carried  s1 -> telegram:default:dm:1
Not looked into
  unknown  plugins: nobody looked
3 things are not carried; each has its reason above.
To do: Set OPENAI_API_KEY
To do: Pair again
This was a dry run: nothing was written. Stop both gateways and add --apply to do it.
`);
});

test("with --all each is a line, in the order in which it was met", () => {
  const files = told({ met }, true).split("Owners")[0];
  expect(files).toBe(`Config
  carried  agents.defaults
  changed  agent.model -> agents.defaults.model: it moved
  unknown  gateway.mode: no such key
Variables
  carried  OPENAI_API_KEY -> env
  there    HOME
Files
  carried  SOUL.md
  there    USER.md
  refused  exec.json: it lets everything run
`);
});

test("headings are bold on a terminal", () => {
  const out = Object.assign(new PassThrough(), { isTTY: true });
  const job = { what: "job", name: "daily", fate: "carried" } as const;
  tellImport(
    { out, env: {} },
    { from: "/old", home: "/new", applied: true, changes: true, met: [job], todo: [] },
    false,
  );
  expect(String(out.read())).toBe(
    "\u001B[1mSchedules\u001B[0m\n  carried  daily\nCarried into /new. Start it: parley start\n",
  );
});

test("one that wrote says where, one with nothing to carry says so, whether it might write or not", () => {
  expect(told({ applied: true })).toBe("Carried into /new. Start it: parley start\n");
  for (const applied of [true, false])
    expect(told({ applied, changes: false, met: [{ what: "file", name: "a", fate: "there" }] })).toBe(
      "Files\n  1 as they are (--all shows them)\nNothing is left to carry: everything is there already.\n",
    );
});
