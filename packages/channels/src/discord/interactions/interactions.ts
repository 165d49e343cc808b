// Answers interactions in time. Discord wants a first answer within three seconds, long before an agent has
// one, so the driver defers: a slash command shows "is thinking" until its answer replaces that. This works
// for fifteen minutes, also after a restart; later answers are sent as ordinary messages.
import type { APIInteraction } from "discord-api-types/v10";
import { type Clock, Fault, isFault, type Log, sleep, type Timer } from "@parley/protocol";
import type { Suggestion } from "../../channel.ts";
import type { DiscordMemory, OpenInteraction } from "../memory.ts";
import { openInteractions } from "./open-interactions.ts";
import {
  answerAtOnce,
  choicesOf,
  ephemeral,
  interactionCalls,
  type Payload,
  responses,
} from "./interaction-calls.ts";
import { interactionTypes } from "./interaction-text.ts";
import { isRefusal } from "../refusals.ts";
import type { Forms } from "./forms.ts";
import type { DiscordRest } from "../rest.ts";
import { isSnowflake } from "../snowflake.ts";

export interface Interactions {
  /** Loads the open interactions of the last process. */
  load(): Promise<void>;
  /** Call it at once. An interaction that is not accepted in time is deferred first. */
  arrived(interaction: APIInteraction, event: string): void;
  /** These events are durable; nobody will answer those in `refused`. */
  accepted(events: readonly string[], refused: ReadonlySet<string>): Promise<void>;
  /** Tells the person that these commands or buttons are not ours. Never throws. */
  notOurs(events: readonly string[]): void;
  /**
   * The open slash command among `events` that the send with this key answers. The first send to ask gets it,
   * and so do its repeats. `onlyTaken`: only one that this key has got already.
   */
  take(events: readonly string[], key: string, onlyTaken: boolean): Promise<OpenInteraction | null>;
  /**
   * Replaces "is thinking" with the answer. Null when Discord has forgotten the interaction; the answer is
   * then an ordinary message. Throws Fault.
   */
  fill(open: OpenInteraction, payload: Payload, signal: AbortSignal): Promise<unknown>;
  /**
   * Sends the rest of a quiet command's answer. Null when its time is over; the rest is then an ordinary
   * message. Throws Fault.
   */
  follow(event: string, payload: Payload, signal: AbortSignal): Promise<unknown>;
  /** Ends "is thinking" of the other commands that the same answer covers. Never rejects. */
  endOthers(events: readonly string[], answered: OpenInteraction): Promise<void>;
  /** Ends "is thinking" of events that get no answer. Never rejects. */
  settle(events: readonly string[]): Promise<void>;
  /** Acknowledges a pressed button; only the person who pressed sees `text`. Throws Fault. */
  answer(id: string, text: string | undefined, signal: AbortSignal): Promise<void>;
  stop(): void;
}

/** Discord drops an interaction without an answer after three seconds. */
const deferAfterMs = 1_500;
const suggestWithinMs = 2_000;
const refusal = "You cannot use this here.";
const noLongerUsed = {
  command: "This command is no longer in use.",
  button: "This button is no longer in use.",
} as const;

interface Arrived {
  readonly id: string;
  readonly application: string;
  readonly token: string;
  readonly isSlashCommand: boolean;
  readonly isQuiet: boolean;
  readonly atMs: number;
  readonly timer: Timer;
  /** True when it was deferred; null while nobody has tried. */
  deferred: Promise<boolean> | null;
}

export interface InteractionsOptions {
  readonly rest: DiscordRest;
  readonly memory: DiscordMemory;
  readonly forms: Pick<Forms, "find">;
  /** In a server, only the person who gave one of these commands sees the answer. */
  readonly quietCommands: readonly string[];
  /** The arguments that are offered for what is typed. */
  readonly suggestions: (interaction: APIInteraction) => Promise<readonly Suggestion[]>;
  readonly clock: Clock;
  readonly log: Log;
}

