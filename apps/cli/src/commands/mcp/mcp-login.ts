// `parley mcp login|logout`: a person opens an address in a browser, which leads back to this command on
// loopback; where the browser runs on another machine, the address that it ends at is pasted instead.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createInterface } from "node:readline/promises";
import { systemClock } from "@parley/protocol";
import { document, line, words, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withGateway } from "../../with-gateway.ts";
import { tellServer } from "./mcp.ts";

const waitMs = 600_000;
const page =
  "<!doctype html><title>Parley</title><p>Done. You can close this window and go back to the terminal.";

export interface LoginFlags {
  /** Of an earlier call with `--print`. */
  readonly answer?: string;
  readonly port?: string;
  readonly print?: boolean;
}

export async function mcpLogin(terminal: Console, name: string, flags: LoginFlags): Promise<ExitCode> {
  if (flags.answer !== undefined) return finish(terminal, name, flags.answer);
  const callback = await listening(portOf(flags.port));
  try {
    const { url } = await withGateway(terminal, (client) =>
      client.request("mcp.login.start", { name, redirectUrl: callback.url }),
    );
    if (flags.print === true) {
      if (terminal.json) document(terminal.out, { name, url });
      else {
        line(terminal.out, url);
        line(terminal.err, `Then: parley mcp login ${name} --answer ADDRESS`);
      }
      return exitCodes.ok;
    }
    words(terminal.err, `Open this address in a browser, and say yes there:\n\n${url}\n`);
    line(terminal.err, "Where that browser runs on another machine, paste the address that it ends at:");
    return await finish(terminal, name, await answered(callback.answer, terminal));
  } finally {
    callback.close();
  }
}

export async function mcpLogout(terminal: Console, name: string): Promise<ExitCode> {
  const done = await withGateway(terminal, (client) => client.request("mcp.logout", { name }));
  if (terminal.json) document(terminal.out, done);
  else line(terminal.out, done.wasLoggedIn ? `Logged out of ${name}.` : `Nobody was logged in to ${name}.`);
  return exitCodes.ok;
}

async function finish(terminal: Console, name: string, answer: string): Promise<ExitCode> {
  const server = await withGateway(terminal, (client) =>
    client.request("mcp.login.finish", { name, answer }),
  );
  if (terminal.json) document(terminal.out, server);
  else tellServer(terminal, server, true);
  return exitCodes.ok;
}

/** What comes first: the browser's call, or a line. */
async function answered(called: Promise<string>, { input }: Console): Promise<string> {
  const lines = createInterface({ input });
  const pasted = (async () => {
    for await (const each of lines) if (each.trim() !== "") return each;
    return new Promise<string>(() => {}); // No more input: the browser may still come.
  })();
  const late = Promise.withResolvers<never>();
  const timer = systemClock().after(waitMs, () =>
    late.reject(new CommandFailure("unavailable", "Nobody logged in within ten minutes.", exitCodes.failed)),
  );
  try {
    return await Promise.race([called, pasted, late.promise]);
  } finally {
    timer.cancel();
    lines.close();
  }
}

async function listening(port: number) {
  const answer = Promise.withResolvers<string>();
  let url = "";
  const server: Server = createServer((request, response) => {
    const asked = new URL(request.url ?? "/", url);
    const isCallback = asked.pathname === "/callback" && asked.search !== "";
    response.writeHead(isCallback ? 200 : 404, {
      "content-type": "text/html; charset=utf-8",
      connection: "close",
    });
    response.end(isCallback ? page : "");
    if (isCallback) answer.resolve(asked.href);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/callback`;
  return {
    url,
    answer: answer.promise,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function portOf(text = "0"): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new CommandFailure(
      "invalid",
      `--port takes a number up to 65535, not ${JSON.stringify(text)}`,
      exitCodes.usage,
    );
  return port;
}
