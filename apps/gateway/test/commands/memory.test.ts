// What /memory says and asks of the notes' upkeep: who decides, about which changes, and what a press of a
// card hears.
import { Fault, type Inbound } from "@parley/protocol";
import { directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { memory } from "../../src/commands/decide/memory.ts";

const inbound: Inbound = directMessage({ sender: { id: "7", name: "Olga" } });
const usage =
  "Usage: /memory shows what is proposed for my notes; /memory accept ID [numbers] does it, /memory refuse ID leaves them as they are.";
const drop = (path: string) => ({ kind: "drop", lines: [{ path, line: 1, text: `- ${path}` }], why: "old" });
const proposal = (id: string, state = "open") => ({
  id,
  agent: `agent of ${id}`,
  state,
  changes: [drop(`${id}.md`), drop("b.md")],
});

async function asked(
  args: string,
  { proposals = [] as readonly object[], more = {}, owner = true, fault = null as Error | null } = {},
) {
  const done: unknown[] = [];
  const decide =
    (what: string) =>
    async (...given: unknown[]) => {
      done.push([what, ...given]);
      if (fault !== null) throw fault;
      return `${what}ed`;
    };
  const upkeep = { list: async () => proposals, accept: decide("accept"), refuse: decide("refus") };
  const call = { args, owner, inbound: { ...inbound, ...more } };
  return { said: await memory.run(call as never, { upkeep } as never), done };
}

test("what is open is shown with its agent and its changes by number, five of them, and how many more there are", async () => {
  const six = ["a1", "a2", "a3", "a4", "a5", "a6"].map((id) => proposal(id));
  const { said } = await asked("", { proposals: [proposal("a0", "accepted"), ...six] });
  const parts = said?.split("\n\n") ?? [];
  expect(parts.map((part) => part.split("\n")[0])).toEqual([
    ...["a1", "a2", "a3", "a4", "a5"].map((id) => `\`${id}\`, notes of agent "agent of ${id}":`),
    "and 1 more",
    usage,
  ]);
  expect(parts[1]?.match(/^\d\. .*|^\w+\.md.*/gm)).toEqual([
    expect.stringMatching(/^1\. /),
    expect.stringMatching(/^a2\.md/),
    expect.stringMatching(/^2\. /),
    expect.stringMatching(/^b\.md/),
  ]);
  expect((await asked("", { proposals: six.slice(0, 5) })).said).not.toContain("more");
  expect((await asked("", { proposals: [proposal("a0", "expired")] })).said).toBe(
    `Nothing is proposed for my notes. ${usage}`,
  );
});

test("whoever decides is named with the id and the numbers; a press of a card hears it from the card alone", async () => {
  const by = { person: "telegram:7", name: "Olga", owner: true };
  expect(await asked("accept a1")).toEqual({ said: "Notes: accepted", done: [["accept", "a1", by, []]] });
  expect(await asked("accept a1 2, 13\n7")).toEqual({
    said: "Notes: accepted",
    done: [["accept", "a1", by, [2, 13, 7]]],
  });
  expect(await asked("refuse a1", { owner: false })).toEqual({
    said: "Notes: refused",
    done: [["refus", "a1", { ...by, owner: false }]],
  });
  expect((await asked("accept a1", { more: { kind: "callback" } })).said).toBeNull();
  expect((await asked("refuse a1", { fault: new Fault("conflict", "it was decided") })).said).toBe(
    "⚠️ It was decided",
  );
  await expect(asked("refuse a1", { fault: new Error("disk") })).rejects.toThrow("disk");
});

test("what it does not understand, and what is no private chat, decides nothing", async () => {
  for (const args of ["accept", "refuse ", "take a1", "accept a1 one", "accept a1 1000", "accept a1 1;2"])
    expect(await asked(args)).toEqual({ said: usage, done: [] });
  const group = { address: { ...inbound.address, kind: "group", peer: "-5" } };
  expect(await asked("accept a1", { more: group })).toEqual({
    said: "Ask me that in private: my notes are shown there alone.",
    done: [],
  });
});
