// Runs the fake Discord as a program: `node packages/testkit/src/discord/main.ts --port 8082 [--token <token>
// ...] [--no-limits]`. Without --token it takes any token for a new bot. control.ts describes its remote
// control.
import { parseArgs } from "node:util";
import { fakeDiscord } from "./fake.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    token: { type: "string", multiple: true, default: [] },
    "no-limits": { type: "boolean", default: false },
  },
});
const fake = await fakeDiscord({
  port: Number(values.port),
  anyToken: values.token.length === 0,
  rateLimits: !values["no-limits"],
});
for (const token of values.token) fake.bot(token);
process.stdout.write(`fake Discord API: ${fake.apiRoot}\n`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void fake.close());
