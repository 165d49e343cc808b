// A person's web conversations over a real store: what is sent becomes rows, as in the gateway.
import { conversationKey, systemClock, type Address, type Clock } from "@parley/protocol";
import { webChannel } from "@parley/channels";
import type { NewRow } from "@parley/store";
import { chatMethods, type ChatPorts } from "../../src/operator/sessions/chat.ts";
import { forkMethods, type ForkPorts } from "../../src/operator/sessions/fork.ts";
import { threadMethods, type ThreadPorts } from "../../src/operator/sessions/threads.ts";
import { memoryStore } from "../receive/store.ts";

export const caller = { peer: "web-1", scopes: ["read", "write", "admin"] } as const;
export const lane = "agent:main:web:dm:web-1";
export const taking = { pool: "main", holder: "boot", leaseMs: 60_000, maxRows: 10 };

export async function stage(clock: Clock = systemClock()) {
  const store = await memoryStore(systemClock());
  const kept = new Map<string, Uint8Array>();
  const web = webChannel({
    account: "default",
    clock: systemClock(),
    files: {
      async keep(bytes, name) {
        kept.set(name, bytes);
        return name;
      },
      read: async (ref) => kept.get(ref) ?? new Uint8Array(),
    },
    publish: (stream, id, message) => store.events.append(stream, id, JSON.stringify(message)),
  });
  const session = (address: Address) =>
    address.thread === undefined ? lane : `${lane}:thread:${address.thread}`;
  await web.start(async (events) => {
    await store.inbox.accept(
      events.flatMap((event): NewRow[] => {
        if (event.kind === "unreadable" || event.kind === "deletion") return [];
        const conversation = conversationKey(event.address);
        return [
          {
            id: event.id,
            subject: `${conversation}/${event.messageId}`,
            version: event.editedAtMs ?? 0,
            pool: "main",
            lane: session(event.address) as never,
            conversation,
            authority: "owner",
            as: event.kind === "edit" ? { kind: "edit" } : { kind: "work" },
            payload: JSON.stringify({ v: 1, owner: true, inbound: event }),
          },
        ];
      }),
    );
  });
  const ports = {
    wired: { web },
    route: ({ address }: { readonly address: Address }) => ({ agent: "main", session: session(address) }),
    store,
    clock,
    config: { agents: { list: [{ id: "main" }] } },
    modelCatalog: { find: async (_agent: unknown, word: string) => ({ ref: `fake/${word}` }) },
  } as unknown as ChatPorts & ThreadPorts & ForkPorts;
  const call = { ...chatMethods(ports), ...threadMethods(ports), ...forkMethods(ports) };
  return { store, web, call };
}
