// Keeps the slash commands that show "is thinking" until their answer replaces that, also over a restart.
// One that nobody answers in time is ended, as is one whose message gets no answer.
import type { Clock, Log, Timer } from "@parley/protocol";
import { type DiscordMemory, interactionsSchema, type OpenInteraction, recall } from "../memory.ts";

interface OpenInteractions {
  /** Loads those of the last process. */
  load(): Promise<void>;
  all(): readonly OpenInteraction[];
  /** Discord still takes an answer to it. */
  isFresh(one: { readonly atMs: number }): boolean;
  add(added: readonly OpenInteraction[]): Promise<void>;
  /** The send with this key answers it, and no other. */
  take(one: OpenInteraction, key: string): Promise<void>;
  /** Ends "is thinking" of those of these events that no send answers. Never rejects. */
  endUntaken(isMeant: (event: string) => boolean): Promise<void>;
  stop(): void;
}

interface OpenInteractionsOptions {
  readonly memory: DiscordMemory;
  readonly removeOriginal: (one: OpenInteraction) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Discord's tokens live for fifteen minutes; one minute less leaves time for the answer to get there. */
const tokenMs = 14 * 60_000;
const mostOpen = 500;

export function openInteractions({
  memory,
  removeOriginal,
  clock,
  log,
}: OpenInteractionsOptions): OpenInteractions {
  let open: readonly OpenInteraction[] = [];
  const expiries = new Set<Timer>();

  const isFresh = ({ atMs }: { readonly atMs: number }): boolean => clock.now() - atMs < tokenMs;
  const keep = (next: readonly OpenInteraction[]): Promise<void> => {
    open = next.filter(isFresh).slice(-mostOpen);
    return memory.save("interactions", JSON.stringify(open));
  };
  const endWaiting = async (one: OpenInteraction): Promise<void> => {
    try {
      await removeOriginal(one);
    } catch (error) {
      log.debug({ error }, "could not end a command's waiting"); // Discord ends it by itself, a minute later.
    }
  };

  /** Ends "is thinking" of a command that nobody answers. */
  const expireLater = (one: OpenInteraction): void => {
    const timer = clock.after(Math.max(0, tokenMs - (clock.now() - one.atMs)), () => {
      expiries.delete(timer);
      const known = open.find(({ event }) => event === one.event);
      open = open.filter(({ event }) => event !== one.event);
      if (known === undefined || known.takenBy !== undefined) return;
      void endWaiting(one);
    });
    expiries.add(timer);
  };

  return {
    async load() {
      open = ((await recall(memory, "interactions", interactionsSchema, log)) ?? []).filter(isFresh);
      for (const one of open) expireLater(one);
    },
    all: () => open,
    isFresh,
    add(added) {
      for (const one of added) expireLater(one);
      return keep([...open, ...added]);
    },
    take: ({ event }, key) => keep(open.map((one) => (one.event === event ? { ...one, takenBy: key } : one))),
    async endUntaken(isMeant) {
      const ended = open.filter(({ event, takenBy }) => takenBy === undefined && isMeant(event));
      if (ended.length === 0) return;
      await Promise.all([
        keep(open.filter(({ event }) => !ended.some((one) => one.event === event))).catch((error: unknown) =>
          log.debug({ error }, "what ended could not be noted"),
        ),
        ...ended.map(endWaiting),
      ]);
    },
    stop() {
      for (const timer of expiries) timer.cancel();
    },
  };
}
