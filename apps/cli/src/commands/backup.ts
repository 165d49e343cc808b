// `parley backup FILE` and `parley restore FILE`. A backup is taken online; a restore needs the gateway
// stopped, and keeps the old database.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { document, line, result, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { withState, withStoppedGateway } from "../with-gateway.ts";

export interface BackupChoice {
  readonly passphrase?: string;
  readonly resumeWork?: boolean;
}

export async function backup(terminal: Console, file: string, choice: BackupChoice = {}): Promise<ExitCode> {
  const sealed = await passphraseOf(terminal, choice);
  const done = await withState(terminal, (client) =>
    client.request("backup", { path: resolve(file), ...sealed }),
  );
  const how = "passphrase" in sealed ? "checked whole and encrypted" : "checked whole";
  result(terminal, done, `Wrote ${done.path} (${done.bytes} bytes), ${how}.`);
  return exitCodes.ok;
}

export async function backupsList(terminal: Console): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("backups.list", {}));
  if (terminal.json) {
    document(terminal.out, found);
    return exitCodes.ok;
  }
  const { everyHours, keep, folder, backups } = found;
  line(
    terminal.out,
    everyHours === null
      ? "None are made by themselves: backup.everyHours in the config says how often."
      : `One is made every ${everyHours} hours; the newest ${keep} are kept in ${folder}.`,
  );
  for (const { path, bytes, atMs, sealed } of backups)
    line(
      terminal.out,
      `${new Date(atMs).toISOString()}  ${bytes} bytes${sealed ? ", encrypted" : ""}  ${path}`,
    );
  return exitCodes.ok;
}

export async function restore(terminal: Console, file: string, choice: BackupChoice = {}): Promise<ExitCode> {
  const sealed = await passphraseOf(terminal, choice);
  const resume = choice.resumeWork === true;
  const done = await withStoppedGateway(terminal, (client) =>
    client.request("restore", { path: resolve(file), ...sealed, resume }),
  );
  if (terminal.json) {
    document(terminal.out, done);
    return exitCodes.ok;
  }
  line(terminal.out, `Restored ${done.path}.`);
  line(
    terminal.out,
    done.keptAs === null ? "There was no database before." : `The old database is kept as ${done.keptAs}.`,
  );
  if (done.messages > 0 || done.answers > 0)
    line(
      terminal.out,
      `${done.messages} messages and ${done.answers} answers were open when the backup was made; they may have been done since, so they wait for you: parley dead list, parley outbox list --troubled.`,
    );
  return exitCodes.ok;
}

/** Never an argument itself: other users of the machine see those. */
async function passphraseOf(
  { env, input }: Console,
  { passphrase: where }: BackupChoice,
): Promise<{ readonly passphrase?: string }> {
  if (where === undefined) return {};
  const found = await readFrom(where, env, input);
  if (found === "") throw new CommandFailure("invalid", "the passphrase is empty", exitCodes.usage);
  return { passphrase: found };
}

async function readFrom(where: string, env: Console["env"], input: Console["input"]): Promise<string> {
  const [kind, ...rest] = where.split(":");
  const name = rest.join(":");
  if (where === "-") return (await text(input)).replace(/\r?\n$/, "");
  if (kind === "env") return env[name] ?? "";
  if (kind === "file") {
    try {
      return readFileSync(name, "utf8").replace(/\r?\n$/, "");
    } catch (cause) {
      throw new CommandFailure("missing", `${name} cannot be read: ${String(cause)}`, exitCodes.usage);
    }
  }
  throw new CommandFailure(
    "invalid",
    `--passphrase takes env:NAME, file:PATH or -, not the words themselves`,
    exitCodes.usage,
  );
}
