// Setup with a person: one question after the other, each credential tried as soon as it is given. Ctrl-C
// writes nothing.
import * as prompts from "@clack/prompts";
import type { Env } from "@parley/config";
import type { Console } from "../console.ts";
import { CommandFailure } from "../exit.ts";
import { probeDiscord, probeTelegram, type Probe } from "../probes.ts";
import {
  givenSecret,
  knownProviders,
  type BotAnswer,
  type Known,
  type KnownProvider,
  type ModelAnswer,
  type SetupAnswers,
  type SetupFlags,
} from "./answers.ts";
import { tryBot, tryModel } from "./checks.ts";
import { splitModel } from "./from-flags.ts";

interface Wizard {
  readonly terminal: Console;
  readonly env: Env;
  readonly flags: SetupFlags;
}

/** Stands for an answer with which a person wants back to the question before. */
const back = Symbol("back");

/** What flags say whole, as `given`, is not asked for; what they say in part is taken into the answers. */
export async function answersFromPerson(
  terminal: Console,
  flags: SetupFlags,
  given: SetupAnswers,
  current: Known,
): Promise<SetupAnswers> {
  const wizard: Wizard = { terminal, env: terminal.env, flags };
  prompts.intro("Parley", streams(terminal));
  let model = given.model ?? (await askModel(wizard, current.model, true));
  let telegram = given.telegram ?? (await askBot(wizard, telegramBot, current.telegram));
  let discord = given.discord ?? (await askBot(wizard, discordBot, current.discord));
  for (;;) {
    const choice = await answer(
      prompts.select({
        ...streams(terminal),
        message: `Write this? ${summary({ model, telegram, discord }, current)}`,
        options: [
          { value: "write", label: "yes" },
          { value: "model", label: "change the model" },
          { value: "telegram", label: "change Telegram" },
          { value: "discord", label: "change Discord" },
          { value: "leave", label: "no, leave and write nothing" },
        ],
      }),
    );
    if (choice === "write") return { ...given, model, telegram, discord };
    if (choice === "leave") throw new CommandFailure("aborted", "Nothing was written.");
    if (choice === "model") model = await askModel(wizard, current.model, false);
    if (choice === "telegram") telegram = await askBot(wizard, telegramBot, current.telegram);
    if (choice === "discord") discord = await askBot(wizard, discordBot, current.discord);
  }
}

function summary(
  { model, telegram, discord }: Pick<SetupAnswers, "model" | "telegram" | "discord">,
  current: Known,
): string {
  const bot = (name: string, asked: BotAnswer | null, isThere: boolean): string =>
    `${name}: ${asked === null ? (isThere ? "as it is" : "not connected") : "set"}`;
  const chosen = model === null ? (current.model ?? "none") : `${model.provider}/${model.model}`;
  return [
    `Model: ${chosen}`,
    bot("Telegram", telegram, current.telegram),
    bot("Discord", discord, current.discord),
  ].join(", ");
}

/** `byFlags`: what flags say of provider and model is no question the first time; asked for again, it is. */
async function askModel(
  wizard: Wizard,
  current: string | null,
  byFlags: boolean,
): Promise<ModelAnswer | null> {
  const { terminal, env, flags } = wizard;
  for (let isFirst = byFlags; ; isFirst = false) {
    const [named, id] = isFirst ? splitModel(flags.model, flags.provider) : [];
    const name =
      (isFirst ? flags.provider : undefined) ?? named ?? (await askProvider(terminal, env, current));
    if (name === "") return null;
    const model = await modelAt(wizard, name, id, isFirst ? flags.apiKey : undefined);
    if (model === back) continue;
    if (flags.check === false || name === "rehearsal") return model;
    if ((await tried(wizard, "Asking the model one question", () => tryModel({ model }, env))) !== null)
      return model;
  }
}

async function askProvider(terminal: Console, env: Env, current: string | null): Promise<string> {
  return answer(
    prompts.select({
      ...streams(terminal),
      message: "Which language model should answer?",
      options: [
        ...(current === null ? [] : [{ value: "", label: `keep ${current}` }]),
        ...knownProviders.map(({ name: value, words, env: variable }) => {
          const isSet = variable !== null && (env[variable] ?? "") !== "";
          return { value, label: words, ...(isSet ? { hint: `${variable} is set` } : {}) };
        }),
        { value: "local", label: "another server that speaks OpenAI's API" },
      ],
    }),
  );
}

