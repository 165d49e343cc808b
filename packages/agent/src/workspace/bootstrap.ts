// Selects the workspace files of a session, read fresh each turn, passed through the `agent:bootstrap` hooks
// and cut to the caps. MEMORY.md reaches private conversations only, BOOTSTRAP.md new workspaces only;
// subagents get AGENTS.md and TOOLS.md.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "@parley/protocol";
import type { Audience, PromptMode } from "../prompt-mode.ts";
import { stripChatTokens } from "../untrusted.ts";
import { type OriginOf, ownersAlone } from "./origin.ts";
import { rootedReader } from "./read-rooted.ts";
import {
  type BootstrapFile,
  type BootstrapName,
  bootstrapNames,
  type BootstrapSnapshot,
} from "./snapshot.ts";
import { type BootstrapCaps, trimToCaps } from "./trim.ts";

export interface BootstrapRequest {
  readonly workspace: string;
  readonly mode: PromptMode;
  readonly audience: Audience;
  /** HEARTBEAT.md belongs into the prompt: heartbeats are on and not kept out of it. */
  readonly heartbeats: boolean;
  /** No other file. */
  readonly only?: BootstrapName;
  readonly agent: string;
  readonly session: string;
  /** Who wrote the files, where that was not an owner. */
  readonly originOf?: OriginOf;
  /** Marks lines of the agent's notes that a turn wrote which had read text of strangers. */
  readonly marked?: (name: BootstrapName, text: string) => Promise<string>;
}

/** What a hook may set: a file's text, or null for a missing one. */
export interface HookFile {
  readonly name: BootstrapName;
  readonly path: string;
  readonly text: string | null;
  /**
   * Why a file that is there has no text: a link out of the workspace, a size beyond all bounds, no right to
   * read it.
   */
  readonly refused?: string;
}

/**
 * May replace, add or remove files. Gate and caps are applied to what the last hook returned. A throw keeps
 * the files as they were.
 */
export type BootstrapHook = (
  files: readonly HookFile[],
  request: BootstrapRequest,
) => Promise<readonly HookFile[]>;

export interface BootstrapOptions {
  readonly caps: BootstrapCaps;
  /**
   * Folder of the default files: a workspace whose own are still these is new. Absent: none is known to be
   * filled in.
   */
  readonly templates?: string | undefined;
  readonly hooks: readonly BootstrapHook[];
  readonly log: Log;
}

export interface Bootstrap {
  load(request: BootstrapRequest): Promise<BootstrapSnapshot>;
}

const forSubagents: ReadonlySet<BootstrapName> = new Set(["AGENTS.md", "TOOLS.md"]);
/** What turns note for later turns. */
const curated: ReadonlySet<BootstrapName> = new Set(["MEMORY.md", "USER.md"]);
/** Not everyone has these, so their absence is not worth a marker. */
const silentWhenMissing: ReadonlySet<BootstrapName> = new Set(["HEARTBEAT.md", "MEMORY.md", "BOOTSTRAP.md"]);

