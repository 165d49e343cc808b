// Checks what a SKILL.md says about itself: the Agent Skills fields, its requirements, and how it may be
// invoked. Only an unusable name or description refuses the skill: another malformed field is left out with a
// note. It grants nothing: `allowed-tools` and install recipes are ignored.
import { isUnsafeEnvName } from "@parley/protocol";
import { z } from "zod";
import { plainLine } from "../plain-line.ts";
import type { FrontMatter } from "./front-matter.ts";
import { lenientFields, plainText, type LenientFields } from "./lenient-fields.ts";
import { nameChars, readSkillName } from "./skill-name.ts";

export interface SkillEligibility {
  /** Ready whatever `requires` says; the operating system must fit all the same. */
  readonly always: boolean;
  /** Node's names of platforms; empty: any. */
  readonly os: readonly string[];
  readonly bins: readonly string[];
  /** One of them is enough. */
  readonly anyBins: readonly string[];
  readonly env: readonly string[];
  /** Dotted paths into the config that must be set and not false. */
  readonly config: readonly string[];
}

export interface SkillManifest {
  readonly name: string;
  /** One line, at most 1,024 characters. */
  readonly description: string;
  readonly homepage?: string;
  readonly emoji?: string;
  /** People may call it: /skill NAME, and a command of its own. */
  readonly userInvocable: boolean;
  /** The model is told of it. */
  readonly modelInvocable: boolean;
  /** Its command runs this tool with what was written after it, and asks no model. */
  readonly dispatch?: { readonly tool: string };
  /** Under which `skills.entries` speaks of it. */
  readonly key: string;
  /** The variable that `skills.entries.<key>.apiKey` is handed over in. */
  readonly primaryEnv?: string;
  readonly gates: SkillEligibility;
}

export type ManifestReading =
  | { readonly ok: true; readonly manifest: SkillManifest; readonly notes: readonly string[] }
  | { readonly ok: false; readonly reason: string };

/** Of the Agent Skills format. */
const descriptionChars = 1024;

/** Ours first; the others are how skills of OpenClaw and of its earlier name are written. */
const metadataKeys = ["parley", "openclaw", "clawdbot"] as const;

/** `folderName` stands in for a missing name. */
export function skillManifest(
  { data, notes: earlier }: FrontMatter & { readonly ok: true },
  folderName: string,
): ManifestReading {
  const notes = [...earlier];
  const required = z.object({ name: plainText.nullish(), description: plainText.nullish() }).safeParse(data);
  if (!required.success)
    return {
      ok: false,
      reason: `its ${String(required.error.issues[0]?.path[0])} cannot be read: it is no text`,
    };
  const raw = required.data.name ?? folderName;
  const named = readSkillName(raw);
  if (!named.ok)
    return { ok: false, reason: `its name ${JSON.stringify(plainLine(raw, 80))} ${named.reason}` };
  if (required.data.name === undefined || required.data.name === null)
    notes.push("it has no name; its folder's stands in");
  const description = plainLine(
    (required.data.description ?? "").replaceAll(/\s+/g, " "),
    Number.MAX_SAFE_INTEGER,
  );
  if (description === "") return { ok: false, reason: "it has no description, by which it would be chosen" };
  if (description.length > descriptionChars)
    notes.push(`its description is cut at ${descriptionChars} characters`);

  const own = lenientFields(data, "", notes);
  const meta = metadataOf(data, notes);
  const primaryEnv = primaryEnvOf(meta.fields.text("primaryEnv"), notes);
  const homepage = homepageOf(own.text("homepage") ?? meta.fields.text("homepage"));
  const emoji = meta.fields.text("emoji");
  const dispatch = dispatchOf(own, notes);
  if ("allowed-tools" in data) notes.push("allowed-tools is not acted on: a skill grants no tool");
  const manifest: SkillManifest = {
    name: named.name,
    description: plainLine(description, descriptionChars),
    ...(homepage === undefined ? {} : { homepage }),
    ...(emoji === undefined ? {} : { emoji: plainLine(emoji, 16) }),
    userInvocable: own.flag("user-invocable") ?? true,
    modelInvocable: own.flag("disable-model-invocation") !== true,
    ...(dispatch === undefined ? {} : { dispatch }),
    key: plainLine(meta.fields.text("skillKey") ?? named.name, nameChars),
    ...(primaryEnv === undefined ? {} : { primaryEnv }),
    gates: gatesOf(meta),
  };
  return { ok: true, notes, manifest };
}

export interface Metadata {
  readonly fields: LenientFields;
  readonly requires: LenientFields;
}

export function gatesOf({ fields, requires }: Metadata): SkillEligibility {
  const both = (key: string): readonly string[] => [...new Set([...requires.list(key), ...fields.list(key)])];
  return {
    always: fields.flag("always") ?? false,
    os: both("os").map(platformName),
    bins: both("bins"),
    anyBins: both("anyBins"),
    env: both("env"),
    config: both("config"),
  };
}

/** Where nothing is said, or nothing that can be understood, everything has its default. */
export function metadataOf(data: { readonly [key: string]: unknown }, notes: string[]): Metadata {
  const holders = [
    ["metadata.", lenientFields(data, "", notes).block("metadata") ?? {}] as const,
    ["", data] as const,
  ];
  for (const [at, holder] of holders) {
    for (const key of metadataKeys) {
      const value = lenientFields(holder, at, notes).block(key);
      if (value === undefined) continue;
      if (Object.hasOwn(value, "install"))
        notes.push("its install recipes are not acted on: nothing is installed");
      const fields = lenientFields(value, `${at}${key}.`, notes);
      return {
        fields,
        requires: lenientFields(fields.block("requires") ?? {}, `${at}${key}.requires.`, notes),
      };
    }
  }
  return { fields: lenientFields({}, "", notes), requires: lenientFields({}, "", notes) };
}

/** Node's name of what people call otherwise. */
function platformName(name: string): string {
  const plain = name.toLowerCase();
  if (plain === "macos" || plain === "mac" || plain === "osx") return "darwin";
  return plain === "windows" || plain === "win" ? "win32" : plain;
}

function primaryEnvOf(name: string | undefined, notes: string[]): string | undefined {
  if (name === undefined || name === "") return undefined;
  if (/^[A-Za-z_]\w{0,127}$/.test(name) && !isUnsafeEnvName(name)) return name;
  notes.push(
    `no key is handed over in ${JSON.stringify(plainLine(name, 80))}: that variable changes how programs run, or is no name of one`,
  );
  return undefined;
}

export function homepageOf(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  return /^https?:$/.test(new URL(url).protocol) ? plainLine(url, 400) : undefined;
}

function dispatchOf(read: LenientFields, notes: string[]): { readonly tool: string } | undefined {
  const how = read.text("command-dispatch");
  if (how === undefined) return undefined;
  const tool = (read.text("command-tool") ?? "").trim();
  const mode = (read.text("command-arg-mode") ?? "raw").trim().toLowerCase();
  if (how.trim().toLowerCase() !== "tool")
    notes.push(
      `command-dispatch ${JSON.stringify(plainLine(how, 40))} is not known; its command asks the model`,
    );
  else if (!/^[A-Za-z][\w.:-]{0,63}$/.test(tool))
    notes.push("command-dispatch needs command-tool; its command asks the model");
  else if (mode !== "raw")
    notes.push(
      `command-arg-mode ${JSON.stringify(plainLine(mode, 40))} is not known; its command asks the model`,
    );
  else return { tool };
  return undefined;
}
