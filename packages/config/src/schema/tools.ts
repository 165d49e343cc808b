// tools.*: which tools agents have, what commands may run, and where: rules, exec, files, the sandbox.
import { z } from "zod";
import { webSchema } from "./web.ts";

const toolProfiles = ["minimal", "coding", "messaging", "full"] as const;

const names = z.array(z.string().min(1).max(200));

export const toolRules = {
  allow: names
    .exactOptional()
    .describe(
      'The only tools: names, groups such as "group:fs", patterns such as "web_*". Default: no limit; []: none.',
    ),
  deny: names.exactOptional().describe("Tools that are taken away; wins over everything that allows them."),
};

const policy = {
  profile: z
    .enum(toolProfiles)
    .exactOptional()
    .describe(
      '"minimal" (session status), "coding" (files, commands, memory, sessions), "messaging", "full" (all). Default: full.',
    ),
  ...toolRules,
  alsoAllow: names.exactOptional().describe("Added to what the profile has. Not together with allow."),
};

const oneOfTwo = { error: "allow and alsoAllow cannot stand together: allow already says all" };
const noBoth = ({ allow, alsoAllow }: { readonly allow?: unknown; readonly alsoAllow?: unknown }): boolean =>
  allow === undefined || alsoAllow === undefined;

const byProvider = z
  .record(z.string().min(1), z.strictObject(policy).refine(noBoth, oneOfTwo))
  .default({})
  .describe('Narrows the tools for models, by "PROVIDER" or "PROVIDER/MODEL".');

const argPattern = z.string().min(1).max(1_000).refine(isPattern, { error: "not a regular expression" });
const allowedCommand = z
  .union(
    [
      z.string().min(1),
      z.strictObject({
        command: z.string().min(1).describe("A name found in the system's folders, or an absolute path."),
        argPattern: argPattern
          .exactOptional()
          .describe("Regular expression that all arguments, joined by spaces, must match as a whole."),
      }),
    ],
    { error: 'an allowed command is "NAME" or { command: "NAME", argPattern: "…" }' },
  )
  .transform((command) => (typeof command === "string" ? { command } : command));

/** Nothing runs that nobody named or approved. The time is what users of this field know. */
export const execDefaults = {
  mode: "allowlist",
  ask: "on-miss",
  allowlist: [],
  timeoutSeconds: 1_800,
} as const;

const modes = ["deny", "allowlist", "full"] as const;
const execFields = {
  mode: z
    .enum(modes)
    .exactOptional()
    .describe(
      `"deny" (no commands), "allowlist" (those listed; others are asked about), "full" (all). Default: ${execDefaults.mode}.`,
    ),
  security: z.enum(modes).exactOptional().describe("Another name for mode."),
  ask: z
    .enum(["off", "on-miss", "always"])
    .exactOptional()
    .describe(
      `When a person is asked: "off" (never; what is not allowed is refused), "on-miss", "always". Default: ${execDefaults.ask}.`,
    ),
  allowlist: z
    .array(allowedCommand)
    .exactOptional()
    .describe(
      "Commands that run without being asked about: by name those that only look; others with an argPattern, in owners' turns. Default: none.",
    ),
  timeoutSeconds: z
    .number()
    .int()
    .min(1)
    .max(86_400)
    .exactOptional()
    .describe(
      `Longest time of one command unless it asks for another, in seconds. Default: ${execDefaults.timeoutSeconds}.`,
    ),
};
const oneMode = { error: "mode and security are two names of one setting: keep one" };
const noTwoModes = ({ mode, security }: { readonly mode?: unknown; readonly security?: unknown }): boolean =>
  mode === undefined || security === undefined;
const exec = z.strictObject(execFields).refine(noTwoModes, oneMode);

