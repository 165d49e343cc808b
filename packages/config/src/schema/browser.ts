// browser: the Chromium that agents drive with the tool of that name.
import { z } from "zod";

export const browserSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe("Whether agents have the tool browser, where there is a Chromium."),
    executablePath: z
      .string()
      .min(1)
      .exactOptional()
      .describe(
        "The Chromium to start. Default: the first of chromium, google-chrome and their like on the PATH.",
      ),
    cdpUrl: z
      .url({ protocol: /^(?:https?|wss?)$/, error: "must be an http or ws URL" })
      .exactOptional()
      .describe(
        "A Chromium that runs elsewhere, by its debugging address. It must be able to reach this machine's loopback for the proxy.",
      ),
    headless: z.boolean().default(true).describe("Without a window."),
    noSandbox: z
      .boolean()
      .default(false)
      .describe(
        "Starts it without its own sandbox, as root it always is: for containers that do not allow one.",
      ),
    evaluateEnabled: z
      .boolean()
      .default(false)
      .describe("Whether agents may run scripts of their own in a page."),
    idleMinutes: z
      .number()
      .min(0.1)
      .max(1_440)
      .default(10)
      .describe("A browser without calls is closed after this long."),
  })
  .prefault({})
  .describe("The browser of agents.");
