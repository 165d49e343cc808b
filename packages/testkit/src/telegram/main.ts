// Runs the fake Telegram as a program: `node packages/testkit/src/telegram/main.ts --port 8081 [--token
// <number>:<secret> ...]`. Without --token it takes any well-formed token for a new bot. control.ts describes
// its remote control.
import { parseArgs } from "node:util";
import { fakeTelegram } from "./fake.ts";

const { values } = parseArgs({
  options: { port: { type: "string", default: "0" }, token: { type: "string", multiple: true, default: [] } },
});
const fake = await fakeTelegram({ port: Number(values.port), anyToken: values.token.length === 0 });
for (const token of values.token) fake.bot(token);
process.stdout.write(`fake Telegram Bot API: ${fake.url}\n`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void fake.close());
