// `parley chat`: talks to the agent. On a terminal a conversation that streams; with piped input one message,
// its answer, and out.
import { text as readAll } from "node:stream/consumers";
import { createInterface } from "node:readline/promises";
import { systemIds } from "@parley/protocol";
import { ask } from "../ask.ts";
import { document, line, result, styled, words, type Console } from "../console.ts";
import type { ControlClient, Conversation } from "../control-client.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { liveText } from "../live-text.ts";
import { withGateway } from "../with-gateway.ts";

export interface ChatOptions {
  readonly thread?: string;
}

export async function chat(terminal: Console, { thread }: ChatOptions): Promise<ExitCode> {
  if (terminal.input.isTTY === true && !terminal.json)
    return withGateway(terminal, (client) => converse(terminal, client, placeOf(thread)), placeOf(thread));
  const said = (await readAll(terminal.input)).trim();
  if (said === "")
    throw new CommandFailure(
      "invalid",
      "There is nothing to send: standard input is empty.",
      exitCodes.usage,
    );
  return askOnce(terminal, said, thread);
}

function placeOf(thread: string | undefined): Conversation {
  return thread === undefined ? {} : { thread };
}

async function converse(terminal: Console, client: ControlClient, place: Conversation): Promise<ExitCode> {
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
    await client
      .request("chat.send", { ...place, text: said, idempotencyKey: systemIds().uuid() })
      .catch((error: unknown) => {
        // One refused message does not end the conversation.
        words(err, styled(err, env, "red", error instanceof Error ? error.message : String(error)));
      });
  }
  const [failure] = hangUps;
  if (failure !== undefined) throw failure;
  return exitCodes.ok;
}

/** Says one thing and prints what comes back. */
export async function send(
  terminal: Console,
  words: string,
  { thread, wait }: { readonly thread?: string; readonly wait?: boolean },
): Promise<ExitCode> {
  const said = words.trim();
  if (said === "")
    throw new CommandFailure("invalid", "There is nothing to send: the text is empty.", exitCodes.usage);
  if (wait !== false) return askOnce(terminal, said, thread);
  const keyed = { ...placeOf(thread), text: said, idempotencyKey: systemIds().uuid() };
  const sent = await withGateway(terminal, (client) => client.request("chat.send", keyed));
  result(terminal, sent, sent.id);
  return exitCodes.ok;
}

async function askOnce(terminal: Console, said: string, thread: string | undefined): Promise<ExitCode> {
  const answers = await ask(terminal, said, thread);
  if (terminal.json) document(terminal.out, { messages: answers });
  else for (const { text } of answers) words(terminal.out, text);
  if (answers.length === 0) line(terminal.err, "The agent did not answer.");
  return exitCodes.ok;
}
