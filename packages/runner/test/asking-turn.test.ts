// The turn that asks another session, as its rows tell it, and which notes no file tool reads for a turn.
import { formatRowPayload } from "@parley/protocol";
import { directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { noteFiles } from "../src/memory/note-files.ts";
import { askingTurn } from "../src/sessions/asker.ts";
import { resultName } from "../src/result-files.ts";

const row = (id: string, internal?: object): object => ({
  id,
  pool: "main",
  payload: formatRowPayload({
    v: 1,
    inbound: directMessage({ text: id }),
    owner: true,
    ...(internal === undefined ? {} : { internal }),
  } as unknown as Parameters<typeof formatRowPayload>[0]),
});

async function asking(rows: readonly object[]): ReturnType<typeof askingTurn> {
  const inbox = { find: async ({ limit }: { readonly limit: number }) => rows.slice(0, limit) };
  const sessions = { open: async () => ({ epoch: 3 }) };
  return askingTurn(
    { inbox, sessions } as unknown as Parameters<typeof askingTurn>[0],
    { session: "agent:main:main", turn: "t#1" } as unknown as Parameters<typeof askingTurn>[1],
  );
}

test("the longest way that led to it counts, whichever message took it, but not what it waited for itself", async () => {
  const far = row("b", { kind: "message", id: "x", turn: "t#0", hops: 4 });
  const near = row("c", { kind: "message", id: "x", turn: "t#0", hops: 2 });
  const own = row("d", { kind: "answer", id: "x", turn: "t#1", hops: 9 });
  const { began, hops, asker } = await asking([row("a"), far, near, own]);
  expect([began.id, hops]).toEqual(["a", 4]);
  expect(asker("wait")).toMatchObject({ session: "agent:main:main", pool: "main", epoch: 3, hops: 4 });
  expect(asker("none" as never, 7)).toMatchObject({ reply: "none", hops: 7 });
  expect((await asking([row("a")])).hops).toBe(0);
  await expect(asking([])).rejects.toThrow("has no message any more");
});

test("a refused note is named, with the place that is for everybody", async () => {
  const files = noteFiles({
    memory: { scopeOfPlace: (path: string) => (path.startsWith("memory/") ? "daily" : null) },
    cells: {},
    redaction: { secrets: [] },
    clock: {},
    owners: async () => ["telegram:1"],
  } as unknown as Parameters<typeof noteFiles>[0]);
  const refusal = (session: string, conversation: string, owner: boolean, path: string) =>
    files.refusal(
      { session, conversation, by: { owner, senders: [] } } as unknown as Parameters<typeof files.refusal>[0],
      path,
    );
  const dm = ["agent:main:telegram:dm:7", "telegram:default:dm:7"] as const;
  const group = ["agent:main:telegram:group:-5", "telegram:default:group:-5"] as const;
  const others = `.parley/results/${resultName("agent:main:telegram:dm:8#1", "c")}`;
  const own = `.parley/results/${resultName("agent:main:telegram:dm:7#1", "c")}`;
  const held = `${others} holds results of another conversation, which are not read in this one`;
  expect(await refusal(...dm, false, others)).toBe(held);
  expect(await refusal(...dm, true, others)).toBeNull();
  expect(await refusal(...group, true, others)).toBe(held);
  expect(await refusal(...dm, false, own)).toBeNull();
  expect(await refusal(...dm, false, "USER.md")).toBeNull();
  expect(await refusal(...dm, false, "src/a.ts")).toBeNull();
  expect(await refusal(...group, true, "memory/a.md")).toBe(
    "memory/a.md is private memory, which is not read in a group or channel, whoever asks; memory/shared/ is for everybody",
  );
  expect(await refusal(...dm, false, "memory/a.md")).toBe(
    "memory/a.md is private memory, which is not read in this conversation; memory/shared/ is for everybody",
  );
});
