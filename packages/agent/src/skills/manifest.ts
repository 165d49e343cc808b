// What a SKILL.md says about itself, checked: the Agent Skills fields, the gates, and how it may be invoked. Lenient where the meaning is
// plain, strict where a gate would otherwise be guessed: a gate that cannot be read refuses the skill. Grants nothing: `allowed-tools` and
// install recipes are not acted on.
import { isUnsafeEnvName } from "@parley/protocol";
import { z } from "zod";
import { plainLine } from "../prompt/plain-line.ts";
import { objectFromText, type FrontMatter } from "./front-matter.ts";

export interface SkillGates {
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
  readonly gates: SkillGates;
}

export type ManifestReading =
  | { readonly ok: true; readonly manifest: SkillManifest; readonly notes: readonly string[] }
  | { readonly ok: false; readonly reason: string };

const nameChars = 64;
/** Of the Agent Skills format. */
const descriptionChars = 1024;
const listItems = 50;

/** Ours first; the others are how skills of OpenClaw and of its earlier name are written. */
const metadataKeys = ["parley", "openclaw", "clawdbot"] as const;

const text = z.union([z.string(), z.number().transform(String)]);

const flag = z.union([
  z.boolean(),
  z
    .string()
    .transform((value) => value.trim().toLowerCase())
    .pipe(z.enum(["true", "false", "yes", "no", "on", "off"]))
    .transform((value) => ["true", "yes", "on"].includes(value)),
]);

/** A list, or one text with commas. */
const list = z
  .union([z.array(text), text.transform((value) => value.split(","))])
  .transform((items) => [...new Set(items.map((item) => item.trim()).filter((item) => item !== ""))])
  .pipe(z.array(z.string().max(128)).max(listItems));

const fields = z.object({
  name: text.nullish(),
  description: text.nullish(),
  homepage: text.nullish(),
  "user-invocable": flag.nullish(),
  "disable-model-invocation": flag.nullish(),
  "command-dispatch": text.nullish(),
  "command-tool": text.nullish(),
  "command-arg-mode": text.nullish(),
});

const requirements = { bins: list.nullish(), anyBins: list.nullish(), env: list.nullish(), config: list.nullish() };
const block = z.object({
  ...requirements,
  always: flag.nullish(),
  os: list.nullish(),
  emoji: text.nullish(),
  homepage: text.nullish(),
  primaryEnv: text.nullish(),
  skillKey: text.nullish(),
  requires: z.object(requirements).nullish(),
});

/** `folderName` stands in for a missing name. */
export function skillManifest({ data, notes: earlier }: FrontMatter & { readonly ok: true }, folderName: string): ManifestReading {
  const notes = [...earlier];
  const read = fields.safeParse(data);
  if (!read.success) return { ok: false, reason: problemIn(read.error, "") };
  const named = nameOf(read.data.name ?? folderName);
  if (named === null) {
    return {
      ok: false,
      reason: `its name ${JSON.stringify(plainLine(String(read.data.name ?? folderName), 80))} cannot be used: a name has letters, digits, "-", "_", "." and spaces, begins with a letter or digit, and has at most ${nameChars} characters`,
    };
  }
  if (read.data.name === undefined || read.data.name === null) notes.push("it has no name; its folder's stands in");
  const description = plainLine((read.data.description ?? "").replaceAll(/\s+/g, " "), Number.MAX_SAFE_INTEGER);
  if (description === "") return { ok: false, reason: "it has no description, by which it would be chosen" };
  if (description.length > descriptionChars) notes.push(`its description is cut at ${descriptionChars} characters`);

  const found = metadataOf(data, notes);
  if (!found.ok) return found;
  const meta = found.block;
  const primaryEnv = primaryEnvOf(meta.primaryEnv ?? undefined, notes);
  const homepage = homepageOf(read.data.homepage ?? meta.homepage ?? undefined);
  const dispatch = dispatchOf(read.data, notes);
  if ("allowed-tools" in data) notes.push("allowed-tools is not acted on: a skill grants no tool");
  return {
    ok: true,
    notes,
    manifest: {
      name: named,
      description: plainLine(description, descriptionChars),
      ...(homepage === undefined ? {} : { homepage }),
      ...(meta.emoji === undefined || meta.emoji === null ? {} : { emoji: plainLine(meta.emoji, 16) }),
      userInvocable: read.data["user-invocable"] ?? true,
      modelInvocable: read.data["disable-model-invocation"] !== true,
      ...(dispatch === undefined ? {} : { dispatch }),
      key: plainLine(meta.skillKey ?? named, nameChars),
      ...(primaryEnv === undefined ? {} : { primaryEnv }),
      gates: {
        always: meta.always ?? false,
        os: (meta.os ?? []).map(platformName),
        bins: both(meta.requires?.bins, meta.bins),
        anyBins: both(meta.requires?.anyBins, meta.anyBins),
        env: both(meta.requires?.env, meta.env),
        config: both(meta.requires?.config, meta.config),
      },
    },
  };
}

