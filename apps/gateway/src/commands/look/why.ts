// Implements /why: tells the story of the message that is replied to, named, or was the last, in plain words.
// It tells only messages of this very session and conversation; only the operator sees reasons that may name
// errors (I8).
import { conversationKey, type DeliveryStory, type Story, type StoryTurn } from "@parley/protocol";
import type { RowView } from "@parley/store";
import { findMessage } from "../../trace/find-message.ts";
import { storyTeller } from "../../trace/story.ts";
import type { CommandPorts, PastLaneCall, PastLaneCommand } from "../chat-command.ts";

/** The last message is searched among this many of the newest rows, because commands come between. */
const rowsLookedAt = 50;

export const why: PastLaneCommand = {
  name: "why",
  summary: "what became of a message: reply to it, name its id, or ask for the last one",
  place: "past-lane",
  onlyTells: true,
  async run(call, { store, clock }) {
    const row = await askedFor(call, store);
    return row === null
      ? "I know of no such message in this conversation (any more)."
      : plainStory(await storyTeller({ ...store, clock })(row));
  },
};

async function askedFor(
  { args, inbound, route }: PastLaneCall,
  { inbox, outbox }: CommandPorts["store"],
): Promise<RowView | null> {
  const conversation = conversationKey(inbound.address);
  const lane = route.session;
  const named = args === "" ? inbound.replyTo?.messageId : args;
  if (named !== undefined) {
    const found = await findMessage(inbox, outbox)(named, { lane });
    return found?.conversation === conversation ? found : null;
  }
  const newest = await inbox.find({ lane, dismissed: true, limit: rowsLookedAt });
  return newest.find((row) => row.conversation === conversation && row.outcome !== "commanded") ?? null;
}

function plainStory({ row, waitedMs, waitedFor, turn, deliveries, now }: Story): string {
  const behind = waitedFor.length === 0 ? "" : " behind an earlier message";
  return [
    row.text === "" ? "About that message:" : `About "${row.text}":`,
    `- received ${time(row.receivedAtMs)}`,
    ...(turn === null
      ? []
      : [`- waited ${seconds(waitedMs)}${behind}, then I worked on it`, ...turnLines(turn)]),
    ...(row.outcome === null
      ? []
      : [`- it ended: ${row.outcome}${row.outcome === "dead" ? " (the operator can see why)" : ""}`]),
    ...deliveries.map((delivery) => `- my answer: ${deliveryLine(delivery)}`),
    ...(row.state === "ended" && now !== null ? [`- ${now}`] : []),
    ...(row.state === "ended"
      ? []
      : [`- it has not ended: ${openWords[turn?.state ?? row.state] ?? row.state}`]),
  ].join("\n");
}

const openWords: { readonly [state: string]: string } = {
  waiting: "it waits for its turn",
  context: "it is kept for the next time somebody asks me",
  claimed: "I work on it",
  running: "I work on it",
  parked: "I wait for an answer before I go on",
};

function turnLines(turn: StoryTurn): string[] {
  const models = [...new Set(turn.steps.flatMap(({ kind, name }) => (kind === "model" ? [name] : [])))];
  const tools = turn.steps.flatMap(({ kind, name, end }) => (kind === "tool" ? [`${name} (${end})`] : []));
  const took = turn.endedAtMs === null ? "" : ` in ${seconds(turn.endedAtMs - turn.openedAtMs)}`;
  return [
    ...(models.length === 0 ? [] : [`- asked ${models.map((model) => `\`${model}\``).join(", ")}${took}`]),
    ...(tools.length === 0 ? [] : [`- used ${tools.join(", ")}`]),
    ...(turn.inputTokens + turn.outputTokens === 0
      ? []
      : [`- ${turn.inputTokens} tokens in, ${turn.outputTokens} out`]),
    ...(turn.attempt > 1 ? [`- at attempt ${turn.attempt}`] : []),
  ];
}

function deliveryLine({ state, parts }: DeliveryStory): string {
  const sent = parts.filter((part) => part.state === "sent").length;
  const doubled = parts.some((part) => part.flagged) ? "; you may have seen it twice" : "";
  switch (state) {
    case "sent":
      return `sent in ${sent} message${sent === 1 ? "" : "s"}${doubled}`;
    case "waiting":
    case "open":
      return `${sent} of ${parts.length} messages sent so far${doubled}`;
    case "failed":
      return `${sent} of ${parts.length} messages sent, the rest failed${doubled}`;
    case "ambiguous":
      return `I do not know whether it arrived${doubled}`;
  }
}

function time(atMs: number): string {
  return new Date(atMs).toISOString().replace("T", " ").replace(/\..*/, " UTC");
}

function seconds(ms: number): string {
  return ms < 60_000 ? `${(Math.max(0, ms) / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}
