// Serves sessions to the operator: lists them, shows a transcript, resets one, changes its settings. It works
// the same in a running daemon and in `--once`.
import type { Config } from "@parley/config";
import {
  Fault,
  noUsage,
  parseSessionKey,
  type Clock,
  type Entry,
  type Json,
  type MethodParams,
  type MethodResult,
  type Usage,
} from "@parley/protocol";
import type { Cells, Session, Store, StoredEntry, Turns } from "@parley/store";
import type { PathHooks } from "../../hooks/heard.ts";
import { begunAt } from "../../receive/reset-policy.ts";
import { namedModel } from "../agent/named-model.ts";
import { sessionTree } from "./session-tree.ts";
import {
  busyLanes,
  childRegistry,
  modelField,
  nameOf,
  type ModelCatalog,
  ownReasoning,
  ownThinking,
  reasoningField,
  thinkingField,
  type OperatorTalk,
  forgetCanvas,
} from "@parley/runner";

export interface SessionPorts {
  readonly config: Pick<Config, "agents">;
  readonly talk: Pick<OperatorTalk, "drop">;
  readonly store: Pick<Store, "sessions"> & {
    readonly turns: Pick<Turns, "list">;
    readonly cells: Pick<Cells, "get" | "put" | "list" | "remove">;
  };
  readonly modelCatalog: Pick<ModelCatalog, "find">;
  readonly heard: Pick<PathHooks, "beginAnew" | "reset" | "patched">;
  readonly clock: Clock;
}

type Shown = MethodResult<"sessions.reset">;

const shownChars = 4_000;
const sessionsLookedAt = 1_000;
/** Those that changed last; a search looks at no others, so that it holds up nobody. */
const sessionsSearched = 20_000;
/**
 * Stores when a transcript was last forgotten and how many entries went, as the record of it (I11), without
 * the text.
 */
const forgottenField = "forgotten";

export function sessionMethods({
  config,
  store: { sessions, turns, cells },
  modelCatalog,
  talk,
  heard,
  clock,
}: SessionPorts) {
  const busy = (): Promise<ReadonlySet<string>> => busyLanes(turns);

  /** Looking must not open a session. Throws Fault("missing") for one that does not exist. */
  async function known(key: string): Promise<Session> {
    parseSessionKey(key);
    const found = (await sessions.list({ prefix: key, limit: 1000 })).find((session) => session.key === key);
    if (found !== undefined) return found;
    throw new Fault("missing", `there is no session ${key}; "parley sessions" shows those that there are`);
  }

  const one = async (session: Session): Promise<Shown> => shownSession(session, await busy());

  return {
    async "sessions.list"({
      agent,
      prefix,
      find = "",
      sinceMs,
      limit = 100,
    }: MethodParams<"sessions.list">): Promise<MethodResult<"sessions.list">> {
      const own = agent === undefined ? (prefix ?? "") : `agent:${agent}:`;
      const [found, lanes] = await Promise.all([
        sessions.list({
          ...(own === "" ? {} : { prefix: own }),
          ...(sinceMs === undefined ? {} : { sinceMs }),
          limit: find === "" ? limit : sessionsSearched,
        }),
        busy(),
      ]);
      const words = find.trim().toLowerCase();
      const wanted = found.filter(
        (session) =>
          (prefix === undefined || session.key.startsWith(prefix)) &&
          (words === "" || `${session.key} ${nameOf(session) ?? ""}`.toLowerCase().includes(words)),
      );
      return { sessions: wanted.slice(0, limit).map((session) => shownSession(session, lanes)) };
    },

    async "sessions.show"({
      key,
      epoch,
      limit = 50,
    }: MethodParams<"sessions.show">): Promise<MethodResult<"sessions.show">> {
      const session = await known(key);
      const entries = await sessions.transcript(session.key, {
        epoch: epoch ?? session.epoch,
        newest: true,
        limit,
      });
      return { ...(await one(session)), entries: entries.map(shownEntry) };
    },

    async "sessions.tree"({ key }: MethodParams<"sessions.tree">): Promise<MethodResult<"sessions.tree">> {
      const root = key === undefined ? null : await known(key);
      const all = await childRegistry(cells).all();
      const [found, lanes] = await Promise.all([
        // Most sessions have spawned nothing, and who watches one asks again and again.
        root !== null && all.every(({ parent }) => parent !== root.key)
          ? [root]
          : sessions.list({ limit: sessionsLookedAt }),
        busy(),
      ]);
      return { sessions: [...sessionTree(root?.key ?? null, all, found, lanes)] };
    },

    async "sessions.reset"({ key }: MethodParams<"sessions.reset">): Promise<Shown> {
      const session = await known(key);
      const begun = await heard.beginAnew(session.key, "the operator");
      await heard.reset(session.key, begun);
      return one(begun.session);
    },

    async "sessions.forget"({
      key,
    }: MethodParams<"sessions.forget">): Promise<MethodResult<"sessions.forget">> {
      const session = await known(key);
      if ((await busy()).has(session.key))
        throw new Fault(
          "conflict",
          `${session.key} is at work: stop it with /stop, or wait until it has ended, then forget it`,
        );
      await forgetCanvas(cells, session.key);
      const { entries } = await sessions.forget(session.key, forgottenField);
      await talk.drop(session.key);
      return { ...(await one(await sessions.patch(session.key, begunAt(clock.now())))), entries };
    },

    async "sessions.patch"({
      key,
      model,
      thinking,
      reasoning,
    }: MethodParams<"sessions.patch">): Promise<Shown> {
      const session = await known(key);
      const patch: { [field: string]: Json } = {};
      if (model !== undefined)
        patch[modelField] =
          model === null ? null : await namedModel(config, modelCatalog, session.key, model);
      if (thinking !== undefined) patch[thinkingField] = thinking;
      if (reasoning !== undefined) patch[reasoningField] = reasoning;
      if (Object.keys(patch).length === 0) return one(session);
      const after = await sessions.patch(session.key, patch);
      heard.patched(after, patch);
      return one(after);
    },
  };
}

function shownSession(session: Session, lanes: ReadonlySet<string>): Shown {
  const { key, epoch, createdAtMs, updatedAtMs, fields } = session;
  const { agent, kind } = parseSessionKey(key);
  const model = fields[modelField];
  const usage: Usage = { ...noUsage, ...(fields["usage"] as Partial<Usage> | undefined) };
  return {
    key,
    agent,
    kind,
    epoch,
    createdAtMs,
    updatedAtMs,
    model: typeof model === "string" ? model : null,
    thinking: ownThinking(session),
    reasoning: ownReasoning(session),
    name: nameOf(session),
    working: lanes.has(key),
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
  };
}

function shownEntry({
  seq,
  epoch,
  turn,
  body,
}: StoredEntry): MethodResult<"sessions.show">["entries"][number] {
  const entry = JSON.parse(body) as Entry;
  const text = textOf(entry);
  return {
    seq,
    epoch,
    turn,
    type: entry.type,
    text: text.length > shownChars ? `${text.slice(0, shownChars)}…` : text,
    atMs: entry.atMs,
  };
}

/** Names thoughts and pictures instead of showing them. */
function textOf(entry: Entry): string {
  switch (entry.type) {
    case "summary":
    case "notice":
      return entry.text;
    case "toolResult":
      return `${entry.name}: ${entry.content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n")}`;
    case "user":
      return entry.content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
    case "assistant":
      return entry.content
        .flatMap((part) =>
          part.type === "text" ? [part.text] : part.type === "toolCall" ? [`[calls ${part.name}]`] : [],
        )
        .join("\n");
  }
}
