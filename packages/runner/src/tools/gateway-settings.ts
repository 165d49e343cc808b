// Lets an owner's agent read and change the config file and restart the daemon: the port of the tool
// `gateway`. Secrets in the file are masked, so that no tool sees one, and a mask that comes back keeps the
// old value. The session that asked for a restart is told when it is over.
import type { PlaceOf } from "@parley/access";
import { configSchemaAt, restartKeys, type ConfigEditor } from "@parley/config";
import {
  Fault,
  isFault,
  type Clock,
  type Json,
  type JsonObject,
  type Log,
  parseRowPayload,
  version,
} from "@parley/protocol";
import type { Cells, Inbox } from "@parley/store";
import type { Settings, ToolScope } from "@parley/tools";
import { followingRow } from "../internal-row.ts";

export interface Restarting {
  /** Returns why the daemon would not start again; null when nothing is known to prevent it. */
  trouble(): Promise<string | null>;
  /** Drains and starts again. */
  begin(): void;
}

export interface AgentSettingsOptions {
  readonly editor: ConfigEditor;
  /** Changed keys that only the next start applies. */
  readonly restartNeeded: () => readonly string[];
  /** Absent where the daemon can only be stopped. */
  readonly restarting?: Restarting | undefined;
  /** Begins an update of Parley in a process of its own. */
  readonly update: (askedBy: string, to: string | undefined) => Promise<void>;
  readonly checkUpdate: () => Promise<string>;
  readonly cells: Pick<Cells, "put" | "list" | "remove">;
  readonly inbox: Pick<Inbox, "find" | "accept">;
  readonly placeOf: PlaceOf;
  /** Names this process among those that share a store. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface AgentSettings extends Settings {
  /** Tells the sessions that asked for the restart; called at a start. */
  restarted(): Promise<void>;
  /** Tells the session that asked for the update how it ended, once. */
  updated(ended: EndedUpdate): Promise<void>;
}

/** How an update ended; `askedBy` is what `update` was given. */
interface EndedUpdate {
  readonly askedBy: string | null;
  readonly state: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string | null;
}

interface Asked {
  readonly turn: string;
  readonly reason: string;
}

/** Before the turn and call of whoever asked for an update. */
const askedPrefix = "turn:";
/** After a day nobody wants to hear of a restart. */
const lifeMs = 86_400_000;
const most = 1_000;
/** Lets the call's result be written first; running turns have the time of a drain. */
const restartDelayMs = 200;

export function agentSettings({
  editor,
  restartNeeded,
  restarting,
  update,
  checkUpdate,
  cells,
  inbox,
  placeOf,
  node,
  clock,
  log,
}: AgentSettingsOptions): AgentSettings {
  const prefix = `restart:${node}:`;

  async function reading(): Promise<{ readonly file: JsonObject; readonly hash: string }> {
    const { file, hash } = await editor.read();
    if (typeof file !== "object" || file === null || Array.isArray(file))
      throw new Fault(
        "invalid",
        "the config file cannot be read as it is; the operator has to mend it first",
      );
    return { file: file as JsonObject, hash };
  }

  async function tell({ turn, reason }: Asked, id: string): Promise<void> {
    const text = `Parley restarted as you asked (${JSON.stringify(reason)}) and runs again, version ${version}. Tell the user in one line.`;
    await follow(turn, `restart:${id}`, id, text);
  }

  async function follow(turn: string, rowId: string, id: string, text: string): Promise<void> {
    const [began] = await inbox.find({ turn, limit: 1 });
    if (began === undefined) {
      log.warn({ turn }, "the gateway was restarted for a session, and nobody is known any more to be told");
      return;
    }
    await inbox.accept([
      followingRow(
        began,
        rowId,
        text,
        { kind: "restart", id, turn },
        {
          placeOf,
          nowMs: clock.now(),
        },
      ),
    ]);
  }

  return {
    async read() {
      const { file, hash } = await reading();
      return { value: file, shown: file, hash };
    },
    schema: async (path) => configSchemaAt(path) as Json,
    async write(value, basedOn) {
      const { file } = await reading();
      // The agent must not add environment variables, because a secret among them could be read where it is
      // shown later.
      const known = variablesIn(file);
      const fresh = [...variablesIn(value)].filter((name) => !known.has(name));
      if (fresh.length > 0)
        throw new Fault(
          "denied",
          `only the operator may use variables of the environment (${fresh.join(", ")})`,
        );
      const { changed } = await editor.apply(value, basedOn);
      if (changed.length === 0) return { restart: false };
      log.info({ changed }, "an agent changed the config");
      return { restart: [...restartKeys(changed), ...restartNeeded()].length > 0 };
    },
    async restart({ turn, callId }: ToolScope, reason) {
      if (restarting === undefined)
        throw new Fault("unsupported", "this gateway can only be stopped, and started again by hand");
      const rows = await inbox.find({ turn, limit: most });
      if (rows.some(({ payload }) => parseRowPayload(payload).internal?.kind === "restart"))
        throw new Fault("denied", "it was restarted just now; another restart needs a word of the user");
      const trouble = await restarting.trouble();
      if (trouble !== null)
        throw new Fault("invalid", `not restarted, because Parley would not come up again: ${trouble}`);
      await cells.put(`${prefix}${turn}:${callId}`, JSON.stringify({ turn, reason } satisfies Asked), {
        ttlMs: lifeMs,
      });
      log.info({ turn, reason }, "an agent asked for a restart");
      clock.after(restartDelayMs, restarting.begin);
    },
    checkUpdate,
    async update({ turn, callId }: ToolScope, to) {
      const rows = await inbox.find({ turn, limit: most });
      if (rows.some(({ payload }) => parseRowPayload(payload).internal?.kind === "restart"))
        throw new Fault("denied", "it was restarted just now; an update needs a word of the user");
      await update(`${askedPrefix}${JSON.stringify([turn, callId])}`, to);
      log.info({ turn, to }, "an agent asked for an update");
    },
    async updated({ askedBy, state, from, to, reason }) {
      if (askedBy?.startsWith(askedPrefix) !== true) return;
      const [turn = "", callId = ""] = JSON.parse(askedBy.slice(askedPrefix.length)) as readonly string[];
      const ended =
        state === "done"
          ? `Parley is updated from ${from} to ${to} as you asked, and runs`
          : state === "went-back"
            ? `The update of Parley to ${to} did not do${reason === null ? "" : ` (${reason})`}, and ${from} runs again`
            : `Parley was not updated${reason === null ? "" : `: ${reason}`}`;
      const id = `${turn}:${callId}`;
      await follow(turn, `updated:${id}`, id, `${ended}. Tell the user in one line.`);
    },
    async restarted() {
      for (const { key, value } of await cells.list(prefix, most)) {
        try {
          await tell(JSON.parse(value) as Asked, key.slice(prefix.length));
        } catch (error) {
          if (!isFault(error)) throw error;
          log.error({ key, error }, "a session could not be told of the restart that it asked for");
        }
        await cells.remove(key);
      }
    },
  };
}

/** Names in `${NAME}`, in keys too. */
function variablesIn(value: Json): Set<string> {
  return new Set(
    [...JSON.stringify(value).matchAll(/\$\{([A-Za-z_]\w*)\}/g)].flatMap(([, name]) =>
      name === undefined ? [] : [name],
    ),
  );
}
