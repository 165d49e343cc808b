// Defines a test's controls over the fake Telegram: play people, break calls, read what people would see.
import type { FaultRule } from "../faults.ts";
import type { Person } from "./person.ts";
import type { Update, UpdateQueue } from "./queue.ts";
import type { ApiCall } from "./server.ts";
import type { VisibleMessage } from "./visible.ts";
import type { Chat } from "./world.ts";

interface FakeBot {
  readonly token: string;
  readonly id: number;
  readonly username: string;
  readonly queue: UpdateQueue;
  /** The menu that setMyCommands left. */
  commands(): readonly unknown[];
  webhook(): { readonly url: string; readonly secret: string | undefined } | null;
  /** Answers given to callback queries, by query id. */
  callbackAnswer(callbackId: string): { readonly text?: string } | undefined;
  /** Puts an update into the queue as it is. */
  push(update: Update): void;
}

export interface GroupOptions {
  readonly id?: number;
  readonly title?: string;
  readonly type?: "group" | "supergroup" | "channel";
  readonly isForum?: boolean;
}

export interface FakeTelegram {
  /** The address that a client uses for api.telegram.org. */
  readonly url: string;
  /**
   * The bot of this token, made on first use. Everything a person does privately reaches the first bot unless
   * `as` names another.
   */
  bot(token?: string, username?: string): FakeBot;
  /** Makes a group; returns its id. */
  group(options?: GroupOptions): number;
  /** Makes a topic in a forum; returns its thread id. */
  topic(chat: number, name: string): number;
  /** Changes a chat's rules: who may write, where it moved. */
  chat(id: number): Pick<Chat, "barred" | "muted" | "lacks" | "takenReactions" | "upgradedTo" | "topics">;
  /** Moves a group to a new supergroup with both service messages; returns the new id. */
  upgrade(chat: number): number;
  as(
    user:
      | number
      | { readonly id: number; readonly name?: string; readonly username?: string; readonly isBot?: boolean },
    token?: string,
  ): Person;
  calls(method?: string): readonly ApiCall[];
  visible(chat: number, thread?: number): readonly VisibleMessage[];
  /** The client's mistakes; a test of a good client ends with this empty. */
  violations(): readonly string[];
  inject(rule: FaultRule): void;
  /** Forgets all fault rules. */
  heal(): void;
  close(): Promise<void>;
}
