// Handles a message that calls a skill by command, `/skill NAME input` or the skill's own command: what the
// row stores, what the model reads instead, and, for a skill that names a tool, a stand-in model that makes
// this one call. That call passes the turn's own gate, policy, journal and limits, so that a command reaches
// nothing that the agent could not.
import type { SkillCommand } from "@parley/agent";
import type { Model, ModelEvent, ModelMessage } from "@parley/models";
import { noUsage, type JsonObject, parseRowPayload, type SkillCall } from "@parley/protocol";
import type { Row } from "@parley/store";
import type { Tool } from "@parley/tools";
import { canRead, type SkillsHere } from "./skill-registry.ts";

export function skillCall({ skill }: SkillCommand, input: string, location: string): SkillCall {
  const { name, dispatch } = skill.manifest;
  return { name, input, location, ...(dispatch === undefined ? {} : { tool: dispatch.tool }) };
}

/** `body`: the content of SKILL.md, for an agent that cannot read it by itself. */
export function skillWords({ name, input, location }: SkillCall, body: string | undefined): string {
  const how =
    body === undefined
      ? `: read its SKILL.md at ${location} first, then follow it.`
      : `. Its SKILL.md says:\n\n${body.trim()}`;
  return `Use the ${JSON.stringify(name)} skill for this request${how}${input === "" ? "" : `\n\nUser input:\n${input}`}`;
}

/** In the order of the rows. */
export function skillCallsIn(rows: readonly Row[]): readonly SkillCall[] {
  return rows.flatMap(({ payload }) => parseRowPayload(payload).skill ?? []);
}

export interface SkillTurn {
  /** Replaces the agent's model when the turn is one command for a tool. */
  readonly model: Model | null;
  readonly env: { readonly [name: string]: string };
  readonly bodies: ReadonlyMap<string, string>;
}

/**
 * Resolves what called skills change about a turn, as they are now; a skill that is gone or no longer allowed
 * here changes nothing.
 */
export async function skillTurn(
  called: readonly SkillCall[],
  here: SkillsHere,
  tools: readonly Tool[],
): Promise<SkillTurn> {
  const known = called.flatMap((call) => {
    const found = here.commands.find(({ skill }) => skill.manifest.name === call.name);
    return found === undefined ? [] : [{ call, found }];
  });
  const bodies = new Map<string, string>();
  if (!canRead(tools)) {
    for (const { call, found } of known) {
      const body = call.tool === undefined ? await here.body(found.skill) : null;
      if (body !== null) bodies.set(call.name, body);
    }
  }
  const [only] = called.length === 1 ? called : [];
  const dispatches =
    only?.tool === undefined ? null : { call: only, command: known[0]?.found.command ?? null };
  return {
    model: dispatches === null ? null : dispatchModel(dispatches.call, dispatches.command, tools),
    env: here.env(known.map(({ call }) => call.name)),
    bodies,
  };
}

/**
 * Builds the tool's arguments: the words as the person wrote them, under the one argument that can take them.
 */
function rawArgs(
  { name, input }: SkillCall,
  tool: Pick<Tool, "parameters"> | undefined,
  command: string,
): JsonObject {
  const schema = (tool?.parameters ?? {}) as {
    readonly properties?: { readonly [key: string]: { readonly type?: unknown } };
    readonly required?: readonly string[];
  };
  const properties = schema.properties ?? {};
  const all: JsonObject = { command: input, commandName: command, skillName: name };
  if (tool === undefined || "command" in properties)
    return Object.fromEntries(Object.entries(all).filter(([key]) => tool === undefined || key in properties));
  const texts = (schema.required ?? []).filter((key) => properties[key]?.type === "string");
  const [only] = texts;
  if (only !== undefined && texts.length === 1 && schema.required?.length === 1) return { [only]: input };
  return objectIn(input) ?? all;
}

/**
 * Calls the tool, then says its result. It depends only on its request, so that a resumed turn continues
 * where it was.
 */
function dispatchModel(call: SkillCall, command: string | null, tools: readonly Tool[]): Model {
  const wanted = call.tool ?? "";
  const tool = tools.find(({ name }) => name.toLowerCase() === wanted.toLowerCase());
  const nothing =
    command === null ? `The skill \`${call.name}\` may no longer be used here.` : "Nothing was run.";

  async function* stream(messages: readonly ModelMessage[], mayCall: boolean): AsyncGenerator<ModelEvent> {
    const last = messages.at(-1);
    if (last?.role !== "tool" && mayCall && command !== null) {
      const made = { id: "skill_command", name: tool?.name ?? wanted, args: rawArgs(call, tool, command) };
      yield { type: "toolCall", ...made };
      yield { type: "end", stop: "toolUse", usage: noUsage, content: [{ type: "toolCall", ...made }] };
      return;
    }
    const text = last?.role === "tool" ? plainAnswer(textOf(last)) : nothing;
    yield { type: "text", delta: text };
    yield { type: "end", stop: "stop", usage: noUsage, content: [{ type: "text", text }] };
  }
  return {
    id: `skill/${call.name}`,
    contextWindow: 1_000_000,
    maxTokens: 100_000,
    vision: false,
    reasoning: false,
    stream: ({ messages, toolChoice }) => stream(messages, toolChoice !== "none"),
  };
}

function textOf(message: ModelMessage & { role: "tool" }): string {
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

const controlWords = /NO_REPLY|HEARTBEAT_OK|\[\[|<\s*\/?\s*(?:think|thinking|thought|final|antthinking)\b/i;
const markup = /[\n*_`\\~<>|[\]#]/;

/**
 * Shows tool output unchanged: as code where a channel could take it for markup, and never as a control word
 * of the agent.
 */
function plainAnswer(text: string): string {
  const shown = text.replace(/\n+$/, "");
  if (shown.trim() === "") return "Done.";
  if (!markup.test(shown) && !controlWords.test(shown)) return shown;
  const longest = Math.max(2, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  // A control word alone in a fence would still count as the agent's silence.
  return `${controlWords.test(shown) ? "It says:\n" : ""}${fence}\n${shown}\n${fence}`;
}

function objectIn(text: string): JsonObject | null {
  if (!text.trim().startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : null;
  } catch {
    // The words only begin like an object.
    return null;
  }
}
