// Controls background commands wherever they run: the next turn of a session may be on another node than the
// command. Its state is in the store, its output in the shared workspace; requests go to the node that runs
// it, and are never carried out here as well.
import { Fault, sleep, type Clock, type Log, type SessionKey } from "@parley/protocol";
import type { Bus } from "@parley/queue";
import type { Command, CommandRecord, Commands, Rooted } from "@parley/tools";

export interface CommandsOfNodesOptions {
  readonly own: Commands;
  /** Records of all nodes. */
  readonly records: () => Promise<readonly CommandRecord[]>;
  readonly filesAt: (root: string) => Rooted;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** A request to a node about its commands: one by id, all of a session, or all. */
interface Word {
  readonly ask: "end" | "kill" | "write" | "close" | "forget";
  readonly session?: SessionKey;
  readonly id?: string;
  readonly text?: string;
}

const topic = "commands";
const lookEveryMs = 250;
/** A request may be lost, so an end is asked for this many times until it shows. */
const mostAsks = 8;
const mostSeen = 200;

export function commandsOfNodes({
  own,
  records,
  filesAt,
  bus,
  clock,
  log,
}: CommandsOfNodesOptions): Commands {
  /** Commands of other nodes, with how much of their output was told. */
  const seen = new Map<string, Command>();
  const tell = (word: Word): void => bus.tell(topic, JSON.stringify(word));
  bus.hear(topic, (text) => {
    obey(JSON.parse(text) as Word).catch((error: unknown) =>
      log.info({ error }, "what another node asked of a command was not done"),
    );
  });

  async function obey({ ask, session, id, text = "" }: Word): Promise<void> {
    if (ask === "end") return own.end(session);
    if (session === undefined || id === undefined) return;
    if (ask === "forget") return own.forget(session, id);
    const command = await own.get(session, id);
    if (ask === "kill") await command?.kill();
    else if (ask === "write") command?.write(text);
    else command?.closeInput();
  }

  async function elsewhere(session?: SessionKey): Promise<readonly CommandRecord[]> {
    const there: CommandRecord[] = [];
    for (const record of await records()) {
      if (session !== undefined && record.session !== session) continue;
      if ((await own.get(record.session, record.id)) === null) there.push(record);
    }
    return there;
  }

  function distant(first: CommandRecord): Command {
    let record = first;
    const { id, session } = first;
    const files = filesAt(first.root);
    // Gone, or not to be seen from here.
    const bytes = (): Promise<number> => files.withFile(first.log, async ({ size }) => size).catch(() => 0);
    const look = async (): Promise<void> => {
      const found = (await records()).find((each) => each.id === id && each.session === session);
      // Its node no longer knows it, so it is over.
      record =
        found ?? (record.state === "running" ? { ...record, state: "lost", endedAtMs: clock.now() } : record);
    };
    const until = async (
      forMs: number,
      signal: AbortSignal | undefined,
      enough: () => Promise<boolean>,
    ): Promise<void> => {
      const untilMono = clock.mono() + forMs;
      for (;;) {
        await look();
        const leftMs = untilMono - clock.mono();
        if (record.state !== "running" || leftMs <= 0 || signal?.aborted === true || (await enough())) return;
        await sleep(clock, Math.min(leftMs, lookEveryMs), signal);
      }
    };
    const ask = (word: Pick<Word, "ask" | "text">): void => {
      if (record.state !== "running")
        throw new Fault("missing", `the command ${id} is over: ${record.state}`);
      tell({ ...word, session, id });
    };
    const command: Command = {
      get record() {
        return record;
      },
      files,
      bound: [],
      told: 0,
      ended: (forMs, signal) => until(forMs, signal, async () => false),
      spoke: (forMs, signal) => until(forMs, signal, async () => (await bytes()) > command.told),
      background: async () => undefined,
      write: (text) => ask({ ask: "write", text }),
      closeInput: () => ask({ ask: "close" }),
      async kill() {
        for (let n = 0; n < mostAsks && record.state === "running"; n += 1) {
          ask({ ask: "kill" });
          await command.ended(2 * lookEveryMs);
        }
        if (record.state === "running")
          throw new Fault(
            "unavailable",
            `the node that runs the command ${id} does not answer: it may still run`,
          );
      },
    };
    return command;
  }

  return {
    start: own.start,
    boundTo: own.boundTo,
    async list(session) {
      const there = (await elsewhere(session)).filter(({ background }) => background);
      return [...(await own.list(session)), ...there].toSorted((a, b) => a.startedAtMs - b.startedAtMs);
    },
    async get(session, id) {
      const here = await own.get(session, id);
      if (here !== null) return here;
      const record = (await elsewhere(session)).find((each) => each.id === id);
      if (record === undefined) return null;
      const command = seen.get(id) ?? distant(record);
      await command.ended(0);
      seen.delete(id);
      seen.set(id, command);
      if (seen.size > mostSeen) seen.delete(seen.keys().next().value ?? "");
      return command;
    },
    async forget(session, id) {
      await own.forget(session, id);
      tell({ ask: "forget", session, id });
    },
    async end(session) {
      await own.end(session);
      for (let n = 0; n < mostAsks; n += 1) {
        if (!(await elsewhere(session)).some(({ state }) => state === "running")) return;
        tell({ ask: "end", ...(session === undefined ? {} : { session }) });
        await sleep(clock, lookEveryMs);
      }
      log.warn({ session }, "a node that runs commands does not answer: they may still run");
    },
  };
}
