// mcp.* as the rest of Parley reads it: the transport decided, folders absolute, and what looks like a
// credential wrapped in a Secret, so that logs and answers hide it.
import { expandPath } from "./home.ts";
import { isCredential } from "./credentials.ts";
import type { ConfigFile } from "./schema/root.ts";
import { secret, type Secret } from "./secret.ts";

type FileServer = ConfigFile["mcp"]["servers"][string];

export interface McpServerConfig extends Omit<
  FileServer,
  "env" | "headers" | "oauth" | "transport" | "type"
> {
  readonly transport: "stdio" | "http" | "sse";
  readonly env: { readonly [name: string]: string | Secret };
  readonly headers: { readonly [name: string]: string | Secret };
  readonly oauth: { readonly [name: string]: string | Secret };
}

export interface McpConfig extends Omit<ConfigFile["mcp"], "servers"> {
  readonly servers: { readonly [name: string]: McpServerConfig };
}

export function mcpOf(file: ConfigFile["mcp"], home: string): McpConfig {
  return {
    ...file,
    servers: Object.fromEntries(
      Object.entries(file.servers).map(([name, server]) => [name, serverOf(server, home)]),
    ),
  };
}

function serverOf({ type, transport = type, ...server }: FileServer, home: string): McpServerConfig {
  const kind = transport ?? (server.command === undefined ? "http" : "stdio");
  return {
    ...server,
    transport: kind === "streamable-http" ? "http" : kind,
    ...(server.cwd === undefined ? {} : { cwd: expandPath(server.cwd, home) }),
    env: hidden(server.env),
    headers: hidden(server.headers),
    oauth: {
      ...server.oauth,
      ...(server.oauth.clientSecret === undefined ? {} : { clientSecret: secret(server.oauth.clientSecret) }),
    },
  };
}

function hidden(values: { readonly [name: string]: string }): { readonly [name: string]: string | Secret } {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      isCredential(name.replaceAll("-", "_"), value) ? secret(value) : value,
    ]),
  );
}
