// Names what an import leaves in the source, each with its reason, and what is left for the operator to do.
import { join } from "node:path";
import type { Fitted } from "./fit.ts";
import type { Met } from "./report.ts";
import type { Source } from "./source.ts";
import type { Translated } from "./translate.ts";
import { at, isBlock } from "./tree.ts";

const carriedNames = new Set([
  "agent",
  "agents",
  "credentials",
  "cron",
  "sessions",
  "skills",
  "workspace",
  ".env",
]);
const reasons: { readonly [name: string]: string } = {
  browser: "each agent has a browser profile of its own here",
  devices: "devices are paired anew: parley devices",
  extensions: "plugins of OpenClaw do not run here",
  hooks: "hooks.internal.handlers runs code of your own here",
  logs: "logs stay where they are",
  media: "files of old messages stay where they are",
  memory: "it is an index: Parley makes its own from the notes",
  plugins: "plugins of OpenClaw do not run here",
};

/** What else lies in the home. */
export function restOf(source: Source): readonly Met[] {
  if (!source.isHome) return [];
  const { folder, files } = source;
  const workspaces = new Set(source.agents.map(({ workspace }) => workspace));
  const rest = files
    .names(folder)
    .filter((name) => !carriedNames.has(name) && !/^(?:openclaw|clawdbot|moltbot)\.json/.test(name))
    .filter((name) => !workspaces.has(join(folder, name)) && name !== "state")
    .map((name) => ({ name: join(folder, name), why: reasons[name] ?? "Parley has no use for it" }));
  return rest.map(({ name, why }): Met => ({ what: "other", name, fate: "refused", why }));
}

export function todoOf({
  source,
  fit,
  translated,
  secrets,
  isRunning,
  hasOwner,
}: {
  readonly source: Source;
  readonly fit: Fitted;
  readonly translated: Translated;
  readonly secrets: readonly string[];
  readonly isRunning: boolean;
  readonly hasOwner: boolean;
}): readonly string[] {
  const wanted = at(translated.file, ["session", "dmScope"]);
  const speaks = isBlock(at(translated.file, ["channels"]));
  return [
    ...(isRunning
      ? ["Stop OpenClaw's gateway: one bot cannot be served by two (openclaw gateway stop)."]
      : []),
    ...fit.unset.map(
      (name) => `Set ${name}, for example as ${name}=value in the file env of the state folder.`,
    ),
    ...secrets.map((name) => `Look at ${name}: it holds another secret than the source.`),
    ...(source.isHome && wanted !== fit.config.session.dmScope
      ? [
          `session.dmScope is ${fit.config.session.dmScope} here and ${JSON.stringify(wanted)} there: private chats begin anew unless it is set so.`,
        ]
      : []),
    ...(speaks && !hasOwner
      ? ["Name the owners in commands.ownerAllowFrom, for example telegram:123456789."]
      : []),
  ];
}
