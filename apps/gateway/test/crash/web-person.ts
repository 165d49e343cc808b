// Somebody at the web page: keeps the connection up over every restart, resumes where it stopped, repeats
// what was not acknowledged under the same key. Keeps every event as it came, so that a doubled one is seen.
import type { ChatMessage, MethodResult } from "@parley/protocol";
import { controlClient, type ControlClient } from "../e2e/control-client.ts";
import type { Daemon } from "../e2e/daemon.ts";

export interface WebPerson {
  /** Where the daemon is now. */
  meets(daemon: Pick<Daemon, "url" | "token">): void;
  /**
   * Resolves once it is acknowledged, however many restarts that takes. One after the other, as the page does
   * it.
   */
  says(text: string): Promise<void>;
  /** Messages of the agent, as they came over all connections. */
  heard(): readonly string[];
  /** Everything of the conversation that came, echoes of what the person said among it. */
  events(): readonly ChatMessage[];
  /** The answer that grows on the page now, as far as it was shown last. */
  growing(): string;
  /** The conversation as a page that just opened gets it. */
  history(): Promise<readonly ChatMessage[]>;
  close(): void;
}

const retryMs = 30;

export function webPerson(peer: string): WebPerson {
  let daemon: Pick<Daemon, "url" | "token"> | null = null;
  let client: ControlClient | null = null;
  let connecting: Promise<ControlClient> | null = null;
  let closed = false;
  let keys = 0;
  let saying: Promise<void> = Promise.resolve();
  const past: ChatMessage[] = [];

  const current = (): readonly ChatMessage[] => messagesOf(client);
  const all = (): readonly ChatMessage[] => [...past, ...current()];

  async function connect(to: Pick<Daemon, "url" | "token">): Promise<ControlClient> {
    const lastSeq = all().at(-1)?.seq ?? 0;
    const next = await controlClient(to, { peer, lastSeq });
    client = next;
    void next.closed.then(() => {
      if (client !== next) return;
      past.push(...current());
      client = null;
      if (!closed) void online().catch(() => {}); // The next request tries again.
    });
    return next;
  }

  async function online(): Promise<ControlClient> {
    while (!closed) {
      if (client !== null) return client;
      try {
        if (daemon !== null) return await (connecting ??= connect(daemon).finally(() => (connecting = null)));
      } catch {
        // Nobody listens there now; the daemon may be back in a moment.
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
    throw new Error("the page was closed");
  }

  /** Every failure is worth another try here: the key makes a repeat harmless. */
  async function untilAnswered(method: string, params: object): Promise<unknown> {
    for (;;) {
      try {
        return await (await online()).call(method, params);
      } catch (error) {
        if (closed) throw error;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  return {
    meets(next) {
      daemon = next;
      void online().catch(() => {}); // Closed before it came up.
    },
    says(text) {
      keys += 1;
      const request = { text, idempotencyKey: `${peer}-${keys}` };
      const next = saying.then(async () => void (await untilAnswered("chat.send", request)));
      saying = next.catch(() => {}); // Whoever said it hears of it.
      return next;
    },
    heard: () =>
      all()
        .filter((message) => message.role !== "user")
        .map((message) => message.text),
    events: all,
    growing() {
      const delta = client?.events().findLast((frame) => frame.event === "chat.delta");
      return (delta?.payload as { readonly text: string } | undefined)?.text ?? "";
    },
    async history() {
      return ((await untilAnswered("chat.history", { limit: 1_000 })) as MethodResult<"chat.history">)
        .messages;
    },
    close() {
      closed = true;
      client?.close();
    },
  };
}

function messagesOf(client: ControlClient | null): readonly ChatMessage[] {
  return (client?.events() ?? []).flatMap((frame) =>
    frame.event === "chat.message" ? [frame.payload as ChatMessage] : [],
  );
}
