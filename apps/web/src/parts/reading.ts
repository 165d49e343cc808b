// Keeps what a page shows fresh: reads it when the page opens, again every few seconds while somebody looks,
// and at once when the line is back. What was read stays on the page when a reading fails.
import type { ReactiveController } from "lit";
import type { Timer } from "@parley/protocol";
import { RequestFailure } from "../session/link.ts";
import { t } from "../texts/texts.ts";
import type { Console } from "./console.ts";

interface Host {
  readonly console: Console;
  addController(controller: ReactiveController): void;
  requestUpdate(): void;
}

export class Reading<T> implements ReactiveController {
  /** Null until the first answer. */
  value: T | null = null;
  /** Why the last reading failed; null when it did not. */
  trouble: string | null = null;
  readonly #host: Host;
  readonly #read: () => Promise<T>;
  readonly #everyMs: number;
  readonly #of: () => string;
  #ofBefore = "";
  #timer: Timer | null = null;
  #round = 0;
  #quit: () => void = () => {};
  #wasOnline = false;
  #isThere = false;

  /** `of` names what is read: when it becomes another, what was read goes, and the other is read at once. */
  constructor(host: Host, read: () => Promise<T>, everyMs = 5_000, of: () => string = () => "") {
    this.#host = host;
    this.#read = read;
    this.#everyMs = everyMs;
    this.#of = of;
    host.addController(this);
  }

  hostConnected(): void {
    this.#isThere = true;
    this.#quit = this.#host.console.onChange(() => {
      const isOnline = this.#host.console.chat.connection.kind === "online";
      if (isOnline && !this.#wasOnline) void this.again();
      this.#wasOnline = isOnline;
    });
    this.#wasOnline = this.#host.console.chat.connection.kind === "online";
    this.#isOther();
    if (this.#wasOnline) void this.again();
  }

  hostUpdate(): void {
    if (this.#isOther()) void this.again();
  }

  hostDisconnected(): void {
    this.#isThere = false;
    this.#quit();
    this.#timer?.cancel();
    this.#round += 1;
  }

  /** Reads now: what was asked before is not waited for. */
  async again(): Promise<void> {
    // A page that was left is read when somebody comes back.
    if (!this.#isThere) return;
    this.#timer?.cancel();
    const round = (this.#round += 1);
    try {
      const value = await this.#read();
      if (round !== this.#round) return;
      this.value = value;
      this.trouble = null;
    } catch (error) {
      if (round !== this.#round) return;
      this.trouble = wordsOf(error);
    }
    this.#host.requestUpdate();
    this.#later();
  }

  #isOther(): boolean {
    const of = this.#of();
    if (of === this.#ofBefore) return false;
    this.#ofBefore = of;
    this.value = null;
    this.trouble = null;
    return true;
  }

  #later(): void {
    this.#timer = this.#host.console.clock.after(this.#everyMs, () => {
      if (document.visibilityState === "visible") void this.again();
      else this.#later();
    });
  }
}

export function wordsOf(error: unknown): string {
  if (error instanceof RequestFailure)
    return error.code !== "closed" ? error.message : error.wasSent ? t.reading.lost : t.reading.offline;
  throw error;
}
