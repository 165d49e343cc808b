// A store in memory with what the operator's methods need, and ways to bring messages into any state.
import {
  conversationKey,
  silentLog,
  type Address,
  type Inbound,
  type SessionKey,
  formatRowPayload,
} from "@parley/protocol";
import { sqliteStore, type NewRow, type DeliveryBatch, type Store, type Turn } from "@parley/store";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { onTestFinished } from "vitest";
import { operateMethods } from "../../src/operator/operate.ts";
import { readNodeRegistry } from "@parley/cluster";
import { unreachableChats, textDelivery } from "@parley/delivery";

export interface OperateFixture {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly methods: ReturnType<typeof operateMethods>;
  accept(id: string, change?: Partial<NewRow> & { readonly text?: string }): Promise<void>;
  take(): Promise<Turn>;
  /** Posts a delivery of these texts for a cause and takes it. */
  deliver(id: string, cause: string, ...texts: readonly string[]): Promise<DeliveryBatch>;
}

export const address: Address = { channel: "telegram", account: "default", kind: "dm", peer: "7" };
export const lane = "agent:main:telegram:dm:7" as SessionKey;
export const rowId = (id: string): string => `telegram:default:${id}`;

export async function operateFixture(): Promise<OperateFixture> {
  const clock = virtualClock();
  const fatal = (error: unknown): never => {
    throw error;
  };
  const store = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "boot",
    onFatal: fatal,
  });
  onTestFinished(() => store.close());
  const want = { holder: "boot", leaseMs: 30_000, maxRows: 20 };
  return {
    store,
    clock,
    methods: operateMethods({
      store,
      closed: unreachableChats(store.cells),
      dropDeliveries: store.outbox.drop,
      listNodes: readNodeRegistry(store.cells, clock),
      clock,
    }),
    async accept(id, { text = `words ${id}`, ...change } = {}) {
      await store.inbox.accept([{ ...rowOf(id, text, clock.now()), ...change }]);
    },
    async take() {
      const turn = await store.turns.take({ ...want, pool: "main" });
      if ("idle" in turn) throw new Error("there was no turn to take");
      return turn;
    },
    async deliver(id, cause, ...texts) {
      const { parts, ...rest } = textDelivery(id, address, texts[0] ?? "", cause);
      const more = texts.slice(1).flatMap((text) => textDelivery(id, address, text, cause).parts);
      await store.outbox.post([{ ...rest, parts: [...parts, ...more] }]);
      const parcel = await store.outbox.take({ ...want, pool: "telegram:default" });
      if ("idle" in parcel) throw new Error("there was no delivery to take");
      return parcel;
    },
  };
}

function rowOf(id: string, text: string, atMs: number): NewRow {
  const inbound: Inbound = {
    id: rowId(id),
    channel: "telegram",
    account: "default",
    address,
    sender: { id: "7", name: "Eve", isBot: false },
    messageId: `m${id}`,
    kind: "message",
    text,
    attachments: [],
    mentions: [],
    addressed: true,
    atMs: atMs - 100,
  };
  return {
    id: rowId(id),
    subject: `telegram:default/telegram:default:dm:7/m${id}`,
    pool: "main",
    lane,
    conversation: conversationKey(address),
    authority: "member",
    as: { kind: "work" },
    payload: formatRowPayload({ v: 1, inbound, owner: false }),
  };
}
