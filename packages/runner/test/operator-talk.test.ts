// The operator's search of what was said: which sessions it takes up, and what it takes out for good.
import { noRedaction } from "@parley/agent";
import type { SqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { operatorTalk } from "../src/memory/operator-talk.ts";
import { memoryStore } from "./store.ts";

async function stage(sources: readonly string[], hasMemory = true) {
  const clock = virtualClock();
  const store: SqliteStore = await memoryStore(clock);
  onTestFinished(() => store.close());
  const asked: string[] = [];
  const talk = operatorTalk({
    machine: hasMemory
      ? {
          home: "/home",
          memory: {
            engine: {
              dropTalk: async ({ indexPath }: { readonly indexPath: string }, session: string) =>
                void asked.push(`drop ${session} from ${indexPath}`),
            },
          },
        }
      : undefined,
    config: {
      agents: {
        list: ["main", "other"].map((id) => ({
          id,
          workspace: `/w/${id}`,
          memorySearch: { chunking: {}, embedder: null, sources },
        })),
      },
    },
    sessions: {
      ...store.sessions,
      list: async (what: object) => (asked.push(`list ${JSON.stringify(what)}`), []),
    },
    cells: store.cells,
    redaction: noRedaction,
    clock,
  } as never);
  return { talk, asked };
}

test("all sessions of the agent are taken up, where its sessions are searched at all", async () => {
  const searched = await stage(["memory", "sessions"]);
  expect(await searched.talk.upToDate("other")).toEqual([]);
  expect(searched.asked).toEqual([`list ${JSON.stringify({ prefix: "agent:other:", limit: 1_000 })}`]);
  const notes = await stage(["memory"]);
  expect([await notes.talk.upToDate("other"), notes.asked]).toEqual([[], []]);
});

test("a forgotten session leaves the index of its agent, if that is still there", async () => {
  const { talk, asked } = await stage(["memory"]);
  await talk.drop("agent:other:telegram:dm:7");
  await talk.drop("agent:gone:main");
  expect(asked).toEqual(["drop agent:other:telegram:dm:7 from /home/memory/other.sqlite"]);
  const none = await stage(["sessions"], false);
  await none.talk.drop("agent:main:main");
  expect([await none.talk.upToDate("main"), none.asked]).toEqual([[], []]);
});
