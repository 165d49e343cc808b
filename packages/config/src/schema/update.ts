// The config says here where releases come from, and whose signature they need.
import { z } from "zod";

export const updateSchema = z
  .strictObject({
    url: z
      .string()
      .max(2_048)
      .regex(/^(?:https:\/\/|http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[:/]|\/)/, {
        error: "neither an https address nor the absolute path of a folder",
      })
      .exactOptional()
      .describe(
        "Where `parley update` looks for releases: an https address, or a folder. Absent: nowhere. It is asked only when somebody asks for an update or a look.",
      ),
    publicKey: z
      .string()
      .max(4_096)
      .regex(/^-----BEGIN PUBLIC KEY-----/, { error: "no public key in PEM" })
      .exactOptional()
      .describe(
        "Releases are taken only if they are signed by this Ed25519 key, in PEM. Absent: by their sums alone.",
      ),
    watchSeconds: z
      .number()
      .int()
      .min(1)
      .max(3_600)
      .default(60)
      .describe(
        "How long a new version has to do well before the update is done; if it does not, the version before comes back.",
      ),
  })
  .prefault({})
  .describe("Updates of Parley itself.");