/** `id`, `apiKey`: where flags said them. */
async function modelAt(
  wizard: Wizard,
  provider: string,
  id: string | undefined,
  apiKey: string | undefined,
): Promise<ModelAnswer | typeof back> {
  const { flags } = wizard;
  const known = knownProviders.find((each) => each.name === provider);
  const api = flags.api ?? (known === undefined ? "openai-completions" : null);
  if (provider === "rehearsal") return { provider, model: "rehearsal", key: null, baseUrl: null, api };
  const baseUrl =
    flags.baseUrl ??
    (known === undefined ? await ask(wizard, "Its address, with /v1 if it has that", urlTrouble) : null);
  if (baseUrl === "") return back;
  const key = apiKey === undefined ? await askKey(wizard, known) : givenSecret(apiKey);
  if (key === back) return back;
  const model =
    id ?? (await ask(wizard, "Which model? (its id)", () => undefined, known?.model ?? undefined));
  return model === "" ? back : { provider, model, key, baseUrl, api };
}

async function askKey(
  { terminal, env }: Wizard,
  known: KnownProvider | undefined,
): Promise<ModelAnswer["key"] | typeof back> {
  const variable = known?.env ?? null;
  if (known?.name === "ollama" || (variable !== null && (env[variable] ?? "") !== "")) return null;
  const isNeeded = known?.needsKey === true;
  const message = isNeeded ? `Its API key (${goesBack})` : "Its API key, if it wants one";
  const key = (await answer(prompts.password({ ...streams(terminal), message }))) ?? "";
  return key === "" ? (isNeeded ? back : null) : givenSecret(key);
}

const goesBack = "nothing goes back";

interface Bot {
  readonly name: string;
  readonly question: string;
  readonly probe: (token: string, apiRoot?: string) => Promise<Probe>;
  /** The flag that says where its platform is. */
  readonly apiRoot: "telegramApiRoot" | "discordApiRoot";
}

const telegramBot: Bot = {
  name: "Telegram",
  question: "The bot's token (from @BotFather, /newbot)",
  probe: probeTelegram,
  apiRoot: "telegramApiRoot",
};
const discordBot: Bot = {
  name: "Discord",
  question:
    "The bot's token (https://discord.com/developers/applications, Bot; switch the Message Content Intent on there)",
  probe: probeDiscord,
  apiRoot: "discordApiRoot",
};

async function askBot(
  wizard: Wizard,
  { name, question, probe, apiRoot }: Bot,
  isThere: boolean,
): Promise<BotAnswer | null> {
  const { terminal, env, flags } = wizard;
  const root = flags[apiRoot] ?? null;
  const message = isThere ? `${name} is set up. Change its token?` : `Connect ${name}?`;
  const initialValue = root !== null || (!isThere && name === "Telegram");
  for (;;) {
    if (!(await answer(prompts.confirm({ ...streams(terminal), message, initialValue })))) return null;
    const said = (
      (await answer(prompts.password({ ...streams(terminal), message: `${question}; ${goesBack}` }))) ?? ""
    ).trim();
    if (said === "") continue;
    const bot = { token: givenSecret(said), apiRoot: root };
    if (flags.check === false) return bot;
    const found = await tried(wizard, `Asking ${name} who the bot is`, () => tryBot(bot, env, probe));
    if (found !== null) return found.id === undefined ? bot : { ...bot, id: found.id };
  }
}

/** Null: a person wants to answer again. */
async function tried(
  { terminal }: Wizard,
  doing: string,
  probe: () => Promise<Probe>,
): Promise<Probe | null> {
  const spinner = prompts.spinner(streams(terminal));
  spinner.start(doing);
  const found = await probe();
  const { ok, words, fix } = found;
  if (ok) spinner.stop(words);
  else spinner.error(`${words}${fix === undefined ? "" : `. ${fix}.`}`);
  const again =
    !ok &&
    (await answer(prompts.confirm({ ...streams(terminal), message: "Try again? (No writes it as it is)" })));
  return again ? null : found;
}

async function ask(
  { terminal }: Wizard,
  message: string,
  validate: (value: string | undefined) => string | undefined,
  defaultValue?: string,
): Promise<string> {
  const start = defaultValue === undefined ? {} : { initialValue: defaultValue };
  return (
    (await answer(
      prompts.text({ ...streams(terminal), message: `${message}; ${goesBack}`, validate, ...start }),
    )) ?? ""
  ).trim();
}

function urlTrouble(value: string | undefined): string | undefined {
  if ((value ?? "") === "") return undefined;
  return /^https?:\/\//.test(value ?? "") && URL.canParse(value ?? "")
    ? undefined
    : `An address begins with http:// or https://; ${goesBack}`;
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
