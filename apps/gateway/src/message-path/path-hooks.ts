// Connects one message path with the hooks of its config: what they are told, and what they give back. It
// also ends conversations, so that whoever ends one tells the hooks the same.
import type { RouteInbound } from "@parley/access";
import type { Redaction } from "@parley/agent";
import type { Config } from "@parley/config";
import { noticeDelivery } from "@parley/delivery";
import {
  isFault,
  noHooks,
  parseContent,
  parseConversationKey,
  type Address,
  type Clock,
  type HookEvent,
  type Inbound,
  type Log,
} from "@parley/protocol";
import { heardBootstrap, messageContext, type FileOrigins } from "@parley/runner";
import type { DeliveryView, Session, Store } from "@parley/store";
import { bootMd } from "../hooks/boot-md.ts";
import { bootstrapExtraFiles } from "../hooks/bootstrap-extra-files.ts";
import { commandLogger } from "../hooks/command-logger.ts";
import { compactionNotifier } from "../hooks/compaction-notifier.ts";
import type { BegunAnew, HookParts, PathHooks } from "../hooks/heard.ts";
import { hookRunner, type HookMemory } from "../hooks/hook-runner.ts";
import { sessionMemory } from "../hooks/session-memory.ts";
import { beginAnew } from "../receive/reset-policy.ts";

