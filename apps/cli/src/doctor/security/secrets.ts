// Checks where secrets lie, and what travels without encryption.
import { isAbsolute } from "node:path";
import type { Config, Places } from "@parley/config";
import type { Json } from "@parley/protocol";
import { warn, type Finding } from "../finding.ts";
import { at } from "./channels.ts";
import { isNear } from "./near.ts";

/**
 * Secrets that stand in the file itself: it is copied, shown and backed up more often than an environment or
 * a file of its own.
 */
export function secretFindings(file: Json, { configPath }: Places): Finding[] {
  const literal: string[] = [];
  const walk = (value: Json, path: string): void => {
    if (value === "[secret]") literal.push(path);
    else if (typeof value === "object" && value !== null)
      for (const [key, each] of Object.entries(value))
        walk(each as Json, path === "" ? key : `${path}.${key}`);
  };
  walk(file, "");
  if (literal.length === 0) return [];
  return [
    warn(
      "config.secrets",
      `${configPath} itself holds ${literal.join(", ")}`,
      'Write { env: "NAME" } or { file: "secrets/name" } in their place, so that the file can be shown and copied',
    ),
  ];
}

export function transportFindings(config: Config): Finding[] {
  const plain = (url: string | undefined): boolean =>
    url !== undefined && /^(?:http|ws):\/\//i.test(url) && !isNear(url);
  const providers = Object.entries(config.models.providers).filter(
    ([, { baseUrl, apiKey }]) => apiKey !== undefined && plain(baseUrl),
  );
  const roots = [
    ...Object.entries(config.channels.telegram).map(
      ([id, each]) => [at("telegram", id), each.apiRoot] as const,
    ),
    ...Object.entries(config.channels.discord).map(
      ([id, each]) => [at("discord", id), each.apiRoot] as const,
    ),
  ];
  const { traces } = config.telemetry;
  const redis = config.store.redis?.url.reveal();
  return [
    ...providers.map(([name, { baseUrl }]) =>
      warn(
        "transport.provider",
        `The key of models.providers.${name} travels unencrypted to ${baseUrl}`,
        "Use https",
      ),
    ),
    ...roots
      .filter(([, root]) => plain(root))
      .map(([place]) =>
        warn("transport.channel", `The token of ${place} travels unencrypted to its apiRoot`, "Use https"),
      ),
    ...(plain(traces?.endpoint) &&
    (Object.keys(traces?.headers ?? {}).length > 0 || traces?.includeContent === true)
      ? [
          warn(
            "transport.traces",
            `Traces with what was said, or with a key, travel unencrypted to ${traces?.endpoint ?? ""}`,
            "Use https",
          ),
        ]
      : []),
    ...(plain(config.browser.cdpUrl)
      ? [
          warn(
            "transport.browser",
            "The browser of agents is steered unencrypted over browser.cdpUrl: whoever is between reads its logins",
            "Use wss or https, or a browser on this machine",
          ),
        ]
      : []),
    ...(redis !== undefined && redis.startsWith("redis://") && !isNear(redis)
      ? [
          warn(
            "transport.redis",
            "Chats travel unencrypted to Redis on another machine",
            'Use "rediss://", or a network of their own',
          ),
        ]
      : []),
  ];
}

/** Inside the state folder a copy is as private as what it copies. */
export function backupFindings({ backup }: Config): Finding[] {
  const { everyHours, folder, passphrase } = backup;
  if (everyHours === undefined || passphrase !== undefined || !isAbsolute(folder)) return [];
  return [
    warn(
      "backup.plain",
      `The backups in ${folder} are not encrypted: they hold all chats`,
      'Set backup.passphrase, as { file: "secrets/backup" }',
    ),
  ];
}
