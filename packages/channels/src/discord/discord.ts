// The Discord channel of one bot account. receiver.ts receives; send.ts and act.ts send.
import { type Clock, Fault, type Ids, type Log, sleep } from "@parley/protocol";
import type { Channel, Suggest } from "../channel.ts";
import { healthBoard } from "../health.ts";
import { performAction } from "./act.ts";
import { discordActions, discordCapabilities } from "./capabilities.ts";
import { tokenInstruction } from "./close-codes.ts";
import { download } from "./download.ts";
import { forms } from "./interactions/forms.ts";
import { interactions } from "./interactions/interactions.ts";
import type { DiscordMemory } from "./memory.ts";
import { places } from "./places.ts";
import { shownTexts } from "../shown-texts.ts";
import { tokenWatch } from "../token-watch.ts";
import { typedCommand } from "./reader.ts";
import { receiver } from "./receiver.ts";
import { discordRest } from "./rest.ts";
import { sendPart, sentSince } from "./send.ts";
import { resumeState } from "./resume-state.ts";

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

/** Longest wait of `start` for the first connection; after it the daemon goes on without. */
const startWithinMs = 5_000;
const typingDeadlineMs = 5_000;
/** Wait between attempts with a refused token. */
const tokenAgainMs = 60_000;

/** Throws Fault("invalid") for options that can never work. Sends nothing before `start`. */
export async function discord(options: DiscordOptions): Promise<Channel> {
  const { account, token, apiRoot = "https://discord.com/api", memory, clock, ids, log } = options;
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
  let suggest: Suggest | null = null;
  const pending = interactions({
    rest,
    memory,
    forms: kept,
    quietCommands: options.quietCommands ?? [],
    suggestions: async (interaction) => {
      const me = { id: notes.self()?.user ?? "" };
      const typed = await typedCommand(interaction, known, {
        channel: "discord",
        account,
        me,
        nowMs: clock.now(),
      });
      return typed === null || suggest === null ? [] : suggest(typed);
    },
    clock,
    log,
  });
  const notes = resumeState(memory, clock, log);
  const sending = {
    rest,
    places: known,
    interactions: pending,
    forms: kept,
    mediaFolder: options.mediaFolder,
    suppressEmbeds: options.suppressEmbeds ?? true,
    self: notes.self,
  };
  const receiveWith = receiver({
    account,
    token,
    messageContent: options.messageContent ?? true,
    rest,
    WebSocket,
    places: known,
    forms: kept,
    interactions: pending,
    notes,
    health,
    clock,
    ids,
    log,
    signal,
  });
  let receiving: Promise<void> | null = null;
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
      // Nobody waits at the start for a token or an intent that was refused.
      if (state === "down") throw new Fault("denied", reason ?? "Discord refuses this account");
    },
    suggestsWith(by) {
      suggest = by;
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