interface PathHooksNeeds {
  readonly config: Config;
  readonly hookParts?: HookParts;
  readonly kept: { readonly hooks: HookMemory };
  readonly machinePorts?: { readonly origins?: Pick<FileOrigins, "of" | "added"> };
  readonly redaction: Redaction;
  readonly bootId: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function pathHooks(
  parts: PathHooksNeeds,
  store: Store,
  {
    homeOf,
    route,
  }: {
    readonly homeOf: (agent: string) => Promise<{ readonly place: Address | null }>;
    readonly route: RouteInbound;
  },
): PathHooks {
  const { config, hookParts, kept, machinePorts, redaction, bootId, clock } = parts;
  const log = parts.log.child({ part: "hooks" });
  const origins = machinePorts?.origins;
  const needs = { ...store, config, redaction, origins, clock, log };
  const memory = hookParts === undefined ? null : sessionMemory({ ...needs, registry: hookParts.registry });
  const port =
    hookParts === undefined || memory === null
      ? noHooks
      : hookRunner({
          ...hookParts,
          config,
          memory: kept.hooks,
          bundled: {
            "boot-md": bootMd({ ...needs, homeOf, bootId }),
            "bootstrap-extra-files": bootstrapExtraFiles({ origins, log }),
            "command-logger": commandLogger({ home: hookParts.home, clock }),
            "compaction-notifier": compactionNotifier(store.outbox),
            "session-memory": memory.hook,
          },
          cells: store.cells,
          clock,
          log,
        });
  const workspaceOf = (key: string): string | undefined => {
    const id = /^agent:([^:]+):/.exec(key)?.[1];
    return config.agents.list.find((agent) => agent.id === id)?.workspace;
  };

  const commandEvent = (
    action: string,
    sessionKey: string,
    begun: BegunAnew | null,
    by: HookEvent["context"],
  ): HookEvent => ({
    type: "command",
    action,
    sessionKey,
    context: {
      ...by,
      workspaceDir: workspaceOf(sessionKey),
      ...(begun === null
        ? {}
        : {
            sessionEntry: shownSession(begun.session),
            previousSessionEntry: shownSession(begun.previous),
          }),
    },
  });
  async function sayLater(said: readonly string[], inbound: Inbound, of = ""): Promise<void> {
    if (said.length === 0) return;
    const notice = { ...noticeDelivery(inbound, said.join("\n\n")), id: `notice:hook:${inbound.id}${of}` };
    await store.outbox
      .post([notice])
      .catch((error: unknown) => log.warn({ rows: [inbound.id], error }, "what hooks said was not sent"));
  }
  /** Returns what hooks say in time; what they say after that comes as a message of its own. */
  async function saidNow(event: HookEvent, inbound: Inbound): Promise<readonly string[]> {
    const answer = await port.ask(event, (said) => void sayLater(said, inbound, ":late"));
    return answer?.messages ?? [];
  }
  const told = (
    { lane }: DeliveryView,
    content: string,
    success: boolean,
    more: { readonly messageId?: string; readonly error?: string },
  ): void => {
    if (hookParts === undefined) return;
    const address = parseConversationKey(lane);
    port.tell(sentEvent(address, sessionAt(route, address), content, success, more));
  };

  return {
    port,
    bootstrap: hookParts === undefined ? [] : [heardBootstrap(port)],
    async beginAnew(key, by) {
      const previous = await store.sessions.open(key);
      await memory?.ending(key, previous.epoch, by);
      const session = await beginAnew(store.sessions, key, clock.now());
      if (by === "daily" || by === "idle")
        port.tell({
          type: "session",
          action: "auto-reset",
          sessionKey: key,
          context: {
            reason: by,
            sessionId: shownSession(previous).sessionId,
            nextSessionId: shownSession(session).sessionId,
            workspaceDir: workspaceOf(key),
          },
        });
      return { session, previous };
    },
    async ended(name, session, inbound, begun) {
      const event = commandEvent(name, session, begun, byPerson(inbound));
      return saidNow({ ...event, id: inbound.id }, inbound);
    },
    command(name, session, inbound) {
      const event = { ...commandEvent(name, session, null, byPerson(inbound)), id: inbound.id };
      // Only here hooks may have something to say.
      if (name === "stop") void saidNow(event, inbound).then((said) => sayLater(said, inbound));
      else port.tell(event);
    },
    async reset(session, begun) {
      await port.ask(commandEvent("reset", session, begun, { commandSource: "control" }));
    },
    patched(session, patch) {
      const { key } = session;
      const context = { sessionEntry: shownSession(session), patch };
      port.tell({ type: "session", action: "patch", sessionKey: key, context });
    },
    received(session, inbound) {
      port.tell({
        type: "message",
        action: "received",
        sessionKey: session,
        context: messageContext(inbound),
      });
    },
    sent(delivery, index, { messageId }) {
      const part = delivery.parts[index];
      told(delivery, part === undefined ? "" : textOf(part.content), true, { messageId });
    },
    failed(delivery, error) {
      const texts = delivery.parts.map(({ content }) => textOf(content));
      told(delivery, texts.join("\n"), false, { error });
    },
  };
}

function byPerson({ channel, sender }: Inbound): HookEvent["context"] {
  return { commandSource: channel, senderId: sender.id, senderName: sender.name };
}

function shownSession({ key, epoch, createdAtMs, updatedAtMs }: Session) {
  return { sessionKey: key, sessionId: `${key}#${epoch}`, epoch, createdAtMs, updatedAtMs };
}

/** "" for a conversation in which no agent answers. */
function sessionAt(route: RouteInbound, address: Address): string {
  try {
    return route({ address }).session;
  } catch (error) {
    if (isFault(error, "invalid")) return "";
    throw error;
  }
}

function sentEvent(
  address: Address,
  sessionKey: string,
  content: string,
  success: boolean,
  more: { readonly messageId?: string; readonly error?: string },
): HookEvent {
  const { channel, account, kind, peer, thread } = address;
  return {
    type: "message",
    action: "sent",
    sessionKey,
    context: {
      to: peer,
      content,
      success,
      channelId: channel,
      accountId: account,
      conversationId: peer,
      threadId: thread,
      isGroup: kind !== "dm",
      ...more,
    },
  };
}

function textOf(content: string): string {
  const meant = parseContent(content);
  if (meant.kind === "rendered") return meant.part.kind === "text" ? meant.part.text : "";
  if (meant.kind !== "reply") return "";
  return meant.parts.flatMap((part) => (part.kind === "text" ? [part.markdown] : [])).join("\n");
}
