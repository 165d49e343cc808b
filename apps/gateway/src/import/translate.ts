// Writes an OpenClaw config in Parley's own names. It judges nothing: what Parley does not know stays where
// it is and is refused later, by the schema, with the reason that a person would get for writing it.
import { isSecretPath, formatPath } from "@parley/config";
import type { Json, JsonObject } from "@parley/protocol";
import type { Met } from "./report.ts";
import { listOfAgents, type Source } from "./source.ts";
import { secretFileName } from "./secret-file-name.ts";
import { at, isBlock, leaves, without, withValue, type Path } from "./tree.ts";

export interface Translated {
  readonly file: JsonObject;
  /** Keys of `file` that are not where or what they were, by `formatPath`. */
  readonly changed: ReadonlyMap<string, { readonly from: string; readonly why: string }>;
  /** Keys that left the config. */
  readonly met: readonly Met[];
  /** Secrets that stood in the config, by the name of their file under the state folder. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Variables for `env` in the state folder. */
  readonly variables: ReadonlyMap<string, string>;
}

const channelsHere = ["telegram", "discord"];

export function translate(source: Source): Translated {
  let file: Json = source.config;
  const changed = new Map<string, { from: string; why: string }>(
    [...source.was].map(([now, from]) => [now, { from, why: "an older home names it so" }]),
  );
  const met: Met[] = [];
  const secrets = new Map<string, string>();
  const variables = new Map<string, string>();

  const has = (path: Path): boolean => at(file, path) !== undefined;
  const set = (path: Path, to: Json, why: string, from: Path = path): void => {
    file = withValue(file, path, to);
    for (const leaf of leaves(to, path)) changed.set(formatPath(leaf.path), { from: nameOf(from), why });
  };
  const nameOf = (path: Path): string => source.was.get(formatPath(path)) ?? formatPath(path);
  const drop = (path: Path): void => {
    file = without(file, path);
  };
  const move = (from: Path, to: Path, why: string, value = at(file, from)): void => {
    if (value === undefined || !has(from)) return;
    if (has(to)) return leave(from, "refused", `${formatPath(to)} says it already`);
    drop(from);
    set(to, value, why, from);
  };
  const leave = (path: Path, fate: Met["fate"], why: string, to?: string): void => {
    for (const leaf of leaves(at(file, path) ?? null, path))
      met.push({ what: "key", name: nameOf(leaf.path), fate, why, ...(to === undefined ? {} : { to }) });
    drop(path);
  };

  // What the wizard and the machine wrote for themselves.
  for (const key of ["meta", "wizard", "$schema"])
    if (has([key])) leave([key], "refused", "it was written by OpenClaw for itself");

  const { vars, shellEnv: _shellEnv, ...flat } = blockAt(file, ["env"]);
  for (const [name, value] of Object.entries({ ...flat, ...(isBlock(vars) ? vars : {}) })) {
    if (typeof value !== "string") continue;
    const path = name in flat ? ["env", name] : ["env", "vars", name];
    variables.set(name, value);
    leave(path, "changed", "variables stand in the file env of the state folder", `env: ${name}`);
  }
  if (isBlock(at(file, ["env", "vars"])) && Object.keys(blockAt(file, ["env", "vars"])).length === 0)
    drop(["env", "vars"]);
  if (has(["env"]) && Object.keys(blockAt(file, ["env"])).length === 0) drop(["env"]);

  move(["messages", "queue", "debounce"], ["messages", "queue", "debounceMs"], "its name here");

  // Agents and their folders.
  const agents = listOfAgents(source.config);
  if (has(["agents", "entries"])) {
    drop(["agents", "entries"]);
    set(["agents", "list"], agents, "agents are a list here", ["agents", "entries"]);
  }
  const folderWhy = "the files are copied into the agent's workspace in Parley's state folder";
  if (has(["agents", "defaults", "workspace"]))
    leave(["agents", "defaults", "workspace"], "changed", folderWhy);
  // OpenClaw takes capitals for small letters, as what is read of sessions and schedules does.
  const smallWhy = "ids of agents have small letters here";
  const small = (path: Path): void => {
    const id = at(file, path);
    if (typeof id === "string" && id !== id.toLowerCase()) set(path, id.toLowerCase(), smallWhy);
  };
  const allSmall = (path: Path): void => {
    const ids = listAt(file, path);
    const lower = ids.map((id) => (typeof id === "string" ? id.toLowerCase() : id));
    if (lower.some((id, index) => id !== ids[index])) set(path, lower, smallWhy);
  };
  for (const list of [["bindings"], ["hooks", "mappings"]])
    for (const index of listAt(file, list).keys()) small([...list, index, "agentId"]);
  allSmall(["hooks", "allowedAgentIds"]);
  allSmall(["tools", "agentToAgent", "allow"]);
  allSmall(["agents", "defaults", "subagents", "allowAgents"]);
  for (const index of agents.keys()) {
    const here: Path = ["agents", "list", index];
    small([...here, "id"]);
    allSmall([...here, "subagents", "allowAgents"]);
    const agent = blockAt(file, here);
    if (has([...here, "workspace"])) leave([...here, "workspace"], "changed", folderWhy);
    if (has([...here, "agentDir"]))
      leave([...here, "agentDir"], "refused", "keys of providers are looked for there, see variables");
    if (agent["default"] === undefined) continue;
    if (agent["default"] === true && agent["id"] !== "main" && typeof agent["id"] === "string") {
      const bound = at(file, ["bindings"]);
      const more = channelsHere
        .filter((channel) => has(["channels", channel]))
        .map((channel) => ({ agentId: agent["id"] as string, match: { channel, accountId: "*" } }));
      set(
        ["bindings"],
        [...(Array.isArray(bound) ? (bound as readonly Json[]) : []), ...more],
        "the agent that was the default is bound to each channel",
        [...here, "default"],
      );
      leave(
        [...here, "default"],
        "changed",
        "a default agent is the one called main, or bound to the channels",
        "bindings",
      );
    } else
      leave(
        [...here, "default"],
        agent["default"] === true ? "carried" : "changed",
        "main answers what no binding names",
      );
  }

  // Sessions keep their keys only where the same people share one.
  if (source.isHome && !has(["session", "dmScope"]))
    set(
      ["session", "dmScope"],
      "main",
      "that is OpenClaw's default, and private chats keep their session by it",
    );
  const scopes: { readonly [name: string]: string } = { "per-sender": "", global: "" };
  const scope = at(file, ["session", "scope"]);
  if (typeof scope === "string" && Object.hasOwn(scopes, scope))
    leave(
      ["session", "scope"],
      scope === "global" ? "refused" : "changed",
      "session.dmScope says who shares a conversation; groups have one each",
      "session.dmScope",
    );
  move(["session", "resetByType", "dm"], ["session", "resetByType", "direct"], "its name here");
  move(
    ["session", "idleMinutes"],
    ["session", "reset"],
    "its place here",
    resetOfMinutes(at(file, ["session", "idleMinutes"])),
  );

  const authMode = at(file, ["gateway", "auth", "mode"]);
  if (authMode === "token") leave(["gateway", "auth", "mode"], "changed", "a token is the only way here");

  for (const channel of Object.keys(blockAt(file, ["channels"]))) {
    if (channel === "web") continue;
    if (!channelsHere.includes(channel)) {
      leave(["channels", channel], "refused", "Parley speaks on Telegram, Discord and the web");
      continue;
    }
    const accounts = Object.keys(blockAt(file, ["channels", channel, "accounts"]));
    for (const place of [
      ["channels", channel],
      ...accounts.map((id) => ["channels", channel, "accounts", id]),
    ])
      account(channel, place);
  }

  function account(channel: string, place: Path): void {
    const token = channel === "telegram" ? "botToken" : "token";
    for (const other of ["token", "botToken"])
      if (other !== token) move([...place, other], [...place, token], "its name here");
    const file_ = at(file, [...place, "tokenFile"]);
    if (typeof file_ === "string")
      move([...place, "tokenFile"], [...place, token], "a secret's file is written so here", { file: file_ });
    move([...place, "dm", "policy"], [...place, "dmPolicy"], "its name here");
    move([...place, "dm", "allowFrom"], [...place, "allowFrom"], "its name here");
    if (at(file, [...place, "dm", "enabled"]) === false) {
      // Whoever could not write before cannot write now.
      if (has([...place, "dmPolicy"])) leave([...place, "dmPolicy"], "refused", "private chats were off");
      move([...place, "dm", "enabled"], [...place, "dmPolicy"], "said so here", "disabled");
    } else if (has([...place, "dm", "enabled"]))
      leave([...place, "dm", "enabled"], "changed", "private chats are on");
    if (has([...place, "dm"]) && Object.keys(blockAt(file, [...place, "dm"])).length === 0)
      drop([...place, "dm"]);
    const streaming = streamingOf(
      at(file, [...place, "streaming"]) ?? at(file, [...place, "streamMode"]),
      channel,
    );
    const from = has([...place, "streaming"]) ? "streaming" : "streamMode";
    if (streaming !== null && (from === "streamMode" || at(file, [...place, from]) !== streaming)) {
      const path = [...place, from];
      drop(path);
      set([...place, "streaming"], streaming, "previews are one word here", path);
    }
    if (at(file, [...place, "replyToMode"]) === "all")
      set([...place, "replyToMode"], "first", "the first message of each answer quotes");
    const guilds = Object.keys(blockAt(file, [...place, "guilds"]));
    for (const guild of guilds)
      for (const id of Object.keys(blockAt(file, [...place, "guilds", guild, "channels"]))) {
        const here = [...place, "guilds", guild, "channels", id];
        if (at(file, [...here, "allow"]) === false && has([...here, "enabled"]))
          leave([...here, "enabled"], "refused", "allow said that it was off");
        move([...here, "allow"], [...here, "enabled"], "its name here");
      }
  }

  // References to secrets, and secrets themselves.
  for (const { path, value } of secretsIn(file)) {
    if (isBlock(value)) {
      const { source: kind, id } = value;
      if (kind === "env" && typeof id === "string") {
        drop(path);
        set(path, { env: id }, "a reference is written so here");
      } else if (typeof value["env"] !== "string" && typeof value["file"] !== "string")
        leave(
          path,
          "refused",
          `a secret by ${typeof kind === "string" ? kind : "this way"} cannot be read here: use { env: "NAME" } or { file: "path" }`,
        );
    } else if (typeof value === "string" && value !== "" && !/\$\{[A-Za-z_]\w*\}/.test(value)) {
      const name = secretFileName(formatPath(path), value, secrets);
      secrets.set(name, value);
      drop(path);
      set(path, { file: name }, `the secret is in ${name} of the state folder, for its user alone`);
    }
  }
  for (const skill of Object.keys(blockAt(file, ["skills", "entries"])))
    for (const [name, value] of Object.entries(blockAt(file, ["skills", "entries", skill, "env"]))) {
      if (typeof value !== "string" || value.includes("${") || !/KEY|TOKEN|SECRET|PASS/i.test(name)) continue;
      const variable =
        (variables.get(name) ?? source.env[name] ?? value) === value
          ? name
          : `${name}_${skill.toUpperCase().replace(/\W/g, "_")}`;
      variables.set(variable, value);
      set(
        ["skills", "entries", skill, "env", name],
        `\${${variable}}`,
        "the secret is in the file env of the state folder",
      );
    }
  for (const [name, value] of Object.entries(source.env)) {
    if (/^(?:OPENCLAW|CLAWDBOT|MOLTBOT)_/.test(name)) {
      met.push({ what: "variable", name, fate: "refused", why: "it is for OpenClaw itself" });
      continue;
    }
    if (!variables.has(name)) variables.set(name, value);
    met.push({ what: "variable", name, fate: "carried", to: `env: ${name}` });
  }
  return { file: file as JsonObject, changed, met, secrets, variables };
}

