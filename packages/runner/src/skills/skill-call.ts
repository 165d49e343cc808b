// A message that calls a skill by command: `/skill NAME input`, or the skill's own command. What the row keeps of it, what the model reads in its
// place, and, where the skill's command is for a tool, a stand-in for the model that makes this one call: through the turn's own gate, policy,
// journal and limits, so that a command reaches nothing that the agent could not.
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

/** `body`: what the SKILL.md says, for an agent that cannot read it by itself. */
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
  /** In the place of the agent's, when the turn is one command for a tool. */
  readonly model: Model | null;
  readonly env: { readonly [name: string]: string };
  readonly bodies: ReadonlyMap<string, string>;
}

/** What called skills change about a turn, as they are now: one that went away or may no longer be used here changes nothing. */
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

/** What the tool is sent: the words as they were written, under the one argument that they can only be meant for. */
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

/** Calls the tool, then says what it answered. A function of what it is shown, so that a resumed turn goes on where it was. */
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

/** What a tool printed is shown as it is: as code where it could be taken for markup, and never as a word by which the agent acts. */
function plainAnswer(text: string): string {
  const shown = text.replace(/\n+$/, "");
  if (shown.trim() === "") return "Done.";
  if (!markup.test(shown) && !controlWords.test(shown)) return shown;
  const longest = Math.max(2, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  // A token alone in a fence would still be the agent's silence.
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
    // Words that only begin like an object.
    return null;
  }
}