export function bootstrapFiles(options: BootstrapOptions): Bootstrap {
  const reader = rootedReader();
  /** Files are read for every turn; each reason is worth one line, until it changes. */
  const refusals = new Map<string, string>();
  const readOne = async (
    name: BootstrapName,
    request: BootstrapRequest,
    notes: Map<BootstrapName, string>,
  ): Promise<HookFile> => {
    const path = join(request.workspace, name);
    const file = await reader.read(request.workspace, name);
    const origin = file.state === "present" ? (request.originOf ?? ownersAlone)(path, file.sha256) : null;
    if (origin !== null) notes.set(name, `${origin.reason} (${origin.who})`);
    if (file.state === "refused" || origin?.use === "leave out") {
      const reason = file.state === "refused" ? file.reason : `${path} is not injected: ${origin?.reason}`;
      notes.set(name, notes.get(name) ?? reason);
      if (refusals.get(path) !== reason)
        options.log.warn({ path, session: request.session, reason }, "workspace file refused");
      refusals.set(path, reason);
      return { name, path, text: null, refused: reason };
    }
    refusals.delete(path);
    if (file.state !== "present") return { name, path, text: null };
    const text = curated.has(name) ? ((await request.marked?.(name, file.text)) ?? file.text) : file.text;
    return { name, path, text: origin === null ? text : `[${origin.reason}]\n\n${text}` };
  };
  const { templates } = options;
  const templateOf = stampedTexts();
  const isFilledIn = ({ name, text }: HookFile): boolean => {
    if (templates === undefined || text === null) return false;
    // It may be gone while Parley is replaced, or out of files: a turn must not end by that, so it is not
    // known to be filled in.
    const template = templateOf(join(templates, name));
    return template !== null && text.trim() !== template.trim();
  };
  /**
   * Nothing was learned in it: who the agent is and whom it helps is not written down, and there are no
   * notes.
   */
  function isNew(files: readonly HookFile[], { workspace }: BootstrapRequest): boolean {
    if (!files.some(({ name, text }) => name === "BOOTSTRAP.md" && text !== null)) return true;
    return !files.some((file) => aboutPeople.has(file.name) && isFilledIn(file)) && !hasNotes(workspace);
  }
  return {
    async load(request) {
      const gated = (name: BootstrapName): boolean => allowed(name, request);
      const notes = new Map<BootstrapName, string>();
      const read = await Promise.all(
        bootstrapNames.filter(gated).map((name) => readOne(name, request, notes)),
      );
      let files: readonly HookFile[] = isNew(read, request)
        ? read
        : read.filter(({ name }) => name !== "BOOTSTRAP.md");
      for (const hook of options.hooks) files = await hooked(hook, files, request, options.log);
      const byName = new Map(files.map((file) => [file.name, file]));
      const present = bootstrapNames.filter(gated).flatMap((name) => {
        const file = byName.get(name);
        const isAbsent =
          (file?.text === null && file.refused === undefined) ||
          (name === "HEARTBEAT.md" && saysNothing(file?.text));
        return file === undefined || (isAbsent && silentWhenMissing.has(name))
          ? []
          : [bootstrapFile(file, notes.get(name))];
      });
      return trimToCaps({ files: present }, options.caps);
    },
  };
}

/** What the first talk fills in. */
const aboutPeople: ReadonlySet<BootstrapName> = new Set(["IDENTITY.md", "USER.md"]);

function hasNotes(workspace: string): boolean {
  return (
    namesIn(workspace).includes("MEMORY.md") ||
    namesIn(join(workspace, "memory")).some((name) => !name.startsWith("."))
  );
}

/** Every turn in a new workspace looks: in microseconds, where asking a thread takes ten times that. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // Not there: none.
  }
}

/** Reads a few files that hardly change, each again only when it did; null when it cannot be read. */
function stampedTexts(): (path: string) => string | null {
  const known = new Map<string, { readonly stamp: string; readonly text: string }>();
  return (path) => {
    try {
      const { ino, size, mtimeMs, ctimeMs } = statSync(path);
      const stamp = [ino, size, mtimeMs, ctimeMs].join(":");
      const before = known.get(path);
      if (before?.stamp === stamp) return before.text;
      const text = readFileSync(path, "utf8");
      known.set(path, { stamp, text });
      return text;
    } catch {
      return null;
    }
  };
}

/** Headings, comments and empty items alone. */
export function saysNothing(text: string | null | undefined): boolean {
  const lines = (text ?? "").replaceAll(/<!--[\s\S]*?(?:-->|$)/g, "").split(/[\r\n]/);
  return (
    typeof text === "string" && lines.every((line) => /^\s*(?:#.*|[-*+](?:\s*\[[ xX]?\])?\s*)?$/.test(line))
  );
}

function allowed(name: BootstrapName, { mode, audience, heartbeats, only }: BootstrapRequest): boolean {
  if (mode === "none" || (only !== undefined && name !== only)) return false;
  if (mode === "minimal") return forSubagents.has(name);
  if (name === "MEMORY.md") return audience === "private";
  return name !== "HEARTBEAT.md" || heartbeats;
}

function bootstrapFile({ name, path, text, refused }: HookFile, told: string | undefined): BootstrapFile {
  const note = told === undefined ? {} : { note: told };
  if (text === null && refused !== undefined)
    return { name, path, state: "refused", text: refused, rawChars: 0, truncated: false, ...note };
  if (text === null) return { name, path, state: "missing", text: "", rawChars: 0, truncated: false };
  return {
    name,
    path,
    state: "present",
    text: stripChatTokens(text.trim()),
    rawChars: text.length,
    truncated: false,
    ...note,
  };
}

async function hooked(
  hook: BootstrapHook,
  files: readonly HookFile[],
  request: BootstrapRequest,
  log: Log,
): Promise<readonly HookFile[]> {
  try {
    return await hook(files, request);
  } catch (error) {
    // A broken hook must not silence the agent: the files stay as they were, and operators read why.
    log.error({ err: error, session: request.session }, "agent:bootstrap hook failed");
    return files;
  }
}
