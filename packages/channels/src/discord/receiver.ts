// Receives the events of one Discord account: runs the session with the gateway, queues and reads events, and
// catches up after a gap. `discord.ts` starts and stops it.
import { type Clock, type Ids, type Log, sleep } from "@parley/protocol";
import type { APIInteraction } from "discord-api-types/v10";
import type { WebSocket } from "ws";
import type { Receive } from "../channel.ts";
import type { HealthBoard } from "../health.ts";
import { missedMessages, type Unread } from "./backfill.ts";
import type { Dispatch } from "./connection.ts";
import type { Forms } from "./interactions/forms.ts";
import { keepGateway } from "./gateway.ts";
import { type Accepted, type Intake, intake } from "./intake.ts";
import type { Interactions } from "./interactions/interactions.ts";
import { writtenIn } from "./missed-channels.ts";
import { eventId } from "./normalize.ts";
import type { Places } from "./places.ts";
import { readDispatch } from "./reader.ts";
import type { DiscordRest } from "./rest.ts";
import type { ResumeState, Self } from "./resume-state.ts";
import { isSnowflake } from "./snowflake.ts";

interface ReceiverOptions {
  readonly account: string;
  readonly token: string;
  readonly messageContent: boolean;
  readonly rest: DiscordRest;
  readonly WebSocket: typeof WebSocket;
  readonly places: Places;
  readonly forms: Pick<Forms, "find">;
  readonly interactions: Interactions;
  readonly notes: ResumeState;
  readonly health: HealthBoard;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Ends receiving. */
  readonly signal: AbortSignal;
}

/** Guilds; messages, reactions and polls in them; messages, reactions and polls in private. */
const baseIntents = (1 << 0) | (1 << 9) | (1 << 10) | (1 << 24) | (1 << 12) | (1 << 13) | (1 << 25);
const messageContentIntent = 1 << 15;
/** Wait before a history that could not be read after a gap is tried again. */
const unreadAgainMs = 60_000;
/** READY and GUILD_CREATE of a bot in many servers take a few megabytes. */
const mostFrameBytes = 64 * 1024 * 1024;
const handshakeWithinMs = 15_000;
/** Most unreadable parts that one log line names. */
const mostNamed = 20;
const hiddenContent =
  'messages come without content: open https://discord.com/developers/applications, your application, "Bot", and switch on "Message Content Intent"';

/**
 * Returns a function that receives until the signal aborts and calls `onAttempt` after each attempt to
 * connect.
 */
