// The control plane's methods about skills: what an agent uses and why not, one skill whole, taking one in. An install runs nothing of it.
import { z } from "zod";

const path = z.string().min(1).max(4096);
const agentId = z.string().min(1).max(64);
const skillSource = z.enum(["workspace", "managed", "bundled", "extra"]);

const skill = z.object({
  name: z.string(),
  description: z.string(),
  source: skillSource,
  /** Its SKILL.md. */
  file: z.string(),
  status: z.enum(["ready", "disabled", "unmet", "not allowed"]),
  /** Why it is not ready. */
  reason: z.string().nullable(),
  /** Its own chat command; null when people may not call it, or not now. */
  command: z.string().nullable(),
  userInvocable: z.boolean(),
  modelInvocable: z.boolean(),
  /** The tool that its command runs. */
  tool: z.string().nullable(),
  emoji: z.string().nullable(),
  /** What is odd about its file, and what of it was left out. */
  notes: z.array(z.string()),
});

export const skillMethods = {
  /** The skills of an agent, the default one when none is named: what is used, what is hidden by it, what is refused and why. */
  "skills.list": {
    scope: "read",
    sessions: "none",
    params: z.object({ agent: agentId.optional() }),
    result: z.object({
      agent: z.string(),
      /** In order of precedence. */
      roots: z.array(z.object({ source: skillSource, path: z.string() })),
      skills: z.array(skill),
      shadowed: z.array(
        z.object({ name: z.string(), source: skillSource, file: z.string(), by: z.string() }),
      ),
      rejected: z.array(z.object({ source: skillSource, file: z.string(), reason: z.string() })),
      /** Roots with more folders than are looked into. */
      cut: z.array(z.string()),
    }),
  },
  "skills.info": {
    scope: "read",
    sessions: "none",
    /** By name or command. */
    params: z.object({ agent: agentId.optional(), name: z.string().min(1).max(256) }),
    result: skill.extend({
      /** Under which `skills.entries` speaks of it. */
      key: z.string(),
      homepage: z.string().nullable(),
      primaryEnv: z.string().nullable(),
      always: z.boolean(),
      requirements: z.array(
        z.object({
          kind: z.enum(["os", "bin", "anyBins", "env", "config"]),
          what: z.string(),
          satisfied: z.boolean(),
        }),
      ),
      /** What in its text a person should look at. */
      warnings: z.array(z.string()),
      /** Files of the same name that it hides. */
      shadows: z.array(z.string()),
    }),
  },
  /** Copies a skill from a folder or an archive on the gateway's machine into the managed root. Runs nothing. Absolute path. */
  "skills.install": {
    scope: "admin",
    sessions: "none",
    params: z.object({ path, force: z.boolean().optional() }),
    result: z.object({
      name: z.string(),
      folder: z.string(),
      files: z.number().int(),
      /** Of all names and contents. */
      sha256: z.string(),
      replaced: z.boolean(),
      notes: z.array(z.string()),
      warnings: z.array(z.string()),
    }),
  },
} as const;
