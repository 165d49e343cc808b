// The credentials of the config, each tried with one harmless call.
import type { Config, Env } from "@parley/config";
import { probeDiscord, probeModel, probeTelegram, type Probe } from "../probes.ts";
import { error, ok, type Finding } from "./finding.ts";

export async function liveFindings(config: Config, env: Env): Promise<Finding[]> {
  const { telegram, discord } = config.channels;
  return Promise.all([
    ...Object.entries(telegram).map(async ([id, each]) =>
      told(`telegram:${id}`, await probeTelegram(each.botToken.reveal(), each.apiRoot)),
    ),
    ...Object.entries(discord).map(async ([id, each]) =>
      told(`discord:${id}`, await probeDiscord(each.token.reveal(), each.apiRoot)),
    ),
    probeModel(env).then((probe) => told("model", probe)),
  ]);
}

function told(what: string, { ok: works, words, fix }: Probe): Finding {
  return works ? ok("live", `${what}: ${words}`) : error("live", `${what}: ${words}`, fix ?? "");
}
