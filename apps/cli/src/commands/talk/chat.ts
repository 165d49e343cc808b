// `parley chat`: talks to the agent. On a terminal a conversation that streams; with piped input one message,
// its answer, and out.
import { text as readAll } from "node:stream/consumers";
import { createInterface } from "node:readline/promises";
import { systemIds } from "@parley/protocol";
import { ask } from "../../ask.ts";
import { attachedFiles, type AttachedFile } from "../../attached-files.ts";
import { document, line, result, styled, words, type Console } from "../../console.ts";
import type { ControlClient, Conversation } from "../../control-client.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { liveText } from "../../live-text.ts";
import { withGateway } from "../../with-gateway.ts";

export interface ChatOptions {
  readonly thread?: string;
  readonly file?: readonly string[];
  readonly voice?: string;
}

export interface SendFlags extends ChatOptions {
  readonly wait?: boolean;
}

export async function chat(terminal: Console, { thread, file = [], voice }: ChatOptions): Promise<ExitCode> {
  const files = await attachedFiles(file, voice);
  if (files.length === 0 && terminal.input.isTTY === true && !terminal.json)
    return withGateway(terminal, (client) => converse(terminal, client, placeOf(thread)), placeOf(thread));
  // A person at a terminal has nothing piped in: the files go alone.
  const isPiped = files.length === 0 || terminal.input.isTTY !== true;
  const said = isPiped ? (await readAll(terminal.input)).trim() : "";
  if (said === "" && files.length === 0)
    throw new CommandFailure(
      "invalid",
      "There is nothing to send: standard input is empty.",
      exitCodes.usage,
    );
  return askOnce(terminal, said, thread, files);
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
  { thread, wait, file = [], voice }: SendFlags,
): Promise<ExitCode> {
  const said = words.trim();
  const files = await attachedFiles(file, voice);
  if (said === "" && files.length === 0)
    throw new CommandFailure("invalid", "There is nothing to send: the text is empty.", exitCodes.usage);
  if (wait !== false) return askOnce(terminal, said, thread, files);
  const along = files.length === 0 ? {} : { files: [...files] };
  const keyed = { ...placeOf(thread), text: said, ...along, idempotencyKey: systemIds().uuid() };
  const sent = await withGateway(terminal, (client) => client.request("chat.send", keyed));
  result(terminal, sent, sent.id);
  return exitCodes.ok;
}

async function askOnce(
  terminal: Console,
  said: string,
  thread: string | undefined,
  files: readonly AttachedFile[],
): Promise<ExitCode> {
  const answers = await ask(terminal, said, thread, files);
  if (terminal.json) document(terminal.out, { messages: answers });
  else for (const { text } of answers) words(terminal.out, text);
  if (answers.length === 0) line(terminal.err, "The agent did not answer.");
  return exitCodes.ok;
}
