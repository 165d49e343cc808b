// The Discord channel of one bot account. gateway.ts, intake.ts and backfill.ts receive; send.ts and act.ts
// send.
import { type Clock, Fault, type Ids, type Log, sleep } from "@parley/protocol";
import type { APIInteraction } from "discord-api-types/v10";
import type { Channel, Receive } from "../channel.ts";
import { healthBoard } from "../health.ts";
import { performAction } from "./act.ts";
import { missedMessages } from "./backfill.ts";
import { discordActions, discordCapabilities } from "./capabilities.ts";
import { tokenInstruction } from "./close-codes.ts";
import type { Dispatch } from "./connection.ts";
import { download } from "./download.ts";
import { keepGateway } from "./gateway.ts";
import { forms } from "./forms.ts";
import { type Accepted, type Intake, intake } from "./intake.ts";
import { interactions } from "./interactions.ts";
import type { DiscordMemory } from "./memory.ts";
import { eventId } from "./normalize.ts";
import { places } from "./places.ts";
import { shownTexts } from "../shown-texts.ts";
import { tokenWatch } from "../token-watch.ts";
import { readDispatch } from "./reader.ts";
import { discordRest } from "./rest.ts";
import { sendPart, sentSince } from "./send.ts";
import { isSnowflake } from "./snowflake.ts";
import { writtenIn } from "./missed-channels.ts";
import { type Self, watch } from "./resume-state.ts";

