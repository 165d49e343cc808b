// Setup with a person: one question after the other, each credential tried as soon as it is given. Ctrl-C writes nothing.
import * as prompts from "@clack/prompts";
import type { Env } from "@parley/config";
import type { Console } from "../console.ts";
import { CommandFailure } from "../exit.ts";
import { probeDiscord, probeTelegram, type Probe } from "../probes.ts";
import { givenSecret, knownProviders, type BotAnswer, type ModelAnswer, type SetupAnswers, type SetupFlags } from "./answers.ts";
import { tryBot, tryModel } from "./checks.ts";

interface Wizard {
  readonly terminal: Console;
  readonly env: Env;
  readonly check: boolean;
}

/** `current`: what the config has already; null where it has nothing. Flags are not asked for again. */
export async function answersFromPerson(
  terminal: Console,
  flags: SetupFlags,
  given: SetupAnswers,
  current: { readonly model: string | null; readonly telegram: boolean; readonly discord: boolean },
): Promise<SetupAnswers> {
  const wizard: Wizard = { terminal, env: terminal.env, check: flags.check !== false };
  prompts.intro("Parley", streams(terminal));
  const model = given.model ?? (await askModel(wizard, current.model));
  const telegram = given.telegram ?? (await askBot(wizard, telegramBot, current.telegram));
  const discord = given.discord ?? (await askBot(wizard, discordBot, current.discord));
  return { ...given, model, telegram, discord };
}

async function askModel(wizard: Wizard, current: string | null): Promise<ModelAnswer | null> {
  for (;;) {
    const name = await answer(
      prompts.select({
        ...streams(wizard.terminal),
        message: "Which language model should answer?",
        options: [
          ...(current === null ? [] : [{ value: "", label: `keep ${current}` }]),
          ...knownProviders.map(({ name: value, words, env }) => {
            const isSet = env !== null && (wizard.env[env] ?? "") !== "";
            return { value, label: words, ...(isSet ? { hint: `${env} is set` } : {}) };
          }),
          { value: "local", label: "another server that speaks OpenAI's API" },
        ],
      }),
    );
    if (name === "") return null;
    const known = knownProviders.find((each) => each.name === name);
    const model: ModelAnswer = {
      provider: name,
      baseUrl: known === undefined ? await ask(wizard, "Its address, with /v1 if it has that", urlTrouble) : null,
      api: known === undefined ? "openai-completions" : null,
      key: await askKey(wizard, known?.env ?? null, known?.needsKey === true, name === "rehearsal" || name === "ollama"),
      model: name === "rehearsal" ? "rehearsal" : await ask(wizard, "Which model? (its id)", emptyTrouble, known?.model ?? undefined),
    };
    if (!wizard.check || name === "rehearsal") return model;
    if (await tried(wizard, "Asking the model one question", () => tryModel({ model }, wizard.env))) return model;
  }
}

async function askKey(
  { terminal, env }: Wizard,
  variable: string | null,
  isNeeded: boolean,
  isKeyless: boolean,
): Promise<ModelAnswer["key"]> {
  if (isKeyless || (variable !== null && (env[variable] ?? "") !== "")) return null;
  const key = await answer(
    prompts.password({
      ...streams(terminal),
      message: isNeeded ? "Its API key" : "Its API key, if it wants one",
      validate: (value) => (isNeeded ? emptyTrouble(value) : undefined),
    }),
  );
  return (key ?? "") === "" ? null : givenSecret(key);
}

interface Bot {
  readonly name: string;
  readonly question: string;
  readonly probe: (token: string, apiRoot?: string) => Promise<Probe>;
}

const telegramBot: Bot = { name: "Telegram", question: "The bot's token (from @BotFather, /newbot)", probe: probeTelegram };
const discordBot: Bot = {
  name: "Discord",
  question: "The bot's token (https://discord.com/developers/applications, Bot; switch the Message Content Intent on there)",
  probe: probeDiscord,
};

async function askBot(wizard: Wizard, { name, question, probe }: Bot, isThere: boolean): Promise<BotAnswer | null> {
  const message = isThere ? `${name} is set up. Change its token?` : `Connect ${name}?`;
  if (!(await answer(prompts.confirm({ ...streams(wizard.terminal), message, initialValue: !isThere && name === "Telegram" }))))
    return null;
  for (;;) {
    const token = givenSecret(await answer(prompts.password({ ...streams(wizard.terminal), message: question, validate: emptyTrouble })));
    const bot: BotAnswer = { token, apiRoot: null };
    if (!wizard.check || (await tried(wizard, `Asking ${name} who the bot is`, () => tryBot(bot, wizard.env, probe)))) return bot;
  }
}

/** False: a person wants to answer again. */
async function tried({ terminal }: Wizard, doing: string, probe: () => Promise<Probe>): Promise<boolean> {
  const spinner = prompts.spinner(streams(terminal));
  spinner.start(doing);
  const { ok, words, fix } = await probe();
  if (ok) {
    spinner.stop(words);
    return true;
  }
  spinner.error(`${words}${fix === undefined ? "" : `. ${fix}.`}`);
  return !(await answer(prompts.confirm({ ...streams(terminal), message: "Try again? (No writes it as it is)" })));
}

async function ask(
  { terminal }: Wizard,
  message: string,
  validate: (value: string | undefined) => string | undefined,
  defaultValue?: string,
): Promise<string> {
  const start = defaultValue === undefined ? {} : { initialValue: defaultValue };
  return (await answer(prompts.text({ ...streams(terminal), message, validate, ...start }))).trim();
}

function emptyTrouble(value: string | undefined): string | undefined {
  return (value ?? "").trim() === "" ? "This is needed. Ctrl-C leaves without writing anything." : undefined;
}

function urlTrouble(value: string | undefined): string | undefined {
  return /^https?:\/\//.test(value ?? "") && URL.canParse(value ?? "") ? undefined : "An address begins with http:// or https://";
}

async function answer<T>(asked: Promise<T>): Promise<Exclude<T, symbol>> {
  const said = await asked;
  if (prompts.isCancel(said)) throw new CommandFailure("aborted", "Nothing was written.");
  return said as Exclude<T, symbol>;
}

/** Questions go to standard error: standard output is for the result. */
function streams({ input, err }: Console) {
  return { input, output: err };
}
