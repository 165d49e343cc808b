// Adds workspace files of known names from other folders to those of the prompt: each behind the workspace's
// own of that name, under a line that says where it is from. The caps of the prompt apply to what it leaves,
// and it reads nothing outside of the workspace.
import { basename, isAbsolute, join } from "node:path";
import { bootstrapNames, rootedReader } from "@parley/agent";
import type { Log } from "@parley/protocol";
import type { FileOrigins } from "@parley/runner";
import { watchedFiles } from "../schedules/watched-files.ts";
import type { BundledHook } from "./hook-runner.ts";

export interface BootstrapExtraFilesOptions {
  readonly origins: Pick<FileOrigins, "of"> | undefined;
  readonly log: Log;
}

interface EventFile {
  readonly name: string;
  readonly path: string;
  readonly missing: boolean;
  readonly content?: string;
}

const mostFiles = 50;
/** What it wants with a heartbeat's list, nobody could say. */
const taken: ReadonlySet<string> = new Set(bootstrapNames.filter((name) => name !== "HEARTBEAT.md"));

export function bootstrapExtraFiles({ origins, log }: BootstrapExtraFilesOptions): BundledHook {
  const reader = rootedReader();

  async function namesIn(workspace: string, patterns: readonly string[]): Promise<readonly string[]> {
    const names = new Set<string>();
    for (const pattern of patterns) {
      const parts = pattern.split("/");
      const found =
        isAbsolute(pattern) || parts.includes("..")
          ? "leads out of the workspace"
          : await watchedFiles(workspace, pattern.replace(/^\.\//, ""));
      if (typeof found === "string") {
        log.warn({ workspace, pattern, reason: found }, "extra workspace files are not read");
        continue;
      }
      for (const { name } of found.files.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
        // A file in the workspace's own folder is in the prompt already.
        if (name.includes("/") && taken.has(basename(name))) names.add(name);
    }
    return [...names].slice(0, mostFiles);
  }

  return async ({ context }, { paths, patterns, files }) => {
    const { workspaceDir, bootstrapFiles } = context;
    const wanted = texts(paths ?? patterns ?? files);
    if (typeof workspaceDir !== "string" || !Array.isArray(bootstrapFiles) || wanted.length === 0) return;
    const originOf = await origins?.of(workspaceDir);
    const left = new Map((bootstrapFiles as readonly EventFile[]).map((file) => [file.name, file]));
    for (const name of await namesIn(workspaceDir, wanted)) {
      const file = await reader.read(workspaceDir, name);
      if (file.state === "refused")
        log.warn({ path: join(workspaceDir, name), reason: file.reason }, "an extra file is refused");
      if (file.state !== "present") continue;
      const foreign = originOf?.(join(workspaceDir, name), file.sha256) ?? null;
      if (foreign !== null) {
        log.warn({ path: join(workspaceDir, name), reason: foreign.reason }, "an extra file is left out");
        continue;
      }
      const known = basename(name);
      const own = left.get(known);
      const before = own?.content === undefined ? "" : `${own.content.trimEnd()}\n\n`;
      left.set(known, {
        name: known,
        path: own?.path ?? join(workspaceDir, name),
        missing: false,
        content: `${before}[from ${name}]\n\n${file.text}`,
      });
    }
    return { context: { ...context, bootstrapFiles: [...left.values()] } };
  };
}

function texts(value: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  return all.filter((each): each is string => typeof each === "string" && each.trim() !== "");
}