export interface DiscordOptions {
  readonly account: string;
  /** The bot's token from the developer portal. */
  readonly token: string;
  /** Root of another API server, which also names the gateway's address; default is Discord's. */
  readonly apiRoot?: string;
  /** Folder that `MediaFile.path` is relative to. */
  readonly mediaFolder: string;
  /**
   * True to ask for the privileged message content intent. Without it Discord shows the bot only direct
   * messages and mentions. Default: true.
   */
  readonly messageContent?: boolean;
  /** True to show links without previews. Default: true. */
  readonly suppressEmbeds?: boolean;
  /**
   * Slash commands that only report something: in a server only the person who gave one sees its answer.
   * Default: none.
   */
  readonly quietCommands?: readonly string[];
  readonly memory: DiscordMemory;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** GUILDS, GUILD_MESSAGES, GUILD_MESSAGE_REACTIONS, DIRECT_MESSAGES, DIRECT_MESSAGE_REACTIONS. */
const baseIntents = (1 << 0) | (1 << 9) | (1 << 10) | (1 << 12) | (1 << 13);
const messageContentIntent = 1 << 15;
/** Longest wait of `start` for the first connection; after it the daemon goes on without. */
const startWithinMs = 5_000;
const typingDeadlineMs = 5_000;
/** Wait before a history that could not be read after a gap is tried again. */
const unreadAgainMs = 60_000;
/** READY and GUILD_CREATE of a bot in many servers take a few megabytes. */
const mostFrameBytes = 64 * 1024 * 1024;
/** Wait between attempts with a refused token. */
const tokenAgainMs = 60_000;
const handshakeWithinMs = 15_000;
/** Most unreadable parts that one log line names. */
const mostNamed = 20;
const hiddenContent =
  'messages come without content: open https://discord.com/developers/applications, your application, "Bot", and switch on "Message Content Intent"';

/** Throws Fault("invalid") for options that can never work. Sends nothing before `start`. */
export async function discord(options: DiscordOptions): Promise<Channel> {
  const {
    account,
    token,
    apiRoot = "https://discord.com/api",
    messageContent = true,
    memory,
    clock,
    ids,
    log,
  } = options;
  if (!/^\S+$/.test(token))
    throw new Fault("invalid", `the token of Discord account "${account}" is empty or has spaces in it`);
  const ending = new AbortController();
  const { signal } = ending;
  const tokens = tokenWatch({
    ask: (giveUp) => rest.call({ method: "GET", route: "/users/@me", signal: giveUp }),
    everyMs: tokenAgainMs,
    clock,
    log,
    signal,
  });
  const onToken = {
    accepted: tokens.accepted,
    refused: (why: string) => tokens.refused(`${tokenInstruction} (${why})`),
  };
  const [rest, { WebSocket }] = await Promise.all([
    discordRest({ token, apiRoot, onToken, clock }),
    import("ws"),
  ]);
  const health = healthBoard(clock, log);
  const known = places(rest, () => clock.mono());
  const kept = forms(memory, log);
  const shown = shownTexts();
  const pending = interactions({
    rest,
    memory,
    forms: kept,
    quietCommands: options.quietCommands ?? [],
    clock,
    log,
  });
  const notes = watch(memory, clock, log);
  const sending = {
    rest,
    places: known,
    interactions: pending,
    forms: kept,
    mediaFolder: options.mediaFolder,
    suppressEmbeds: options.suppressEmbeds ?? true,
    self: notes.self,
  };
  let receiving: Promise<void> | null = null;
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
      // Nobody waits for these messages any more, so live ones go first.
      for (let left = missed.unread; left.length > 0;) {
        await sleep(clock, unreadAgainMs, signal);
        if (signal.aborted) return;
        const later = await missedMessages({ ...common, watched: left });
        queue.unshift(later.messages);
        left = later.unread;
      }
    } catch (error) {
      log.error({ error }, "the look for missed messages met a bug");
    } finally {
      release();
    }
  };

  /** Messages in a server's channels that nobody had spoken in before the gap. */
  const unheard = async (dispatch: Dispatch): Promise<readonly Dispatch[]> => {
    const gap = notes.gap();
    const written = writtenIn(dispatch, gap);
    if (written === null || gap === undefined) return [];
    const heard = new Set(notes.conversations().map(({ channel }) => channel));
    const watched = written.channels
      .filter((channel) => !heard.has(channel))
      .map((channel) => ({ channel, guild: written.guild, seenAtMs: 0 }));
    if (watched.length === 0) return [];
    const { messages } = await missedMessages({
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
    return messages;
  };

  const receiveWith = async (receive: Receive, onAttempt: () => void): Promise<void> => {
    const context = { channel: "discord", account };
    const readOne = (dispatch: Dispatch) =>
      readDispatch(dispatch, {
        ...context,
        me: { id: notes.self()?.user ?? "" },
        nowMs: clock.now(),
        places: known,
        opensForm: (id) => kept.find(id) !== null,
        onLeftOut: (left) =>
          log.warn(
            { event: dispatch.event, count: left.length, left: left.slice(0, mostNamed) },
            "parts of a message could not be read",
          ),
      });
    const read = async (dispatch: Dispatch) => {
      const reads = [await readOne(dispatch)];
      for (const missed of await unheard(dispatch)) reads.push(await readOne(missed));
      return reads;
    };
    const queue = intake({ read, receive, onAccepted, health, clock, ids, log, signal });
    let gap: string | null = null;
    const catchingUp = new Set<Promise<void>>();
    await keepGateway({
      rest,
      open: (url) =>
        new WebSocket(url, {
          handshakeTimeout: handshakeWithinMs,
          maxPayload: mostFrameBytes,
          perMessageDeflate: false,
          followRedirects: false,
        }),
      token,
      intents: baseIntents | (messageContent ? messageContentIntent : 0),
      session: notes.session(),
      identifiedAtMs: notes.identifiedAtMs(),
      onDispatch(dispatch) {
        if (dispatch.event === "INTERACTION_CREATE") announce(dispatch.body, context);
        if (gap !== null) {
          const work = catchUp(queue, gap, dispatch.session);
          gap = null;
          catchingUp.add(work);
          void work.finally(() => catchingUp.delete(work));
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

  const interactionIn = ({ event, body }: Dispatch): string[] => {
    const { id } = (body ?? {}) as { readonly id?: unknown };
    return event === "INTERACTION_CREATE" && isSnowflake(id)
      ? [eventId({ channel: "discord", account }, `i${id}`)]
      : [];
  };

  /** Called at once, because Discord's three seconds run from now, whatever waits in the queue. */
  const announce = (body: unknown, context: { readonly channel: string; readonly account: string }): void => {
    const interaction = body as APIInteraction | null;
    if (isSnowflake(interaction?.id) && typeof interaction.token === "string")
      pending.arrived(interaction, eventId(context, `i${interaction.id}`));
  };

  return {
    name: "discord",
    account,
    capabilities: discordCapabilities,
    actions: discordActions,
    async start(receive) {
      if (receiving !== null || signal.aborted)
        throw new Fault("invalid", `Discord account "${account}" was started before: make a new channel`);
      await Promise.all([notes.load(), pending.load(), kept.load()]);
      for (const { user, channel } of notes.conversations())
        if (user !== undefined) known.learnDirect(user, channel);
      const attempted = Promise.withResolvers<void>();
      receiving = receiveWith(receive, attempted.resolve);
      const timeouts = new AbortController();
      await Promise.race([
        attempted.promise,
        sleep(clock, startWithinMs, AbortSignal.any([timeouts.signal, signal])),
        receiving,
      ]);
      timeouts.abort();
      const { state, reason } = health.read();
      // A network that is down may come back; a refused token or intent will not.
      if (state === "down") throw new Fault("denied", reason ?? "Discord refuses this account");
    },
    async stop() {
      ending.abort();
      await receiving;
      pending.stop();
      rest.close();
      if (health.read().state !== "stopped") health.set("stopped");
    },
    health: () => tokens.over(health.read()),
    async send(to, part, how) {
      const receipt = await sendPart(sending, to, part, how);
      if (part.kind === "text") shown.now(to, receipt.messageId, part, part.buttons);
      return receipt;
    },
    sentSince: (to, part, sinceMs, giveUp) => sentSince(sending, to, part, sinceMs, giveUp),
    act: (to, action, how) => {
      const perform = () => performAction(sending, to, action, how.signal);
      return action.kind === "edit" ? shown.edit(to, action, perform) : perform();
    },
    settle: pending.settle,
    async typing(to) {
      const giveUp = new AbortController();
      const timer = clock.after(typingDeadlineMs, () => giveUp.abort());
      try {
        await rest.call({
          method: "POST",
          route: `/channels/${await known.target(to, giveUp.signal)}/typing`,
          signal: giveUp.signal,
        });
      } finally {
        timer.cancel();
      }
    },
    download: async (ref, limitBytes, giveUp) => ({
      bytes: await download(rest, apiRoot, ref, limitBytes, giveUp),
    }),
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