export function receiver(
  options: ReceiverOptions,
): (receive: Receive, onAttempt: () => void) => Promise<void> {
  const {
    account,
    messageContent,
    rest,
    interactions: pending,
    notes,
    health,
    clock,
    ids,
    log,
    signal,
  } = options;
  const context = { channel: "discord", account };
  let contentIsHidden = false;

  const onAccepted = async ({ dispatches, reads, events, refused }: Accepted): Promise<void> => {
    const hidden = reads.findLast((read) => read.hidden !== undefined)?.hidden;
    if (messageContent && hidden !== undefined && hidden !== contentIsHidden) {
      contentIsHidden = hidden;
      health.set(hidden ? "degraded" : "ok", hidden ? hiddenContent : undefined);
    }
    const told = events.flatMap((event) => ("address" in event ? [event.id] : []));
    const foreign = dispatches.flatMap(interactionIn).filter((id) => !told.includes(id));
    pending.notOurs(foreign);
    await Promise.all([pending.accepted(told, refused), notes.accepted({ dispatches, reads })]);
  };

  /** Nobody waits for these messages any more, so live ones go first. */
  const readLater = async (
    queue: Intake,
    unread: readonly Unread[],
    lastMessageId: string,
    session: Dispatch["session"],
  ): Promise<void> => {
    for (let watched = unread; watched.length > 0;) {
      await sleep(clock, unreadAgainMs, signal);
      if (signal.aborted) return;
      const later = await missedMessages({ rest, watched, lastMessageId, session, clock, ids, log, signal });
      queue.unshift(later.messages);
      watched = later.unread;
    }
  };

  const catchUp = async (
    queue: Intake,
    lastMessageId: string,
    session: Dispatch["session"],
  ): Promise<void> => {
    const release = queue.hold();
    const common = { rest, lastMessageId, session, clock, ids, log, signal };
    try {
      const missed = await missedMessages({ ...common, watched: notes.conversations() });
      queue.unshift(missed.messages);
      release();
      await readLater(queue, missed.unread, lastMessageId, session);
    } finally {
      release();
    }
  };

  /** Messages in a server's channels that nobody had spoken in before the gap. */
  const fromMissedChannels = async (
    dispatch: Dispatch,
    later: (unread: readonly Unread[], lastMessageId: string) => void,
  ): Promise<readonly Dispatch[]> => {
    const gap = notes.gap();
    const written = writtenIn(dispatch, gap);
    if (written === null || gap === undefined) return [];
    const heard = new Set(notes.conversations().map(({ channel }) => channel));
    const watched = written.channels
      .filter((channel) => !heard.has(channel))
      .map((channel) => ({ channel, guild: written.guild, seenAtMs: 0 }));
    if (watched.length === 0) return [];
    const { messages, unread } = await missedMessages({
      rest,
      watched,
      lastMessageId: gap.since,
      overlapMs: 0,
      session: dispatch.session,
      clock,
      ids,
      log,
      signal,
    });
    later(unread, gap.since);
    return messages;
  };

  const interactionIn = ({ event, body }: Dispatch): string[] => {
    const { id } = (body ?? {}) as { readonly id?: unknown };
    return event === "INTERACTION_CREATE" && isSnowflake(id) ? [eventId(context, `i${id}`)] : [];
  };

  /** Called at once, because Discord's three seconds run from now, whatever waits in the queue. */
  const announce = (body: unknown): void => {
    const interaction = body as APIInteraction | null;
    if (isSnowflake(interaction?.id) && typeof interaction.token === "string")
      pending.arrived(interaction, eventId(context, `i${interaction.id}`));
  };

  return async (receive, onAttempt) => {
    const readOne = (dispatch: Dispatch) =>
      readDispatch(dispatch, {
        ...context,
        me: { id: notes.self()?.user ?? "" },
        nowMs: clock.now(),
        places: options.places,
        opensForm: (id) => options.forms.find(id) !== null,
        onLeftOut: (left) =>
          log.warn(
            { event: dispatch.event, count: left.length, left: left.slice(0, mostNamed) },
            "parts of a message could not be read",
          ),
      });
    const read = async (dispatch: Dispatch) => {
      const reads = [await readOne(dispatch)];
      const later = (unread: readonly Unread[], lastMessageId: string): void => {
        if (unread.length > 0) inBackground(readLater(queue, unread, lastMessageId, dispatch.session));
      };
      for (const missed of await fromMissedChannels(dispatch, later)) reads.push(await readOne(missed));
      return reads;
    };
    const queue = intake({ read, receive, onAccepted, health, clock, ids, log, signal });
    let gap: string | null = null;
    const catchingUp = new Set<Promise<void>>();
    const inBackground = (work: Promise<void>): void => {
      const ended = work.catch((error: unknown) =>
        log.error({ error }, "the look for missed messages met a bug"),
      );
      catchingUp.add(ended);
      void ended.finally(() => catchingUp.delete(ended));
    };
    await keepGateway({
      rest,
      open: (url) =>
        new options.WebSocket(url, {
          handshakeTimeout: handshakeWithinMs,
          maxPayload: mostFrameBytes,
          perMessageDeflate: false,
          followRedirects: false,
        }),
      token: options.token,
      intents: baseIntents | (messageContent ? messageContentIntent : 0),
      session: notes.session(),
      identifiedAtMs: notes.identifiedAtMs(),
      onDispatch(dispatch) {
        if (dispatch.event === "INTERACTION_CREATE") announce(dispatch.body);
        if (gap !== null) {
          inBackground(catchUp(queue, gap, dispatch.session));
          gap = null;
        }
        return queue.push(dispatch);
      },
      room: queue.room,
      onIdentified(ready, atMs) {
        notes.identified(selfIn(ready), atMs, ready);
        gap = notes.lastMessageId();
      },
      onAttempt,
      health,
      clock,
      ids,
      log,
      signal,
    });
    await Promise.all(catchingUp);
    await queue.idle();
  };
}

/** The bot's ids from READY; an absent id becomes empty and matches nobody. */
function selfIn(ready: unknown): Self {
  const { user, application } = (ready ?? {}) as {
    readonly user?: { readonly id?: unknown };
    readonly application?: { readonly id?: unknown };
  };
  return {
    user: isSnowflake(user?.id) ? user.id : "",
    application: isSnowflake(application?.id) ? application.id : "",
  };
}
