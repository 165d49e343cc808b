// Sends a message to another session, as a row in its lane that is written with the result of the call: after
// a crash it is there once. The other session's turn has the people, place and authority of this one, and no
// conversation sees it; its answer is handed back by answering-turns.ts.
import { isProgram } from "@parley/access";
import { textDelivery } from "@parley/delivery";
import {
  Fault,
  parseConversationKey,
  parseRowPayload,
  parseSessionKey,
  type SessionKey,
} from "@parley/protocol";
import type { RowView } from "@parley/store";
import type { SendRequest, Sent, ToolScope } from "@parley/tools";
import { internalRow, marked } from "../internal-row.ts";
import { agentIn } from "../prepare-turn.ts";
import type { Services } from "../turn-scope.ts";
import { answerId, sentId } from "./asked-rows.ts";
import { askingTurn } from "./asker.ts";
import { isBoxed } from "./may-spawn.ts";
import { findSession, type FoundSession } from "./find-session.ts";

type SendServices = Pick<Services, "config" | "sessions" | "children" | "inbox" | "clock" | "log">;

/**
 * Messages between sessions that may follow from one another without a person's word. OpenClaw lets two
 * agents answer each other five times (session.agentToAgent.maxPingPongTurns, at most 5).
 */
const mostHops = 5;
/** Sessions that work for a schedule, a webhook or a program and have nobody who could be written to. */
const closedKinds: readonly string[] = ["cron", "hook", "api"];

export async function sendToSession(
  services: SendServices,
  scope: ToolScope,
  request: SendRequest,
): Promise<Sent> {
  const { inbox, clock } = services;
  const id = sentId(scope.turn, scope.callId);
  const [sent] = await inbox.find({ id: rowId(id), limit: 1 });
  if (sent !== undefined) return waited(services, scope, request, sent, id);

  const found = await findSession(services, scope, request.session);
  refuse(services, scope, found);
  const { began, hops, asker } = await askingTurn(services, scope);
  if (hops >= mostHops) return stopped(services, scope, found.key, hops);
  const { key } = found;
  const pool = parseSessionKey(key).kind === "subagent" ? "subagent" : began.pool;
  const row = internalRow(
    { ...began, lane: key, pool },
    rowId(id),
    `Message from session ${scope.session}: ${request.message}\n${answerWords[request.reply]}`,
    {
      kind: "message",
      id,
      turn: scope.turn,
      asker: asker(request.reply, hops + 1),
      unseen: true,
      ...marked(scope),
    },
    clock.now(),
  );
  const effects = { rows: [row] };
  switch (request.reply) {
    case "none":
      return { text: `Sent to ${key}. Its answer is not told here.`, effects };
    case "push":
      return { text: `Sent to ${key}. Its answer comes here by itself as a [System Message].`, effects };
    case "wait":
      return {
        text: laterText(key),
        effects,
        waitsFor: { ticket: id, untilMs: clock.now() + request.timeoutSeconds * 1_000 },
      };
  }
}

const answerWords: { readonly [reply in SendRequest["reply"]]: string } = {
  wait: "It waits for your answer, which goes to that session only: no chat sees it.",
  push: "Your answer goes to that session only: no chat sees it.",
  none: "Nobody is told your answer.",
};

function laterText(key: SessionKey): string {
  return `${key} has the message and has not answered yet. Its answer comes here by itself as a [System Message]; do not wait for it.`;
}

function rowId(id: string): string {
  return `message:${id}`;
}

/** The call runs again: because the answer woke its turn, the time is over, or a process died. */
async function waited(
  { inbox, clock }: Pick<SendServices, "inbox" | "clock">,
  { turn }: ToolScope,
  { timeoutSeconds }: SendRequest,
  { acceptedAtMs, lane }: RowView,
  id: string,
): Promise<Sent> {
  const [answer] = await inbox.find({ id: answerId("answer", id), limit: 1 });
  // The turn has claimed the answer, so that it is not told beside this result.
  if (answer?.turn === turn) {
    const { inbound, internal } = parseRowPayload(answer.payload);
    const source = internal?.untrusted;
    return { text: inbound.text, ...(source === undefined ? {} : { untrusted: { source } }) };
  }
  const untilMs = acceptedAtMs + timeoutSeconds * 1_000;
  return clock.now() < untilMs
    ? { text: laterText(lane), waitsFor: { ticket: id, untilMs } }
    : { text: laterText(lane) };
}

/** Throws Fault for a session that takes no message from here. */
function refuse(
  { config }: Pick<SendServices, "config">,
  { session }: ToolScope,
  { key, child }: FoundSession,
): void {
  if (key === session) throw new Fault("invalid", "this is the session itself: just go on");
  const { kind, agent } = parseSessionKey(key);
  if (closedKinds.includes(kind))
    throw new Fault(
      "denied",
      `sessions of kind ${kind} take no messages, because nobody in them would act on one; sessions_history reads it`,
    );
  if (child !== null && (child.end !== null || child.killed))
    throw new Fault(
      "conflict",
      `sub-agent ${child.id} has ended${child.mode === "session" ? ": give it more work with subagents, action steer" : ", and it was spawned for one run: spawn another"}`,
    );
  const agents = agentIn(config);
  const [from, to] = [agents(parseSessionKey(session).agent), agents(agent)];
  if (isBoxed(from.sandbox.mode, session) && !isBoxed(to.sandbox.mode, key))
    throw new Fault("denied", `this session is sandboxed and ${key} is not: it could do more than you`);
}

/** The people who began it see that it was stopped; the model does too. */
function stopped(
  { log }: Pick<SendServices, "log">,
  { session, turn, conversation }: ToolScope,
  to: SessionKey,
  hops: number,
): Sent {
  log.warn({ session, to, turn, hops }, "sessions kept writing to each other and were stopped");
  const text = `Not sent to ${to}: ${hops} messages between sessions have followed from one another already, and ${mostHops} may. Go on without it, or let a person ask again.`;
  const address = parseConversationKey(conversation);
  if (isProgram(address)) return { text };
  const told = `⚠️ My sessions kept writing to each other, so I stopped them after ${hops} messages: ${session} was about to write to ${to}. Write to me if they should go on.`;
  return { text, effects: { deliveries: [textDelivery(`${turn}/loop`, address, told, turn)] } };
}
