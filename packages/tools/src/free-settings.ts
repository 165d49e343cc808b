// Lists the settings that an owner's agent may change about itself: how and when it speaks, and which of the
// operator's models it uses. The list is short and everything else is the operator's, so a new key is
// protected until somebody adds it here on purpose.
import type { Json, JsonObject } from "@parley/protocol";

export interface FreeSetting {
  /** "*" is any one key or index. All below it is free too. */
  readonly path: string;
  /** For docs/tools.md. */
  readonly says: string;
  /** Absent: any value, and none. `before`: the whole file as it is. */
  readonly allows?: (value: Json | undefined, before: Json) => boolean;
}

export const freeSettings: readonly FreeSetting[] = [
  {
    path: "agents.defaults.model",
    says: "to models that the file names already; never removed",
    allows: areNamed,
  },
  { path: "agents.list.*.model", says: "the same", allows: areNamed },
  { path: "agents.defaults.thinkingDefault", says: "" },
  { path: "agents.list.*.thinkingDefault", says: "" },
  {
    path: "agents.defaults.userTimezone",
    says: "not while a `spend` limit is set: its days are counted in this zone",
    allows: noLimit,
  },
  { path: "agents.defaults.timeFormat", says: "" },
  { path: "agents.defaults.silentReply", says: "" },
  { path: "messages.queue.mode", says: "" },
  { path: "messages.queue.debounceMs", says: "" },
  { path: "messages.tts.auto", says: "" },
  { path: "messages.tts.maxTextLength", says: "" },
  { path: "memory.citations", says: "" },
  { path: "session.reset", says: "" },
  { path: "session.resetByType", says: "" },
  { path: "session.resetByChannel", says: "" },
  ...["telegram", "telegram.accounts.*", "discord", "discord.accounts.*"].flatMap((at) =>
    ["streaming", "replyToMode", "reactionLevel"].map((key) => ({ path: `channels.${at}.${key}`, says: "" })),
  ),
];

/** Every model of the value is one that the operator wrote down, and so meant to be used and paid for. */
function areNamed(value: Json | undefined, before: Json): boolean {
  if (value === undefined) return false;
  const named = namedModels(before);
  return modelsIn(value).every((model) => named.has(model));
}

/** With anything that is no string, which names no model and is for the schema to refuse. */
function modelsIn(choice: Json | undefined): readonly (Json | undefined)[] {
  if (!isObject(choice)) return choice === undefined ? [] : [choice];
  const { primary, fallbacks } = choice;
  return [...(primary === undefined ? [] : [primary]), ...(Array.isArray(fallbacks) ? fallbacks : [])];
}

function namedModels(file: Json): ReadonlySet<Json | undefined> {
  const agents = block(file, "agents");
  const defaults = block(agents, "defaults");
  const list = agents["list"];
  const providers = block(block(file, "models"), "providers");
  return new Set([
    "rehearsal/rehearsal",
    ...modelsIn(defaults["model"]),
    ...(Array.isArray(list)
      ? list.flatMap((agent) => (isObject(agent) ? modelsIn(agent["model"]) : []))
      : []),
    ...Object.keys(block(defaults, "models")),
    ...Object.entries(providers).flatMap(([name, provider]) =>
      declared(provider).map((id) => `${name}/${id}`),
    ),
  ]);
}

function declared(provider: Json): readonly string[] {
  const models = isObject(provider) ? provider["models"] : undefined;
  if (!Array.isArray(models)) return [];
  return models.flatMap((model) => (isObject(model) && typeof model["id"] === "string" ? [model["id"]] : []));
}

function noLimit(_value: Json | undefined, before: Json): boolean {
  const agents = block(before, "agents");
  const list = agents["list"];
  const holders = [block(agents, "defaults"), ...(Array.isArray(list) ? list : [])];
  return !holders.some((holder) => isObject(holder) && Object.hasOwn(holder, "spend"));
}

function block(value: Json, key: string): JsonObject {
  const found = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isObject(found) ? found : {};
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
