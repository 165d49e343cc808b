// Implements /think: sets how much the model thinks in this conversation, and shows the levels it accepts. It
// may carry /reasoning along: both are directives, and one message may hold several.
import { parseSessionKey, type Json } from "@parley/protocol";
import { thinkingLevelsOf, type Model } from "@parley/models";
import type { AgentConfig } from "@parley/config";
import type { Session, Sessions } from "@parley/store";
import {
  type LaneCommandCall,
  isClearing,
  readDirectives,
  ownThinking,
  reasoningField,
  thinkingField,
  thinkingOf,
  thinkingWords,
  unsupportedThinking,
} from "@parley/runner";
import { type CommandPorts, type InLaneCommand, plainly } from "../chat-command.ts";

/** The facts about its conversation that a directive needs. */
export interface Talk {
  readonly agent: AgentConfig;
  readonly session: Session;
  readonly model: Model;
}

export async function talkOf(
  { config, store, models, modelCatalog }: CommandPorts,
  { key }: LaneCommandCall,
): Promise<Talk> {
  const session = await store.sessions.open(key);
  const id = parseSessionKey(key).agent;
  const agent = config.agents.list.find((each) => each.id === id);
  if (agent === undefined) throw new Error(`there is no agent "${id}" in agents.list any more`);
  return { agent, session, model: await models.get(modelCatalog.of(agent, session).primary) };
}

export const think: InLaneCommand = {
  name: "think",
  summary: "how much I think before I answer; /think high, or in a message for that message only",
  place: "in-lane",
  isDirective: true,
  async suggests({ route: { agent: id, session: key } }, { config, store, models, modelCatalog }) {
    const agent = config.agents.list.find((each) => each.id === id);
    if (agent === undefined) return [];
    const session = await store.sessions.open(key);
    const model = await models.get(modelCatalog.of(agent, session).primary);
    return plainly([...thinkingLevelsOf(model), "default"]);
  },
  async run(call, ports) {
    const { agent, session, model } = await talkOf(ports, call);
    const { config } = ports;
    const { sessions } = ports.store;
    const [word = ""] = call.args.split(/\s+/, 1);
    if (word !== "" && isClearing(word)) {
      const cleared = await sessions.patch(call.key, { [thinkingField]: null });
      return `Thinking: ${thinkingOf({ config, agent, session: cleared, model })}, the default.`;
    }
    if (word !== "") return setDirectives(sessions, call, model);
    const from = ownThinking(session) === null ? "the default" : "set for this conversation";
    const now = thinkingOf({ config, agent, session, model });
    return `Thinking: ${now} (${from}).\nLevels of \`${model.id}\`: ${thinkingLevelsOf(model).join(", ")}. Usage: /think LEVEL, or /think default.`;
  },
};

/** Returns the answer; sets nothing when one of the directives cannot be set. */
export async function setDirectives(
  sessions: Pick<Sessions, "patch">,
  { key, name, args }: LaneCommandCall,
  model: Model,
): Promise<string> {
  const { thinking, reasoning, text } = readDirectives(`/${name} ${args}`);
  if (text.trim() !== "" || (thinking === undefined && reasoning === undefined))
    return unknownLevel(name, args, model);
  const refusal = unsupportedThinking(model, thinking);
  if (refusal !== null) return refusal;
  const patch: { [field: string]: Json } = {};
  if (thinking !== undefined) patch[thinkingField] = thinking;
  if (reasoning !== undefined) patch[reasoningField] = reasoning;
  await sessions.patch(key, patch);
  return [
    ...(thinking === undefined ? [] : [thinkingWords(model, thinking)]),
    ...(reasoning === undefined ? [] : [reasoningWords[reasoning]]),
  ].join(" ");
}

export const reasoningWords = {
  off: "Reasoning: off. My thoughts stay hidden.",
  on: "Reasoning: on. My thoughts come as a message before the answer.",
  stream: "Reasoning: stream. My thoughts are shown while I think, and give way to the answer.",
} as const;

function unknownLevel(name: string, args: string, model: Model): string {
  const [word = ""] = args.split(/\s+/, 1);
  const shown = word.replaceAll("`", "").slice(0, 40);
  return name === "think"
    ? `"${shown}" is no level of thinking. Valid levels of \`${model.id}\`: ${thinkingLevelsOf(model).join(", ")}.`
    : `"${shown}" is no way to show reasoning. Valid ones: off, on, stream.`;
}
