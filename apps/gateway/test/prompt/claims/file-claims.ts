// What the prompt claims about workspace files, each with its check.
import { bootstrapNames } from "@parley/agent";
import { claimsOf, hasTool, type Claim } from "./stable-claims.ts";
import type { Situation } from "./situation.ts";

/** What of a file stands below its heading. */
function fileParts(context: string): ReadonlyMap<string, string> {
  const heads = bootstrapNames.flatMap((name) => {
    const at = `\n${context}`.indexOf(`\n## ${name}\n`);
    return at === -1 ? [] : [{ name, at }];
  });
  return new Map(
    heads.map(({ name, at }, n) => [name, context.slice(at + name.length + 4, heads[n + 1]?.at).trim()]),
  );
}

async function isInjected(name: string, part: string, s: Situation): Promise<boolean> {
  const text = (await s.disk(name))?.trim() ?? null;
  if (text === null) return part.startsWith("[missing");
  if (part.startsWith("[...")) return true;
  return text.startsWith(part.slice(0, 40)) && (text === part || part.includes("truncated"));
}

/** By the drawn files alone. */
function mayStand(name: string, { draw, config }: Situation): boolean {
  const isShared = draw.address === null ? false : draw.address.kind !== "dm";
  const { every, includeSystemPromptSection } = config.agents.defaults.heartbeat;
  if (name === "MEMORY.md") return !isShared;
  if (name === "HEARTBEAT.md")
    return (
      every !== "0h" && includeSystemPromptSection && !draw.files["HEARTBEAT.md"]?.startsWith("# Checks")
    );
  const old = ["IDENTITY.md", "MEMORY.md", "memory/2026-11-20.md", "memory/shared/all.md"];
  return name !== "BOOTSTRAP.md" || !old.some((path) => path in draw.files);
}

export async function contextHolds(context: string, s: Situation): Promise<string[]> {
  const wrong: string[] = [];
  for (const [name, part] of fileParts(context)) {
    if (!mayStand(name, s)) wrong.push(`files.kinds: ${name} stands in the prompt`);
    if (!(await isInjected(name, part, s))) wrong.push(`files.content: ${name} is not what is on disk`);
  }
  return wrong;
}

const readsWhole = async (name: string, s: Situation): Promise<boolean> =>
  hasTool(s, "read") &&
  ((await s.disk(name)) ?? "").trimEnd().startsWith((await s.read(name)).split("\n")[0] ?? "?");

export const fileClaims: readonly Claim[] = [
  ...claimsOf("Workspace Files (injected)", [
    [
      "files.list",
      /^These user-editable files are loaded by Parley and included below in Project Context: (.*)\.$/,
      "each stands in Project Context and on disk",
      async ([, names = ""], s) => {
        const parts = fileParts(s.prompt.slice(s.prompt.indexOf("\n# Project Context\n") + 1));
        const there = await Promise.all(
          names.split(", ").map(async (name) => parts.has(name) && (await s.disk(name)) !== null),
        );
        return there.every(Boolean);
      },
    ],
  ]),
  ...claimsOf("Project Context", [
    [
      "files.cut",
      /^\[\.\.\.(?:truncated|omitted), read (\S+) for full content\.\.\.\]$/,
      "`read` opens the file",
      ([, name = ""], s) => readsWhole(name, s),
    ],
    [
      "files.missing",
      /^\[missing: expected at (\/.*)\]$/,
      "nothing is there, in a folder that tools reach",
      async ([, path = ""], s) =>
        s.access !== "none" &&
        path.startsWith(`${s.workspace}/`) &&
        (await s.disk(path.slice(s.workspace.length + 1))) === null,
    ],
    [
      "files.warning",
      /^\[Bootstrap truncation warning: (\S+) .*\.( Read the files for full content\.)?\]$/,
      "`read` opens what it tells to read",
      ([, name = "", read], s) => read === undefined || readsWhole(name, s),
    ],
    [
      "files.soul",
      /^If SOUL\.md is present, embody its persona.*$/,
      "SOUL.md is there",
      async (_, s) => (await s.disk("SOUL.md")) !== null,
    ],
  ]),
];
