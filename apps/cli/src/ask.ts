// Says one thing and waits for all that comes back. The gateway keeps the message: one that restarts
// meanwhile is waited for, and asked again under the same key, so that nothing is said twice.
import { sleep, systemClock, systemIds, type ChatMessage } from "@parley/protocol";
import { line, type Console } from "./console.ts";
import type { AttachedFile } from "./attached-files.ts";
import type { ControlClient } from "./control-client.ts";
import { CommandFailure } from "./exit.ts";
import { withGateway } from "./with-gateway.ts";

/** Between two looks at the conversation. */
const lookEveryMs = 250;
/** An answer may have several messages: this many looks without a new one end the wait. */
const quietLooks = 2;
const historyLimit = 200;
/** As long as a restart may drain, and then some. */
const awayMs = 90_000;
const againEveryMs = 1_000;

interface Question {
  readonly said: string;
  readonly files: readonly AttachedFile[];
  readonly thread: string | undefined;
  readonly key: string;
  /** What the conversation had before; null until the gateway was there. */
  since: number | null;
}

/**
 * Empty when the agent chose to be silent. Throws CommandFailure("unavailable") when the gateway does not
 * come back.
 */
export async function ask(
  terminal: Console,
  said: string,
  thread: string | undefined,
  files: readonly AttachedFile[] = [],
): Promise<readonly ChatMessage[]> {
  const clock = systemClock();
  const question: Question = { said, files, thread, key: systemIds().uuid(), since: null };
  let goneAtMono: number | null = null;
  for (;;) {
    try {
      return await withGateway(
        terminal,
        (client) => {
          goneAtMono = null;
          return answersTo(question, client);
        },
        thread === undefined ? {} : { thread },
      );
    } catch (error) {
      if (
        question.since === null ||
        !(error instanceof CommandFailure) ||
        !["unavailable", "timeout"].includes(error.code)
      )
        throw error;
      const nowMono = clock.mono();
      if (goneAtMono === null)
        line(terminal.err, "The gateway went away; what was said is kept. Waiting for it to be back ...");
      goneAtMono ??= nowMono;
      if (nowMono - goneAtMono > awayMs) throw error;
      await sleep(clock, againEveryMs);
    }
  }
}

async function answersTo(question: Question, client: ControlClient): Promise<readonly ChatMessage[]> {
  const clock = systemClock();
  const since = (question.since ??= client.welcome.seq);
  const place = question.thread === undefined ? {} : { thread: question.thread };
  const { id } = await client.request("chat.send", {
    ...place,
    text: question.said,
    ...(question.files.length === 0 ? {} : { files: [...question.files] }),
    idempotencyKey: question.key,
  });
  let quiet = 0;
  let answers: readonly ChatMessage[] = [];
  for (;;) {
    await sleep(clock, lookEveryMs);
    // Asked first: what it ended with then stands in the history already.
    const { now } = await client.request("why", { query: id });
    const { messages, working } = await client.request("chat.history", { ...place, limit: historyLimit });
    const found = messages.filter((message) => message.seq > since && message.role !== "user");
    quiet = working || found.length > answers.length ? 0 : quiet + 1;
    answers = found;
    if (now === null || (answers.length > 0 && quiet >= quietLooks)) return answers;
  }
}