export const toolsSchema = z
  .strictObject({
    rehearsal: z
      .boolean()
      .default(false)
      .describe("Whether the agent has the tools echo, append and sleep, made for trying the machinery."),
    ...policy,
    byProvider,
    toolsBySender: z
      .record(z.string().min(1), z.strictObject(toolRules))
      .default({})
      .describe('Narrows the tools for people, by "<channel>:<id>"; "*" is everybody who is not listed.'),
    exec: exec.prefault({}).describe("Commands."),
    fs: z
      .strictObject({
        readRoots: z
          .array(z.string().min(1))
          .default([])
          .describe("Folders beside the workspace whose files may be read."),
      })
      .prefault({})
      .describe("Files."),
    sandbox: z
      .strictObject({
        tools: z.strictObject(toolRules).exactOptional().describe("Which tools are left there."),
      })
      .prefault({})
      .describe("Sandboxed sessions."),
    subagents: z
      .strictObject({
        tools: z.strictObject(toolRules).exactOptional().describe("Which tools are left to them."),
      })
      .prefault({})
      .describe("Sub-agents."),
    sessions: z
      .strictObject({
        visibility: z
          .enum(["self", "tree", "agent", "all"])
          .default("tree")
          .describe(
            'Which sessions an owner\'s turn may see and write to: "self", "tree" (its own and its sub-agents), "agent" (all of the agent), "all". Others never reach beyond their tree.',
          ),
      })
      .prefault({})
      .describe("What tools reach of other sessions."),
    message: z
      .strictObject({
        crossContext: z
          .enum(["off", "owner", "all"])
          .default("owner")
          .describe(
            'Where the message tool may write beside the turn\'s own conversation: "off" (nowhere), "owner" (in owners\' turns, to people and places that wrote to the agent), "all" (in every turn, to every place that the access rules serve).',
          ),
      })
      .prefault({})
      .describe("The message tool."),
    web: webSchema,
    taint: z
      .enum(["ask", "off"])
      .default("ask")
      .describe(
        'After a turn has read text of strangers (web pages, search results): "ask" (what sends or spends outside waits for an owner\'s approval), "off" (nobody is asked).',
      ),
    agentToAgent: z
      .strictObject({
        enabled: z
          .boolean()
          .default(false)
          .describe('Whether sessions of one agent may reach those of another, with visibility: "all".'),
        allow: z
          .array(z.string().min(1))
          .default(["*"])
          .describe('The agents that take part, by id; "*" is all.'),
      })
      .prefault({})
      .describe("Messages between agents."),
  })
  .refine(noBoth, oneOfTwo)
  .prefault({})
  .describe("Tools.");

export const agentToolsSchema = z
  .strictObject({
    ...policy,
    byProvider,
    exec: exec.exactOptional().describe("In place of what tools.exec says, key by key."),
  })
  .refine(noBoth, oneOfTwo)
  .describe("Narrows the tools of this agent; its profile stands in for tools.profile.");

export const sandboxDefaults = {
  mode: "off",
  backend: "bubblewrap",
  scope: "agent",
  workspaceAccess: "none",
  network: false,
  memoryMb: 1_024,
  pidsLimit: 256,
  cpuSeconds: 600,
  docker: { image: "debian:stable-slim" },
} as const;

const sandboxFields = {
  mode: z
    .enum(["off", "non-main", "all"])
    .exactOptional()
    .describe(
      `Which sessions are sandboxed: "off" (none), "non-main" (all but the agent's main session), "all". Default: ${sandboxDefaults.mode}.`,
    ),
  backend: z
    .enum(["bubblewrap", "docker"])
    .exactOptional()
    .describe(`What makes the sandbox. Default: ${sandboxDefaults.backend}.`),
  scope: z
    .enum(["session", "agent", "shared"])
    .exactOptional()
    .describe(
      `Who works in one folder where the workspace is not mounted. Default: ${sandboxDefaults.scope}.`,
    ),
  workspaceAccess: z
    .enum(["none", "ro", "rw"])
    .exactOptional()
    .describe(
      `What of the workspace is inside: "none" (an empty folder in its place), "ro" (read-only), "rw". Default: ${sandboxDefaults.workspaceAccess}.`,
    ),
  network: z
    .union([z.boolean(), z.literal("egress")], {
      error: 'is true, false or "egress" (the web alone, by the rules of tools.web.egress)',
    })
    .exactOptional()
    .describe(
      `Whether commands reach the network: false, true (as the gateway itself), or "egress" (the web alone, by the rules of tools.web.egress; bubblewrap alone). Default: ${sandboxDefaults.network}.`,
    ),
  memoryMb: z
    .number()
    .int()
    .min(16)
    .max(1_048_576)
    .exactOptional()
    .describe(`Most memory, in megabytes. Default: ${sandboxDefaults.memoryMb}.`),
  pidsLimit: z
    .number()
    .int()
    .min(4)
    .max(65_536)
    .exactOptional()
    .describe(`Most processes. Default: ${sandboxDefaults.pidsLimit}.`),
  cpuSeconds: z
    .number()
    .int()
    .min(1)
    .max(86_400)
    .exactOptional()
    .describe(`Most processor time of one process, in seconds. Default: ${sandboxDefaults.cpuSeconds}.`),
  docker: z
    .strictObject({
      image: z
        .string()
        .regex(/^[\w][\w.:/@-]*$/, { error: "not the name of an image" })
        .exactOptional()
        .describe(`The container's image. Default: ${sandboxDefaults.docker.image}.`),
    })
    .prefault({})
    .describe("With backend docker."),
};

/** Where commands run and what they see there. */
export const sandboxSchema = z.strictObject(sandboxFields);

/**
 * By itself: "a)|(b" would be one only inside the group that holds it to all arguments, and free it of that.
 */
function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    // "Not a pattern" is only said by throwing.
    return false;
  }
}
