// Programs as senders: their addresses, the sessions that these name, and the channel that takes what is said
// to them.
import { conversationKey, type Address, type RenderedPart } from "@parley/protocol";
import { expect, test } from "vitest";
import { apiAddress, hookAddress, isProgram, programRoute } from "../src/program-address.ts";
import { programSinks } from "../src/program-channel.ts";

test("a program's address says its agent, client and user, and names its own session", () => {
  const api = apiAddress({ agent: "main", client: "web-1", user: "team/eve" });
  const hook = hookAddress("main", "ci");
  expect([conversationKey(api), conversationKey(hook)]).toEqual([
    "api:default:dm:main%2Fweb-1%2Fteam%2Feve",
    "hook:default:dm:main%2Fci",
  ]);
  // A user's name may have any character.
  expect(programRoute({ address: api })).toEqual({
    agent: "main",
    session: expect.stringMatching(/^agent:main:api:web-1:team.*eve$/),
  });
  expect(
    programRoute({ address: apiAddress({ agent: "main", client: "web-1", user: "team" }) })?.session,
  ).toBe("agent:main:api:web-1:team");
  expect(programRoute({ address: hook })).toEqual({ agent: "main", session: "agent:main:hook:ci" });
  const chat: Address = { channel: "telegram", account: "default", kind: "dm", peer: "5" };
  // What is answered in a chat is told by who called.
  expect(programRoute({ address: chat, channel: "hook", sender: { id: "second/form" } })).toEqual({
    agent: "second",
    session: "agent:second:hook:form",
  });
  expect(programRoute({ address: chat })).toBeNull();
  for (const id of ["main", ""])
    expect(() => programRoute({ address: chat, channel: "hook", sender: { id } })).toThrow("which webhook");
  expect(["api", "hook", "web", "telegram"].map((channel) => isProgram({ channel }))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("what is said to a program has arrived once it is recorded, as the agent wrote it", async () => {
  expect([...programSinks.keys()]).toEqual(["api:default", "hook:default"]);
  for (const sink of programSinks.values()) {
    const to = { channel: sink.name, account: "default", kind: "dm", peer: "main/ci" } as const;
    const send = (part: object, signal = new AbortController().signal) =>
      sink.send(to, part as RenderedPart, { idempotencyKey: "turn/0", signal });
    expect(await send({ kind: "text", text: "x" })).toEqual({ messageId: "turn/0" });
    await expect(send({ kind: "poll" })).rejects.toThrow("a program cannot be sent a poll");
    await expect(send({ kind: "text", text: "x" }, AbortSignal.abort())).rejects.toMatchObject({
      code: "aborted",
    });
    const { capabilities } = sink;
    expect(Object.entries(capabilities).filter(([, value]) => value !== false)).toEqual([
      ["dialect", "markdown"],
      ["textChars", 1_000_000],
      ["captionChars", 1_000_000],
      ["uploadBytes", 0],
      ["downloadBytes", 0],
      ["idempotentSends", true],
    ]);
    expect(sink.health()).toEqual({ state: "ok" });
  }
});
