import { conversationKey, systemClock, type Address } from "@parley/protocol";
import { expect, test } from "vitest";
import { chatMethods, type ChatPorts } from "../../src/operator/sessions/chat.ts";
import { memoryStore } from "../receive/store.ts";

const peer = "web-1";
const address: Address = { channel: "web", account: "default", kind: "dm", peer };

test("a conversation of large messages is read back newest first, as far as a page can take it at once; one message always", async () => {
  const store = await memoryStore(systemClock());
  const options = {
    wired: { web: { account: "default" } },
    route: () => ({ agent: "main", session: "agent:main:main" }),
    store,
  } as unknown as ChatPorts;
  const say = (n: number, chars: number) =>
    store.events.append(
      conversationKey(address),
      `e${n}`,
      JSON.stringify({ role: "user", text: "x".repeat(chars), html: "", atMs: n }),
    );
  const shown = async () =>
    (await chatMethods(options)["chat.history"]({ limit: 200 }, { peer, scopes: ["read"] })).messages.map(
      ({ atMs }) => atMs,
    );
  for (let n = 1; n <= 30; n += 1) await say(n, 200_000);
  expect(await shown()).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
  await say(31, 3_000_000);
  expect(await shown()).toEqual([31]);
});