export function interactions({
  rest,
  memory,
  forms,
  quietCommands,
  suggestions,
  clock,
  log,
}: InteractionsOptions): Interactions {
  const { respond, editOriginal, removeOriginal, followUp } = interactionCalls(rest);
  /** Keyed by event id. */
  const arrived = new Map<string, Arrived>();
  const waiting = openInteractions({ memory, removeOriginal, clock, log });
  const { isFresh } = waiting;
  const defer = (to: Arrived): Promise<boolean> =>
    (to.deferred ??= respond(to, {
      type: to.isSlashCommand ? responses.deferredMessage : responses.deferredUpdate,
      ...(to.isQuiet ? { data: { flags: ephemeral } } : {}),
    }).then(
      () => true,
      (error: unknown) => {
        log.warn({ interaction: to.id, error }, "an interaction could not be deferred");
        // It may have been deferred; the answer will find out.
        return isFault(error, "ambiguous") || isRefusal(error, "alreadyAcknowledged");
      },
    ));

  const isWaiting = (event: string, one: Arrived): boolean =>
    one.isSlashCommand && isFresh(one) && !waiting.all().some((known) => known.event === event);
  /** Records commands whose answer may replace "is thinking" from now on, also after a restart. */
  const waitFor = (commands: readonly (readonly [event: string, one: Arrived])[]): Promise<void> => {
    const added = commands.map(([event, one]): OpenInteraction => {
      one.timer.cancel();
      void defer(one);
      return {
        event,
        application: one.application,
        token: one.token,
        atMs: one.atMs,
        ...(one.isQuiet ? { quiet: true as const } : {}),
      };
    });
    return waiting.add(added);
  };

  /**
   * A turn may end before the driver hears that its command is durable, so the command is recorded here
   * first; a repeat then finds it too.
   */
  const waitForEarly = async (isMeant: (event: string) => boolean): Promise<void> => {
    const early = [...arrived].filter(([event, one]) => isMeant(event) && isWaiting(event, one));
    if (early.length > 0) await waitFor(early);
  };

  /** Replaces "is thinking", or tells only the person who pressed. */
  const tell = async (to: Arrived, words: string): Promise<void> => {
    const data = { content: words, flags: ephemeral };
    if (to.deferred === null) {
      to.deferred = Promise.resolve(false);
      await respond(to, { type: responses.message, data });
    } else if (to.isSlashCommand) await editOriginal(to, { body: { content: words } });
    else await followUp(to, { body: data });
  };
  const refuse = async (to: Arrived): Promise<void> => (to.isSlashCommand ? tell(to, refusal) : undefined);

  /** Late suggestions help nobody: what is not known in time is nothing. */
  const suggest = async (interaction: APIInteraction): Promise<void> => {
    const timeouts = new AbortController();
    const found = await Promise.race([
      suggestions(interaction).catch((error: unknown): readonly Suggestion[] => {
        log.debug({ interaction: interaction.id, error }, "no arguments could be suggested");
        return [];
      }),
      sleep(clock, suggestWithinMs, timeouts.signal).then(() => []),
    ]);
    timeouts.abort();
    await respond(interaction, choicesOf(found)).catch((error: unknown) =>
      log.debug({ interaction: interaction.id, error }, "suggestions could not be shown"),
    );
  };

  return {
    load: waiting.load,
    arrived(interaction, event) {
      const { id, application_id: application, token } = interaction;
      const type = interaction.type as number;
      if (type === interactionTypes.autocomplete) return void suggest(interaction);
      if (arrived.has(event)) return; // Discord repeated it after RESUME.
      const atMs = clock.now();
      for (const [key, one] of arrived) if (!isFresh(one)) arrived.delete(key);
      const timer = clock.after(deferAfterMs, () => void defer(one));
      const isSlashCommand = type === interactionTypes.command;
      const { name } = (interaction.data ?? {}) as { readonly name?: unknown };
      const isQuiet =
        isSlashCommand && isSnowflake(interaction.guild_id) && quietCommands.includes(String(name));
      const one: Arrived = { id, application, token, isSlashCommand, isQuiet, atMs, timer, deferred: null };
      const atOnce = answerAtOnce(interaction, forms);
      if (atOnce !== null) {
        timer.cancel();
        respond(one, atOnce).catch((error: unknown) =>
          log.debug({ interaction: id, error }, "an interaction could not be answered"),
        );
        return;
      }
      arrived.set(event, one);
    },
    async accepted(events, refused) {
      const added: (readonly [string, Arrived])[] = [];
      for (const event of events) {
        const one = arrived.get(event);
        if (one === undefined) continue;
        one.timer.cancel();
        if (refused.has(event)) {
          refuse(one).catch((error: unknown) =>
            log.debug({ interaction: one.id, error }, "a refusal could not be shown"),
          );
        } else if (isWaiting(event, one)) {
          added.push([event, one]);
        }
      }
      if (added.length > 0) await waitFor(added);
    },
    notOurs(events) {
      for (const event of events) {
        const one = arrived.get(event);
        if (one === undefined) continue;
        one.timer.cancel();
        tell(one, one.isSlashCommand ? noLongerUsed.command : noLongerUsed.button).catch((error: unknown) =>
          log.debug({ interaction: one.id, error }, "an interaction could not be answered"),
        );
      }
    },
    async take(events, key, onlyTaken) {
      const isAnswered = answeredBy(events);
      await waitForEarly(isAnswered);
      const found = waiting
        .all()
        .find(
          ({ event, takenBy }) =>
            isAnswered(event) && (takenBy === key || (takenBy === undefined && !onlyTaken)),
        );
      if (found === undefined || !isFresh(found)) return null;
      const deferred = arrived.get(found.event)?.deferred;
      if (deferred !== undefined && deferred !== null && !(await deferred)) return null;
      if (found.takenBy === undefined) await waiting.take(found, key);
      return found;
    },
    async fill(one, payload, signal) {
      try {
        return await editOriginal(one, payload, signal);
      } catch (error) {
        if (!isFault(error, "missing") && !isRefusal(error, "invalidWebhookToken")) throw error;
        log.info({ event: one.event }, "Discord has forgotten an interaction: answering as a message");
        return null;
      }
    },
    async follow(event, payload, signal) {
      const one = waiting.all().find((known) => known.event === event);
      if (one === undefined || !isFresh(one)) return null;
      try {
        return await followUp(one, payload, signal);
      } catch (error) {
        if (!isFault(error, "missing") && !isRefusal(error, "invalidWebhookToken")) throw error;
        return null;
      }
    },
    async endOthers(events, answered) {
      const isAnswered = answeredBy(events);
      await waiting.endUntaken((event) => event !== answered.event && isAnswered(event));
    },
    async settle(events) {
      const isMeant = answeredBy(events);
      await waitForEarly(isMeant).catch((error: unknown) =>
        log.debug({ error }, "what ended could not be noted"),
      );
      // A deferral in flight must land before it can be removed.
      await Promise.all(
        [...arrived].flatMap(([event, { deferred }]) =>
          isMeant(event) && deferred !== null ? [deferred] : [],
        ),
      );
      await waiting.endUntaken(isMeant);
    },
    async answer(id, text, signal) {
      const one = [...arrived.values()].find((known) => known.id === id);
      if (one === undefined) throw new Fault("missing", "the interaction is of another process, or too old");
      const said = text === undefined ? null : { content: text, flags: ephemeral };
      if (said !== null && one.deferred === null) {
        one.timer.cancel();
        const told = respond(one, { type: responses.message, data: said });
        one.deferred = told.then(
          () => true,
          () => false,
        );
        await told;
        return;
      }
      if (!(await defer(one))) throw new Fault("missing", "the interaction is over");
      if (said !== null) await followUp(one, { body: said }, signal);
    },
    stop() {
      for (const { timer } of arrived.values()) timer.cancel();
      waiting.stop();
    },
  };
}

/** The text after /new is an event of its own whose id begins with the command's id. */
function answeredBy(events: readonly string[]): (event: string) => boolean {
  return (event) => events.some((id) => id === event || id.startsWith(`${event}/`));
}
