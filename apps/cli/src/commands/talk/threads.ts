// `parley threads ...`: the conversations that this token has with the agent, and what happens in one now.
import { systemIds } from "@parley/protocol";
import { document, line, result, type Console } from "../../console.ts";
import { exitCodes, type ExitCode } from "../../exit.ts";
import { withGateway } from "../../with-gateway.ts";
import { limitOf } from "./sessions.ts";

export interface ThreadFlags {
  readonly thread?: string;
}

/** Several words are looked for together. */
export async function threadsList(terminal: Console, words: readonly string[] = []): Promise<ExitCode> {
  const asked = words.length === 0 ? {} : { find: words.join(" ") };
  const found = await withGateway(terminal, (client) => client.request("chat.threads", asked));
  if (terminal.json) {
    document(terminal.out, found);
    return exitCodes.ok;
  }
  for (const { thread, name, pinned, text, atMs, working } of found.threads) {
    const marks = [...(pinned ? ["pinned"] : []), ...(working ? ["working"] : [])].join(", ");
    const when = atMs === null ? "nothing yet" : new Date(atMs).toISOString();
    line(terminal.out, `${thread ?? "(first)"}  ${name ?? ""}  ${when}  ${marks}`.trimEnd());
    if (text !== "") line(terminal.out, `  "${text.replaceAll("\n", " ")}"`);
  }
  // A gateway of an earlier version does not count them.
  const left = found.left ?? 0;
  if (left > 0) line(terminal.out, `${left} older ones are left out; words behind "list" look for them.`);
  return exitCodes.ok;
}

export async function threadsName(
  terminal: Console,
  thread: string,
  { name, pin, remove }: { readonly name?: string; readonly pin?: boolean; readonly remove?: boolean },
): Promise<ExitCode> {
  const patch = {
    thread,
    ...(name === undefined ? {} : { name }),
    ...(pin === undefined ? {} : { pinned: pin }),
    ...(remove === undefined ? {} : { listed: !remove }),
  };
  const set = await withGateway(terminal, (client) => client.request("chat.thread", patch));
  result(
    terminal,
    set,
    `${set.thread ?? "(first)"}: ${set.name ?? "no name"}${set.pinned ? ", pinned" : ""}`,
  );
  return exitCodes.ok;
}

export async function threadsShow(
  terminal: Console,
  { limit, ...place }: ThreadFlags & { readonly limit: string },
): Promise<ExitCode> {
  const asked = { ...place, limit: limitOf(limit) };
  const found = await withGateway(terminal, (client) => client.request("chat.history", asked));
  if (terminal.json) {
    document(terminal.out, found);
    return exitCodes.ok;
  }
  for (const { id, role, text, atMs, replaces, cancelled, files = [] } of found.messages) {
    const marks = [
      ...(replaces === undefined ? [] : [`${cancelled === true ? "takes back" : "replaces"} ${replaces}`]),
      ...files.map(({ name }) => `with ${name}`),
    ];
    line(terminal.out, [new Date(atMs).toISOString(), role, id ?? "", ...marks].join("  ").trimEnd());
    for (const each of text.split("\n")) line(terminal.out, `  ${each}`.trimEnd());
  }
  return exitCodes.ok;
}

export async function threadsFork(
  terminal: Console,
  id: string,
  to: string,
  flags: ThreadFlags & {
    readonly before?: boolean;
    readonly again?: boolean;
    readonly text?: string;
    readonly model?: string;
  },
): Promise<ExitCode> {
  const asked = { ...flags, id, to, idempotencyKey: systemIds().uuid() };
  const made = await withGateway(terminal, (client) => client.request("chat.fork", asked));
  result(
    terminal,
    made,
    `${made.thread} begins with ${made.messages === 1 ? "1 message" : `${made.messages} messages`}.`,
  );
  return exitCodes.ok;
}

export async function threadsSteps(terminal: Console, place: ThreadFlags): Promise<ExitCode> {
  const found = await withGateway(terminal, (client) => client.request("chat.steps", place));
  if (terminal.json) {
    document(terminal.out, found);
    return exitCodes.ok;
  }
  line(terminal.out, found.working ? "The agent works." : "The agent does not work.");
  for (const id of found.waiting) line(terminal.out, `waits  ${id}`);
  for (const { tool, state, args, startedAtMs, endedAtMs } of found.calls) {
    const took = endedAtMs === null ? "" : `  ${endedAtMs - startedAtMs} ms`;
    line(terminal.out, `${tool}  ${state}${took}  ${args.replaceAll(/\s+/g, " ").slice(0, 120)}`);
  }
  return exitCodes.ok;
}

export async function threadsCancel(terminal: Console, id: string, place: ThreadFlags): Promise<ExitCode> {
  const done = await withGateway(terminal, (client) => client.request("chat.cancel", { ...place, id }));
  result(terminal, done, `Took back ${done.id}.`);
  return exitCodes.ok;
}

export async function threadsEdit(
  terminal: Console,
  id: string,
  words: string,
  place: ThreadFlags,
): Promise<ExitCode> {
  const edit = { ...place, id, text: words, idempotencyKey: systemIds().uuid() };
  const done = await withGateway(terminal, (client) => client.request("chat.edit", edit));
  result(terminal, done, `${done.id} has other words now.`);
  return exitCodes.ok;
}