/** Two skills are the same one when this is equal: case and look-alike forms of a letter do not make another. */
export function skillId(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

function nameOf(raw: string): string | null {
  const name = raw.normalize("NFKC").trim();
  return name.length <= nameChars && /^[\p{L}\p{N}][\p{L}\p{N}\p{M} ._-]*$/u.test(name) && !name.includes("..") ? name : null;
}

type Block = z.output<typeof block>;

/** Where nothing is said, everything has its default; what is said and cannot be read refuses the skill. */
function metadataOf(
  data: { readonly [key: string]: unknown },
  notes: string[],
): { readonly ok: true; readonly block: Block } | { readonly ok: false; readonly reason: string } {
  const metadata = objectOf(data["metadata"]);
  if (metadata === null) {
    return { ok: false, reason: "its metadata is neither keys and values nor JSON, so its requirements cannot be known" };
  }
  for (const [at, holder] of [["metadata.", metadata] as const, ["", data] as const]) {
    for (const key of metadataKeys) {
      if (!Object.hasOwn(holder, key) || holder[key] === null) continue;
      const value = objectOf(holder[key]);
      if (value === null)
        return { ok: false, reason: `${at}${key} is neither keys and values nor JSON, so its requirements cannot be known` };
      const read = block.safeParse(value);
      if (!read.success) return { ok: false, reason: problemIn(read.error, `${at}${key}.`) };
      if (Object.hasOwn(value, "install")) notes.push("its install recipes are not acted on: nothing is installed for a skill");
      return { ok: true, block: read.data };
    }
  }
  return { ok: true, block: {} };
}

/** Text is read as JSON; null when it is neither. */
function objectOf(value: unknown): { readonly [key: string]: unknown } | null {
  if (value === undefined || value === null) return {};
  if (typeof value === "string") return value.trim() === "" ? {} : objectFromText(value);
  return typeof value === "object" && !Array.isArray(value) ? (value as { [key: string]: unknown }) : null;
}

function problemIn(error: z.ZodError, prefix: string): string {
  const [issue] = error.issues;
  const path = issue?.path.map(String).join(".") ?? "";
  return `${prefix}${path} cannot be read: ${issue?.code === "invalid_union" ? "it has another form than expected" : (issue?.message ?? "it has another form than expected")}`;
}

function both(first: readonly string[] | null | undefined, second: readonly string[] | null | undefined): readonly string[] {
  return [...new Set([...(first ?? []), ...(second ?? [])])];
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

function homepageOf(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  return /^https?:$/.test(new URL(url).protocol) ? plainLine(url, 400) : undefined;
}

function dispatchOf(read: z.output<typeof fields>, notes: string[]): { readonly tool: string } | undefined {
  const how = read["command-dispatch"];
  if (how === undefined || how === null) return undefined;
  const tool = (read["command-tool"] ?? "").trim();
  const mode = (read["command-arg-mode"] ?? "raw").trim().toLowerCase();
  if (how.trim().toLowerCase() !== "tool")
    notes.push(`command-dispatch ${JSON.stringify(plainLine(how, 40))} is not known; its command asks the model`);
  else if (!/^[A-Za-z][\w.:-]{0,63}$/.test(tool)) notes.push("command-dispatch needs command-tool; its command asks the model");
  else if (mode !== "raw") notes.push(`command-arg-mode ${JSON.stringify(plainLine(mode, 40))} is not known; its command asks the model`);
  else return { tool };
  return undefined;
}
