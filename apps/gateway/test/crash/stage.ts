// One daemon between the fakes, one person on Telegram, one at the web page and, where a test asks for it,
// one on Discord, and the ways to end it. What every crash test stands on.
import type { ApiCall, FakeDiscord, ModelCall, ModelAnswer } from "@parley/testkit";
import { eventually, type Daemon } from "../e2e/daemon.ts";
import { world, type World } from "../e2e/world.ts";
import { discordSide, type DiscordSide } from "./discord-side.ts";
import { answerTo, judge, said, type Verdict } from "./said.ts";
import { freeze, lookAt, type StoreLook } from "./store-look.ts";
import { webPerson, type WebPerson } from "./web-person.ts";

export type Medium = "telegram" | "discord" | "web";

export interface StageOptions {
  /** State folder; a fresh one when left out. */
  readonly home?: string;
  readonly telegram?: object;
  /** There is a Discord only when this is given: it slows each start down. */
  readonly discord?: object;
  readonly config?: object;
}

export interface Stage {
  readonly w: World;
  readonly web: WebPerson;
  /** Throws unless the stage was made with it. */
  readonly discord: FakeDiscord;
  readonly daemon: Daemon;
  /** Starts the daemon, on the same home every time. */
  start(under?: readonly string[]): Promise<Daemon>;
  /** kill -9, and what was frozen is let go. */
  kill(): Promise<void>;
  /** Another process takes the write lock: the next commit cannot happen. */
  freeze(): void;
  thaw(): void;
  /** The next message in this medium: m1, m2, … On the web it is not waited for. */
  says(medium: Medium): void;
  /** Answers the next request itself; all others are answered as usual. */
  onModel(respond: (call: ModelCall) => ModelAnswer | Promise<ModelAnswer>): void;
  /**
   * Resolves with the nth call of a method of Telegram, or of a route of Discord, once it has arrived at the
   * fake.
   */
  called(method: string, nth: number): Promise<Pick<ApiCall, "acted">>;
  /** Waits until everything that was said is answered and nothing moves any more. */
  quiet(medium: Medium, withinMs?: number): Promise<void>;
  texts(medium: Medium): readonly string[];
  verdict(medium: Medium): Verdict;
  /** Messages that were said there. */
  count(medium: Medium): number;
  /** Stops the daemon in order and reads what it left. Throws unless it exits with 0. */
  end(): Promise<StoreLook>;
  close(): Promise<void>;
}

const chat = 4242;
/** Long enough for a repeat that is on its way to show. */
const stillMs = 250;

export async function stage(options: StageOptions = {}): Promise<Stage> {
  const w = await world(options.telegram);
  const side = options.discord === undefined ? null : await discordSide(options.discord);
  const web = webPerson("web-alice");
  const alice = w.telegram.as({ id: chat, name: "Alice" });
  const dora = side?.speaker("4343", "private");
  const count = { telegram: 0, discord: 0, web: 0 };
  let daemon: Daemon | null = null;
  let { home } = options;
  let thaw = (): void => {};
  let special: ((call: ModelCall) => ModelAnswer | Promise<ModelAnswer>) | null = null;
  w.models.reply((call) => {
    const respond = special ?? answerTo;
    special = null;
    return respond(call);
  });

  const running = (): Daemon => {
    if (daemon === null) throw new Error("the daemon was not started");
    return daemon;
  };
  const onDiscord = <T>(there: T | undefined | null): T => {
    if (there === undefined || there === null)
      throw new Error("this stage has no Discord: say so when it is made");
    return there;
  };
  const texts = (medium: Medium): readonly string[] => {
    if (medium === "web") return web.heard();
    if (medium === "discord") return onDiscord(dora).texts();
    return count.telegram === 0 ? [] : w.answers(chat).map((message) => message.text);
  };

  return {
    w,
    web,
    get daemon() {
      return running();
    },
    get discord() {
      return onDiscord(side).discord;
    },
    async start(under) {
      daemon = await w.start({
        ...(home === undefined ? {} : { home }),
        ...(under === undefined ? {} : { under }),
        config: {
          agents: { defaults: { model: { primary: "fake/m1" } } },
          ...options.config,
          ...channelsWith(w, side),
        },
      });
      ({ home } = daemon);
      web.meets(daemon);
      // What is said before the bot ever was there, Discord tells nobody.
      await Promise.race([side?.live(), daemon.exited]);
      return daemon;
    },
    async kill() {
      running().kill("SIGKILL");
      await running().exited;
      thaw();
      w.telegram.heal();
      side?.discord.heal();
    },
    freeze() {
      thaw = freeze(running().home);
    },
    thaw: () => thaw(),
    says(medium) {
      count[medium] += 1;
      if (medium === "telegram") alice.says(said(count.telegram));
      else if (medium === "discord") onDiscord(dora).say(said(count.discord));
      else void web.says(said(count.web)).catch(() => {}); // The page was closed before it was acknowledged.
    },
    onModel(respond) {
      special = respond;
    },
    called(method, nth) {
      const calls = () =>
        method.includes(" /") ? onDiscord(side).discord.calls(method) : w.telegram.calls(method);
      return eventually(() => calls()[nth - 1], 20_000, `${method} number ${nth}`);
    },
    async quiet(medium, withinMs = 30_000) {
      await eventually(
        () => judge(texts(medium), count[medium]).lost.length === 0,
        withinMs,
        `an answer to each of ${count[medium]} messages (${medium}: ${JSON.stringify(texts(medium))})`,
      );
      await new Promise((resolve) => setTimeout(resolve, stillMs));
    },
    texts,
    count: (medium) => count[medium],
    verdict: (medium) => judge(texts(medium), count[medium]),
    async end() {
      const code = await running().stop();
      if (code !== 0) throw new Error(`the daemon stopped with ${code}\n${running().log()}`);
      return lookAt(running().home);
    },
    async close() {
      web.close();
      thaw();
      await Promise.all([w.close(), side?.close()]);
    },
  };
}

function channelsWith(w: World, side: DiscordSide | null): object {
  return side === null ? {} : { channels: { ...(w.config["channels"] as object), discord: side.config } };
}
