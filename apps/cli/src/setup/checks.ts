// Tries what setup is about to write. The model is called with a draft of the config in a folder of its own,
// so that nothing is written before it works.
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { configEditor, makeFolder, placesIn, replaceFile, type Env } from "@parley/config";
import { probeDiscord, probeModel, probeTelegram, type Probe } from "../probes.ts";
import { revealed, type BotAnswer, type GivenSecret, type SetupAnswers } from "./answers.ts";
import { setupPlan, type SecretFile } from "./changes.ts";

export interface Check {
  readonly what: "model" | "telegram" | "discord";
  readonly probe: Probe;
}

export async function checks(answers: SetupAnswers, env: Env): Promise<Check[]> {
  const { model, telegram, discord } = answers;
  return Promise.all([
    ...(model === null || model.provider === "rehearsal"
      ? []
      : [tryModel(answers, env).then((probe) => ({ what: "model" as const, probe }))]),
    ...(telegram === null || telegram.token === null
      ? []
      : [
          tryBot({ ...telegram, token: telegram.token }, env, probeTelegram).then((probe) => ({
            what: "telegram" as const,
            probe,
          })),
        ]),
    ...(discord === null || discord.token === null
      ? []
      : [
          tryBot({ ...discord, token: discord.token }, env, probeDiscord).then((probe) => ({
            what: "discord" as const,
            probe,
          })),
        ]),
  ]);
}

export async function tryBot(
  { token, apiRoot }: Pick<BotAnswer, "apiRoot"> & { readonly token: GivenSecret },
  env: Env,
  probe: (token: string, apiRoot?: string) => Promise<Probe>,
): Promise<Probe> {
  const value = revealed(token, env);
  if (value === null) {
    const name = "env" in token ? token.env : "";
    return {
      ok: false,
      words: `the environment variable ${name} is not set`,
      fix: `Set ${name} here and for the gateway, or give the token itself`,
    };
  }
  return apiRoot === null ? probe(value) : probe(value, apiRoot);
}

/** With only the model's part of the answers, on top of the present config. */
export async function tryModel({ model }: Pick<SetupAnswers, "model">, env: Env): Promise<Probe> {
  const { home, configPath } = placesIn(env);
  await mkdir(home, { recursive: true, mode: 0o700 });
  const draft = await mkdtemp(join(tmpdir(), "parley-setup-"));
  const path = join(draft, "parley.json5");
  const draftEnv = { ...env, PARLEY_CONFIG: path };
  const { changes, secrets } = setupPlan({ model, telegram: null, discord: null, owners: [], port: null });
  // References to files are read from the state folder; a draft's own lie in the draft.
  const inDraft = changes.map(({ path: place, value }) => {
    const named = secrets.find(({ name }) => (value as { file?: unknown } | undefined)?.file === name);
    return { set: place, to: (named === undefined ? value : { file: join(draft, named.name) }) as never };
  });
  try {
    await chmod(draft, 0o700);
    await copyFile(configPath, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      return writeFile(path, "{\n}\n");
    });
    await writeSecrets(draft, secrets);
    await configEditor({ env: draftEnv, home }).change(inDraft);
    return await probeModel(draftEnv);
  } catch (error) {
    return {
      ok: false,
      words: error instanceof Error ? error.message.replaceAll(draft, home) : String(error),
      fix: "Mend what the message names",
    };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Readable by their owner only, whatever was there before. */
export async function writeSecrets(folder: string, secrets: readonly SecretFile[]): Promise<void> {
  for (const { name, value } of secrets) {
    const path = join(folder, name);
    makeFolder(dirname(path));
    await replaceFile(path, `${value}\n`, { isPrivate: true });
  }
}
