// Reads what the chat page shows beside the messages themselves: the conversations, the tools at work, the
// models and the canvases. Events say when something changed, and a look every few seconds finds what they
// missed.
import { sleep, type MethodResult, type Timer } from "@parley/protocol";
import type { ReactiveController } from "lit";
import type { Page } from "../../parts/page.ts";
import { Reading } from "../../parts/reading.ts";
import type { Children } from "../child-rows.ts";
import type { Thread } from "./thread-list.ts";
import type { ToolCall } from "./tool-card.ts";

const lookAgainMs = 5_000;
const spawnedEveryMs = 3_000;
/** Whoever writes pauses for longer. */
const typedMs = 200;
/** Calls that are shown, with the beginning of what they were asked and gave back. */
const [mostCalls, briefChars] = [400, 400];
/** While calls begin and end all the time, they are asked for so often. */
const betweenStepsMs = 250;
/** As many conversations as the gateway gives at once. */
const mostAtOnce = 1_000;
const modelsEveryMs = 60_000;
const canvasEveryMs = 10_000;

interface Steps extends Pick<MethodResult<"chat.steps">, "calls" | "waiting"> {
  /** The conversation that they belong to. */
  readonly thread: string | null;
}

interface Threads {
  readonly threads: readonly Thread[];
  /** Older ones, which are not among them. */
  readonly left: number;
}

/** What the list of conversations shows. */
interface ThreadsShown {
  /** At most so many. */
  readonly most: number;
  /** With these words. */
  readonly filter: string;
}

interface Spawned {
  /** The conversation whose sub-agents they are. */
  readonly thread: string | null;
  readonly children: Children;
}

/** One that nobody has written to yet. */
const unwritten: Omit<Thread, "thread"> = {
  sessionKey: "",
  name: null,
  title: null,
  pinned: false,
  text: "",
  seq: 0,
  atMs: null,
  working: false,
};

/** A gateway of another version, kept open over an update, may answer less; the conversation stays usable. */
export class ChatReadings implements ReactiveController {
  readonly threads: Reading<Threads>;
  /** Those that are looked for, where not all are listed; null while nobody looks. */
  readonly found: Reading<Threads | null>;
  readonly steps: Reading<Steps>;
  readonly spawned: Reading<Spawned>;
  readonly models: Reading<readonly string[]>;
  /** Keys of the sessions that show one. */
  readonly canvases: Reading<ReadonlySet<string>>;
  readonly #page: Page;
  #quits: (() => void)[] = [];
  /** One reading of the calls is under way, and another one is wanted after it. */
  #reading = false;
  #wanted = false;

  readonly #shown: () => ThreadsShown;
  #look: Timer | null = null;

  constructor(page: Page, shown: () => ThreadsShown) {
    this.#page = page;
    this.#shown = shown;
    page.addController(this);
    this.threads = new Reading(page, () => this.#readThreads(), lookAgainMs);
    this.found = new Reading(page, () => this.#findThreads(), lookAgainMs);
    this.steps = new Reading(page, () => this.#readSteps(), lookAgainMs);
    // Asked for by a session's key, which the list tells.
    this.spawned = new Reading(
      page,
      () => this.#readSpawned(),
      spawnedEveryMs,
      () => this.current.sessionKey,
    );
    this.models = new Reading(page, () => this.#readModels(), modelsEveryMs);
    this.canvases = new Reading(page, () => this.#readCanvases(), canvasEveryMs);
  }

  hostConnected(): void {
    const { console } = this.#page;
    const again = (): void => void this.#stepsAgain();
    this.#quits = [
      console.on("chat.tool", again),
      console.on("chat.typing", () => {
        again();
        void this.spawned.again();
        void this.canvases.again();
      }),
      console.on("chat.message", () => {
        again();
        void this.threads.again();
      }),
    ];
  }

  hostDisconnected(): void {
    for (const quit of this.#quits) quit();
  }

  /** The conversation that is open; one that nobody has written to yet is none of the list. */
  get current(): Thread {
    const thread = this.#page.address.rest[0] ?? null;
    return this.threads.value?.threads.find((each) => each.thread === thread) ?? { ...unwritten, thread };
  }

  /** Somebody writes what they look for: it is asked for when they pause. */
  look(): void {
    this.#look?.cancel();
    this.#look = this.#page.console.clock.after(typedMs, () => void this.found.again());
  }

  get #here(): { readonly thread?: string } {
    const thread = this.#page.address.rest[0];
    return thread === undefined ? {} : { thread };
  }

  async #findThreads(): Promise<Threads | null> {
    const { filter, most } = this.#shown();
    const find = filter.trim();
    if (find === "" || (this.threads.value?.left ?? 0) === 0) return null;
    const asked = { find, limit: Math.min(mostAtOnce, most) };
    const { threads, left } = await this.#page.console.call("chat.threads", asked);
    return { threads: threads ?? [], left: left ?? 0 };
  }

  async #readThreads(): Promise<Threads> {
    const limit = Math.min(mostAtOnce, this.#shown().most);
    const { threads, left } = await this.#page.console.call("chat.threads", { ...this.#here, limit });
    return { threads: threads ?? [], left: left ?? 0 };
  }

  /** Of a conversation that was turned to. */
  turn(): void {
    // One that is not among the newest is listed while it is open.
    const { thread = null } = this.#here;
    if (this.threads.value?.threads.every((each) => each.thread !== thread)) void this.threads.again();
    void this.steps.again();
  }

  /** Hundreds of calls may begin and end in a second: one is asked for after the other. */
  async #stepsAgain(): Promise<void> {
    this.#wanted = true;
    if (this.#reading) return;
    this.#reading = true;
    const { clock } = this.#page.console;
    while (this.#wanted) {
      this.#wanted = false;
      await this.steps.again();
      if (this.#wanted) await sleep(clock, betweenStepsMs);
    }
    this.#reading = false;
  }

  /** All that a call was asked and gave back; null when it is known no more. */
  async whole(call: string): Promise<ToolCall | null> {
    const { calls } = await this.#page.console.call("chat.steps", { ...this.#here, call, limit: 1 });
    return calls?.find(({ id }) => id === call) ?? null;
  }

  async #readSteps(): Promise<Steps> {
    const thread = this.#page.address.rest[0] ?? null;
    const { call } = this.#page.console;
    const asked = { ...this.#here, limit: mostCalls, chars: briefChars };
    const steps: Partial<Omit<Steps, "thread">> = await call("chat.steps", asked);
    const { calls = [], waiting = [] } = steps;
    return { thread, calls, waiting };
  }

  async #readSpawned(): Promise<Spawned> {
    const thread = this.#page.address.rest[0] ?? null;
    const key = this.current.sessionKey;
    // A session that nobody has written to yet is none.
    const tree =
      key === "" ? null : await this.#page.console.call("sessions.tree", { key }).catch(() => null);
    const children = tree?.sessions?.filter(({ depth }) => depth > 0) ?? [];
    return { thread, children };
  }

  async #readModels(): Promise<readonly string[]> {
    const { models } = await this.#page.console.call("models.list", {});
    return (models ?? []).filter(({ trouble }) => trouble === null).map(({ id }) => id);
  }

  async #readCanvases(): Promise<ReadonlySet<string>> {
    const { canvases } = await this.#page.console.call("canvas.list", {});
    return new Set((canvases ?? []).filter(({ shown }) => shown).map(({ session }) => session));
  }
}
