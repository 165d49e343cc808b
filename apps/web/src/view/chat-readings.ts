// Reads what the chat page shows beside the messages themselves: the conversations, the tools at work, the
// models and the canvases. Events say when something changed, and a look every few seconds finds what they
// missed.
import type { MethodResult } from "@parley/protocol";
import type { ReactiveController } from "lit";
import type { Page } from "../parts/page.ts";
import { Reading } from "../parts/reading.ts";
import type { Children } from "./chat-head.ts";
import type { Thread } from "./thread-list.ts";

const lookAgainMs = 5_000;
const modelsEveryMs = 60_000;
const canvasEveryMs = 10_000;

interface Steps extends Pick<MethodResult<"chat.steps">, "calls" | "waiting"> {
  /** The conversation that they belong to. */
  readonly thread: string | null;
  readonly children: Children;
}

/** A gateway of another version, kept open over an update, may answer less; the conversation stays usable. */
export class ChatReadings implements ReactiveController {
  readonly threads: Reading<{ readonly threads: readonly Thread[] }>;
  readonly steps: Reading<Steps>;
  readonly models: Reading<readonly string[]>;
  /** Keys of the sessions that show one. */
  readonly canvases: Reading<ReadonlySet<string>>;
  readonly #page: Page;
  #quits: (() => void)[] = [];

  constructor(page: Page) {
    this.#page = page;
    page.addController(this);
    this.threads = new Reading(page, () => this.#readThreads(), lookAgainMs);
    this.steps = new Reading(page, () => this.#readSteps(), lookAgainMs);
    this.models = new Reading(page, () => this.#readModels(), modelsEveryMs);
    this.canvases = new Reading(page, () => this.#readCanvases(), canvasEveryMs);
  }

  hostConnected(): void {
    const { console } = this.#page;
    const again = (): void => void this.steps.again();
    this.#quits = [
      console.on("chat.tool", again),
      console.on("chat.typing", () => {
        again();
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

  async #readThreads(): Promise<{ readonly threads: readonly Thread[] }> {
    const { threads } = await this.#page.console.call("chat.threads", {});
    return { threads: threads ?? [] };
  }

  async #readSteps(): Promise<Steps> {
    const thread = this.#page.address.rest[0] ?? null;
    const { call } = this.#page.console;
    const steps: Partial<Omit<Steps, "thread">> = await call("chat.steps", thread === null ? {} : { thread });
    const { calls = [], waiting = [] } = steps;
    const key = this.threads.value?.threads.find((each) => each.thread === thread)?.sessionKey;
    // A session that nobody has written to yet is none.
    const tree = key === undefined ? null : await call("sessions.tree", { key }).catch(() => null);
    return { thread, calls, waiting, children: tree?.sessions?.filter(({ depth }) => depth > 0) ?? [] };
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
