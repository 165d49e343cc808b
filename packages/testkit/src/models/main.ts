// Runs the fake model servers as a program: `node packages/testkit/src/models/main.ts --port 4010`. It prints
// its address and runs until it is ended. POST /_control/script takes a JSON list of steps, GET
// /_control/requests shows the requests, POST /_control/reset forgets both.
import { parseArgs } from "node:util";
import { fakeModels } from "./fake-models.ts";

const { values } = parseArgs({ options: { port: { type: "string", default: "0" } } });
const server = await fakeModels({ port: Number(values.port) });
process.stdout.write(`${server.url}\n`);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    void server.close().then(() => process.exit(0));
  });
}
