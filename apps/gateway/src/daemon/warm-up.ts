// Warms what the first message after a start needs, while nobody waits: the newest session's prompt with its
// tools, and each channel's way of writing. It writes and sends nothing, and leaves the loop free
// between two pieces. A failure stays for the message that meets it, which can tell somebody.
import type { Channel } from "@parley/channels";
import { channelRender } from "@parley/delivery";
import type { Clock, Log } from "@parley/protocol";
import { promptNow, type PromptPorts } from "../operator/agent/prompt.ts";

export interface WarmUpOptions {
  readonly prompt: PromptPorts;
  readonly channels: readonly Channel[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Has a paragraph, a list, a table and code, as answers do. */
const answer =
  "**Hello**, _you_: [a link](https://example.org)\n\n- `one`\n- two\n\n| a |\n| - |\n| b |\n\n```\ncode\n```\n";

/** Returns how to stop it. */
export function warmUp({ prompt, channels, clock, log }: WarmUpOptions): () => void {
  const { sessionOf, ofSession } = promptNow(prompt);
  const pieces: readonly (() => unknown)[] = [
    async () => ofSession(await sessionOf(undefined)),
    ...channels.map(
      (channel) => () =>
        channelRender({ v: 1, kind: "reply", parts: [{ kind: "text", markdown: answer }] }, channel, 0),
    ),
  ];
  let stopped = false;
  const next = async (at: number): Promise<void> => {
    const piece = pieces[at];
    if (stopped || piece === undefined) return;
    try {
      await piece();
    } catch (error) {
      log.debug({ error }, "what the first message needs is not warm");
    }
    timer = clock.after(0, () => void next(at + 1));
  };
  let timer = clock.after(0, () => void next(0));
  return () => {
    stopped = true;
    timer.cancel();
  };
}
