// `parley setup`: asks, or reads flags, for the model and the bots; tries each; writes the config, whose
// comments stay, and the secrets beside it. Without a terminal it never asks and says what is missing.
import { text as readAll } from "node:stream/consumers";
import { ConfigFault, placesIn } from "@parley/config";
import { isFault } from "@parley/protocol";
import { changeConfig, readConfig, type Written } from "../config-editor.ts";
import { document, line, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { statusNow } from "../gateway-process.ts";
import type { Known, SetupAnswers, SetupFlags } from "../setup/answers.ts";
import { setupPlan } from "../setup/changes.ts";
import { checks, writeSecrets, type Check } from "../setup/checks.ts";
import { answersFromFlags } from "../setup/from-flags.ts";

export async function setup(terminal: Console, given: SetupFlags): Promise<ExitCode> {
  const flags = await withInput(terminal, given);
  const current = await known(terminal);
  const isAsked = terminal.input.isTTY === true && !terminal.json && flags.nonInteractive !== true;
  const { answers: fromFlags, missing } = answersFromFlags(flags, terminal.env, current);
  if (!isAsked && missing.length > 0) {
    throw new CommandFailure(
      "invalid",
      `Setup needs a terminal to ask, or more flags. Missing:\n${missing.map((each) => `  ${each}`).join("\n")}`,
      exitCodes.usage,
    );
  }
  const asked = async (): Promise<SetupAnswers> =>
    (await import("../setup/wizard.ts")).answersFromPerson(terminal, flags, fromFlags, current);
  // What a person answers is tried as it is given.
  const done = flags.check === false ? [] : await checks(fromFlags, terminal.env);
  const wrong = done.filter(({ probe }) => !probe.ok);
  if (wrong.length > 0)
    throw new CommandFailure(
      "invalid",
      `Nothing was written.\n${wrong.map(wordsOf).join("\n")}`,
      exitCodes.failed,
    );
  const answers = isAsked ? await asked() : fromFlags;

  const { home } = placesIn(terminal.env);
  const { changes, secrets } = setupPlan(answers);
  await writeSecrets(home, secrets);
  const written = changes.length === 0 ? null : await write(terminal, changes);
  await tell(terminal, answers, done, written);
  return exitCodes.ok;
}

/**
 * `-` in place of a secret: it comes on standard input, so that no list of processes and no shell's history
 * has it.
 */
async function withInput(terminal: Console, flags: SetupFlags): Promise<SetupFlags> {
  const secretFlags = ["apiKey", "telegramToken", "discordToken"] as const;
  const piped = secretFlags.filter((flag) => flags[flag] === "-");
  if (piped.length > 1)
    throw new CommandFailure("invalid", "Only one secret can come on standard input", exitCodes.usage);
  const [flag] = piped;
  if (flag === undefined) return flags;
  const value = (await readAll(terminal.input)).trim();
  if (value === "") throw new CommandFailure("invalid", "Standard input is empty", exitCodes.usage);
  return { ...flags, [flag]: value };
}

/**
 * Throws CommandFailure for a config that is broken: a wizard must not write on top of what a person began.
 */
async function known(terminal: Console): Promise<Known> {
  const { path, config, problems } = await readConfig(terminal);
  const [problem] = problems;
  if (problem !== undefined) {
    const words = problems.map(
      (each) =>
        `  ${path}${each.line === undefined ? "" : `:${each.line}`} ${each.path}: ${each.message}. ${each.fix ?? ""}`,
    );
    throw new CommandFailure(
      "invalid",
      `The config is broken; mend it first:\n${words.join("\n")}`,
      exitCodes.config,
    );
  }
  const { agents, channels } = config as {
    readonly agents: { readonly defaults: { readonly model: { readonly primary: string } } };
    readonly channels: { readonly telegram: object; readonly discord: object };
  };
  const { primary } = agents.defaults.model;
  return {
    model: primary === "rehearsal/rehearsal" ? null : primary,
    telegram: Object.keys(channels.telegram).length > 0,
    discord: Object.keys(channels.discord).length > 0,
  };
}

async function write(terminal: Console, changes: Parameters<typeof changeConfig>[1]): Promise<Written> {
  try {
    return await changeConfig(terminal, changes);
  } catch (error) {
    const isWrong =
      error instanceof ConfigFault ||
      isFault(error, "invalid") ||
      (error instanceof CommandFailure && error.code === "invalid");
    if (!isWrong) throw error;
    throw new CommandFailure(
      "invalid",
      `Nothing was written to the config:\n${error.message}`,
      exitCodes.failed,
      { cause: error },
    );
  }
}

function wordsOf({ what, probe: { words, fix } }: Check): string {
  return `${what}: ${words}${fix === undefined ? "" : `. ${fix}.`}`;
}

async function tell(
  terminal: Console,
  answers: SetupAnswers,
  done: readonly Check[],
  written: Written | null,
): Promise<void> {
  const status = await statusNow(terminal).catch(() => null);
  const { configPath } = placesIn(terminal.env);
  if (terminal.json) {
    const tried = done.map(({ what, probe: { ok, words } }) => ({ what, ok, words }));
    document(terminal.out, {
      path: configPath,
      changed: written?.changed ?? [],
      backup: written?.backup ?? null,
      checks: tried,
      running: status !== null,
      restartNeeded: written?.restartNeeded ?? [],
    });
    return;
  }
  for (const check of done) line(terminal.out, wordsOf(check));
  if (written === null || written.changed.length === 0) line(terminal.out, `${configPath} says so already.`);
  else line(terminal.out, `Wrote ${configPath}: ${written.changed.join(", ")}.`);
  if (status === null)
    line(terminal.out, "Start it with `parley start`, or let it run always: `parley service install`.");
  else if ((written?.restartNeeded.length ?? 0) > 0)
    line(terminal.out, "The gateway runs; `parley restart` brings this into effect.");
  else line(terminal.out, "The gateway runs and has taken it up.");
  if (answers.telegram !== null)
    line(
      terminal.out,
      "Write to the bot on Telegram; it answers with a code. Let yourself in with: parley pair approve CODE",
    );
  const [discord = answers.discord?.id] = done.flatMap(({ what, probe }) =>
    what === "discord" ? (probe.id ?? []) : [],
  );
  if (discord !== undefined)
    line(
      terminal.out,
      `Invite the bot: https://discord.com/oauth2/authorize?client_id=${discord}&scope=bot+applications.commands&permissions=274877975552`,
    );
}
