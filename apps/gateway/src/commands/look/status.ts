// Implements /status: reports the gateway's health, the model, the fill of the context window, the queue mode
// and the usage of this conversation. The answer leaves out reasons of failures, because they may name paths
// (I8); where others read along, it also leaves out the machine, the account and the cost.
import { runtimeLine } from "@parley/agent";
import { noUsage, type AssistantEntry, type SessionKey, type Usage, version } from "@parley/protocol";
import type { Inbox, Session, Sessions } from "@parley/store";
import { readEntry, queueSettingsOf, type QueueSettings } from "@parley/runner";
import type { PastLaneCommand } from "../chat-command.ts";

const countedUpTo = 100;
/** The last answer is searched among this many of the newest entries. */
const entriesLookedAt = 50;

export const status: PastLaneCommand = {
  name: "status",
  summary: "how I am, and what this conversation uses",
  place: "past-lane",
  onlyTells: true,
  async run({ inbound, route, owner }, { config, store, turnPreparer, daemon, hold }) {
    const { address, guild, parent } = inbound;
    const session = await store.sessions.open(route.session);
    const place = {
      address,
      ...(guild === undefined ? {} : { guild }),
      ...(parent === undefined ? {} : { parent }),
    };
    const [{ state }, { model, facts }, context, waits, onHold] = await Promise.all([
      daemon.report(),
      turnPreparer.prompt({ agent: route.agent, session, place }),
      contextTokens(store.sessions, session),
      queueLine(store.inbox, route.session, queueSettingsOf(session, config.messages.queue)),
      hold.now(),
    ]);
    const trouble = state === "ok" ? "" : " (the operator sees why with `parley status`)";
    const isPrivate = address.kind === "dm";
    const percent = Math.round((context / model.contextWindow) * 100);
    return [
      `Parley${isPrivate ? ` ${version}` : ""}: ${state}${trouble}`,
      ...(onHold === null ? [] : ["🛑 Tools: held by /estop; an owner lets them go on with /estop off"]),
      `Model: \`${model.id}\``,
      `Context: ${thousands(context)} of ${thousands(model.contextWindow)} tokens (${percent} %)`,
      waits,
      ...(isPrivate
        ? [
            usageLine({ ...noUsage, ...(session.fields["usage"] as Partial<Usage> | undefined) }),
            `Session: \`${route.session}\``,
            // Names of machines and folders are for the operator only.
            runtimeLine(facts, ["session", ...(owner ? [] : ["host", "repo", "shell"])]),
          ]
        : []),
    ].join("\n");
  },
};

async function contextTokens(sessions: Pick<Sessions, "transcript">, session: Session): Promise<number> {
  const newest = await sessions.transcript(session.key, { newest: true, limit: entriesLookedAt });
  const last = newest
    .map(({ body }) => readEntry(body))
    .findLast((entry): entry is AssistantEntry => entry?.type === "assistant");
  return last === undefined ? 0 : inputTokens(last.usage) + last.usage.outputTokens;
}

async function queueLine(
  inbox: Pick<Inbox, "find">,
  lane: SessionKey,
  { mode }: QueueSettings,
): Promise<string> {
  const [waiting, claimed] = await Promise.all([
    inbox.find({ lane, state: "waiting", limit: countedUpTo }),
    inbox.find({ lane, state: "claimed", limit: 1 }),
  ]);
  const many = waiting.length === countedUpTo ? `${countedUpTo} or more` : String(waiting.length);
  return `Queue: ${mode}; ${claimed.length > 0 ? "working" : "idle"}, ${many} waiting`;
}

function usageLine(usage: Usage): string {
  const cost = usage.costUsd === undefined ? "" : `, $${usage.costUsd.toFixed(2)}`;
  return `Used so far: ${thousands(inputTokens(usage))} tokens in, ${thousands(usage.outputTokens)} out${cost}`;
}

/** Counts the tokens that a model read, from its cache or not. */
function inputTokens({ inputTokens: fresh, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return fresh + cacheReadTokens + cacheWriteTokens;
}

function thousands(count: number): string {
  return count < 1_000 ? String(count) : `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`;
}
