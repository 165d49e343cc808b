// `parley chat`: talks to the agent. On a terminal a conversation that streams; with piped input one message, its answer, and out.
import { text as readAll } from "node:stream/consumers";
import { createInterface } from "node:readline/promises";
import { sleep, systemClock, systemIds, type ChatMessage } from "@parley/protocol";
import { harmless, line, styled, type Console } from "../console.ts";
import type { ControlClient } from "../control-client.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { liveText } from "../live-text.ts";
import { withGateway } from "../with-gateway.ts";

export interface ChatOptions {
  readonly thread?: string;
}

export function chat(terminal: Console, { thread }: ChatOptions): Promise<ExitCode> {
  const talk = terminal.input.isTTY === true && !terminal.json ? converse : askOnce;
  return withGateway(terminal, (client) => talk(terminal, client, thread === undefined ? {} : { thread }), thread);
}

interface Place {
  readonly thread?: string;
}

async function converse(terminal: Console, client: ControlClient, place: Place): Promise<ExitCode> {
  const { input, out, err, env } = terminal;
  const answer = liveText(out);
  client.on("chat.delta", ({ text }) => answer.show(text));
  client.on("chat.message", ({ role, text }) => {
    if (role !== "user") answer.settle(text);
  });
  line(err, styled(err, env, "dim", "Talk to the agent. /stop ends its work, Ctrl-D leaves."));
  const lines = createInterface({ input, output: out, prompt: "" });
  const hangUps: CommandFailure[] = [];
  void client.closed.then((failure) => {
    hangUps.push(failure);
    lines.close();
  });
  for await (const said of lines) {
    if (said.trim() === "") continue;
    await client.request("chat.send", { ...place, text: said, idempotencyKey: systemIds().uuid() }).catch((error: unknown) => {
      // One refused message does not end the conversation.
      line(err, styled(err, env, "red", error instanceof Error ? error.message : String(error)));
    });
  }
  const [failure] = hangUps;
  if (failure !== undefined) throw failure;
  return exitCodes.ok;
}

/** Between two looks at the conversation. */
const lookEveryMs = 250;
/** An answer may have several messages: this many looks without a new one end the wait. */
const quietLooks = 2;
/** The turn ended and nothing came: the agent chose to be silent. */
const silentLooks = 20;
const historyLimit = 200;

/** Says one thing and prints what comes back. */
export function send(terminal: Console, words: string, flags: { readonly thread?: string; readonly wait?: boolean }): Promise<ExitCode> {
  const place = flags.thread === undefined ? {} : { thread: flags.thread };
  const said = words.trim();
  if (said === "") throw new CommandFailure("invalid", "There is nothing to send: the text is empty.", exitCodes.usage);
  const work = async (client: ControlClient): Promise<ExitCode> => {
    if (flags.wait !== false) return ask(terminal, client, place, said);
    const sent = await client.request("chat.send", { ...place, text: said, idempotencyKey: systemIds().uuid() });
    line(terminal.out, terminal.json ? JSON.stringify(sent) : sent.id);
    return exitCodes.ok;
  };
  return withGateway(terminal, work, flags.thread);
}

async function askOnce(terminal: Console, client: ControlClient, place: Place): Promise<ExitCode> {
  const said = (await readAll(terminal.input)).trim();
  if (said === "") throw new CommandFailure("invalid", "There is nothing to send: standard input is empty.", exitCodes.usage);
  return ask(terminal, client, place, said);
}

async function ask(terminal: Console, client: ControlClient, place: Place, said: string): Promise<ExitCode> {
  const since = client.welcome.seq;
  await client.request("chat.send", { ...place, text: said, idempotencyKey: systemIds().uuid() });
  const answers = await answersAfter(client, place, since);
  if (terminal.json) line(terminal.out, JSON.stringify({ messages: answers }));
  else for (const { text } of answers) line(terminal.out, harmless(text));
  if (answers.length === 0) line(terminal.err, "The agent did not answer.");
  return exitCodes.ok;
}

async function answersAfter(client: ControlClient, place: Place, since: number): Promise<readonly ChatMessage[]> {
  const clock = systemClock();
  let worked = false;
  let quiet = 0;
  let answers: readonly ChatMessage[] = [];
  for (;;) {
    await sleep(clock, lookEveryMs);
    const { messages, working } = await client.request("chat.history", { ...place, limit: historyLimit });
    const found = messages.filter((message) => message.seq > since && message.role !== "user");
    quiet = working || found.length > answers.length ? 0 : quiet + 1;
    worked ||= working;
    answers = found;
    if (answers.length > 0 && quiet >= quietLooks) return answers;
    if (worked && quiet >= silentLooks) return answers;
  }
}