function blockAt(value: Json, path: Path): JsonObject {
  const found = at(value, path);
  return isBlock(found) ? found : {};
}

function listAt(value: Json, path: Path): readonly Json[] {
  const found = at(value, path);
  return Array.isArray(found) ? (found as readonly Json[]) : [];
}

function resetOfMinutes(minutes: Json | undefined): Json | undefined {
  return typeof minutes === "number" ? { mode: "idle", idleMinutes: minutes } : undefined;
}

/** Null where it is a word of Parley's, or none that is known. */
function streamingOf(value: Json | undefined, channel: string): string | null {
  const mode = isBlock(value) ? value["mode"] : value;
  if (mode === false || mode === "off") return "off";
  if (mode === "block") return "block";
  return mode === true || mode === "partial" || mode === "progress"
    ? channel === "telegram"
      ? "edit"
      : "off"
    : null;
}

/** Places of secrets: a reference counts whole. */
function secretsIn(value: Json, path: Path = []): readonly { readonly path: Path; readonly value: Json }[] {
  if (path.length > 0 && isSecretPath(path) && (typeof value === "string" || isBlock(value)))
    return [{ path, value }];
  if (Array.isArray(value))
    return (value as readonly Json[]).flatMap((each, index) => secretsIn(each, [...path, index]));
  return isBlock(value)
    ? Object.entries(value).flatMap(([key, each]) => secretsIn(each, [...path, key]))
    : [];
}
