// The control plane's methods for skills: list them with the reason why one is not used, show one, install
// one. Installing runs no code of the skill.
import { z } from "zod";

const path = z.string().min(1).max(4096);
const agentId = z.string().min(1).max(64);
const skillSource = z.enum(["workspace", "managed", "bundled", "extra"]);

const skill = z.object({
  name: z.string(),
  description: z.string(),
  source: skillSource,
  /** Path of its SKILL.md. */
  file: z.string(),
  status: z.enum(["ready", "disabled", "unmet", "not allowed"]),
  /** Why it is not ready. */
  reason: z.string().nullable(),
  /** Its chat command; null when people may not call it, or not at the moment. */
  command: z.string().nullable(),
  userInvocable: z.boolean(),
  modelInvocable: z.boolean(),
  /** The tool that its command runs directly. */
  tool: z.string().nullable(),
  emoji: z.string().nullable(),
  /** Oddities in its file, and the parts of it that were ignored. */
  notes: z.array(z.string()),
});

export const skillMethods = {
  /**
   * Lists an agent's skills (default: the default agent): those in use, those they shadow, and those refused,
   * with the reason.
   */
  "skills.list": {
    scope: "read",
    sessions: "none",
    needs: "config",
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
      /** Roots that hold more folders than Parley reads. */
      cut: z.array(z.string()),
    }),
  },
  "skills.info": {
    scope: "read",
    sessions: "none",
    needs: "config",
    /** Finds a skill by name or command. */
    params: z.object({ agent: agentId.optional(), name: z.string().min(1).max(256) }),
    result: skill.extend({
      /** Its key in `skills.entries` of the config. */
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
      /** Passages in its text that a person should check. */
      warnings: z.array(z.string()),
      /** Files of skills with the same name that it shadows. */
      shadows: z.array(z.string()),
    }),
  },
  /**
   * Copies a skill from a folder or an archive on the gateway's machine into the managed root and runs none
   * of it. Takes an absolute path.
   */
  "skills.install": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.object({ path, force: z.boolean().optional() }),
    result: z.object({
      name: z.string(),
      folder: z.string(),
      files: z.number().int(),
      /** Hash over all file names and contents. */
      sha256: z.string(),
      replaced: z.boolean(),
      notes: z.array(z.string()),
      warnings: z.array(z.string()),
    }),
  },
} as const;
