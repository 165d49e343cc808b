// From answers to changes of the config, with the secrets beside it in files of their own: so the config can
// be shown and copied.
import type { Change } from "../config-editor.ts";
import type { GivenSecret, SetupAnswers } from "./answers.ts";

export interface SecretFile {
  /** Under the state folder. */
  readonly name: string;
  readonly value: string;
}

export interface SetupPlan {
  readonly changes: readonly Change[];
  readonly secrets: readonly SecretFile[];
}

/** `suffix`: of the secrets' files; a trial must not overwrite what is in use. */
export function setupPlan({ model, telegram, discord, owners, port }: SetupAnswers, suffix = ""): SetupPlan {
  const secrets: SecretFile[] = [];
  const secret = (given: GivenSecret, name: string): unknown => {
    if ("env" in given) return { env: given.env };
    const file = `secrets/${name}${suffix}`;
    secrets.push({ name: file, value: given.value });
    return { file };
  };
  const changes: Change[] = [];
  const set = (path: Change["path"], value: unknown): void => void changes.push({ path, value });

  if (port !== null) set(["gateway", "port"], port);
  if (model !== null) {
    const provider = ["models", "providers", model.provider];
    if (model.api !== null) set([...provider, "api"], model.api);
    if (model.baseUrl !== null) set([...provider, "baseUrl"], model.baseUrl);
    if (model.key !== null)
      set([...provider, "apiKey"], secret(model.key, `${model.provider.toLowerCase()}-key`));
    set(["agents", "defaults", "model", "primary"], `${model.provider}/${model.model}`);
  }
  if (telegram !== null) {
    if (telegram.token !== null)
      set(["channels", "telegram", "botToken"], secret(telegram.token, "telegram-token"));
    if (telegram.apiRoot !== null) set(["channels", "telegram", "apiRoot"], telegram.apiRoot);
  }
  if (discord !== null) {
    if (discord.token !== null) set(["channels", "discord", "token"], secret(discord.token, "discord-token"));
    if (discord.apiRoot !== null) set(["channels", "discord", "apiRoot"], discord.apiRoot);
  }
  if (owners.length > 0) set(["commands", "ownerAllowFrom"], [...owners]);
  return { changes, secrets };
}
