// The control plane's methods for what is stored of one person: forget it, or hand it out.
import { z } from "zod";

const person = z.string().min(1).max(512);

const told = {
  /** As the operator named them. */
  person: z.string(),
  /** `<channel>:<id>` of each account that `session.identityLinks` says is theirs. */
  ids: z.array(z.string()),
  /** Sessions that are theirs alone. */
  sessions: z.array(z.string()),
  /** Sessions of several people in which they wrote. */
  shared: z.array(z.string()),
};

export const peopleMethods = {
  /**
   * Shows how much is stored of a person; with `confirm` removes it for good, their lines in shared sessions
   * too. Refused while something of theirs is at work.
   */
  "people.forget": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({ person, confirm: z.boolean().optional() }),
    result: z.object({
      ...told,
      done: z.boolean(),
      /** What goes, by what it is. */
      counts: z.record(z.string(), z.number().int()),
      /** Records of others that lose a name or a quotation. */
      rewritten: z.number().int(),
      /** Display names that go with them where they wrote. */
      names: z.array(z.string()),
      /** Sessions and conversations in which something of theirs is at work. */
      busy: z.array(z.string()),
      /** What it does not reach, in words for a person. */
      notes: z.array(z.string()),
    }),
  },
  /**
   * Writes what is stored of a person into a new folder on the gateway's machine, or into a tar file where
   * the path ends in `.tar`. Takes an absolute path.
   */
  "people.export": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({ person, path: z.string().min(1).max(4096) }),
    result: z.object({
      ...told,
      path: z.string(),
      /** What was written, by what it is. */
      counts: z.record(z.string(), z.number().int()),
      bytes: z.number().int(),
    }),
  },
} as const;
