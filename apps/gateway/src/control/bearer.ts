// Who calls over plain HTTP: the token of the Authorization header and nothing else. A token in a URL would stand in every log on its way.
import type { IncomingMessage } from "node:http";
import { Fault, protocolRange, type Scope } from "@parley/protocol";
import type { Authenticate, Caller } from "./authenticate.ts";

/** Throws Fault: "denied" without the scope, `Unauthorized` without a token that is known, "rate_limited" during a lock-out. */
export async function callerOf(request: IncomingMessage, scope: Scope, authenticate: Authenticate): Promise<Caller> {
  const token = bearerToken(request.headers.authorization);
  if (token === null) throw new Unauthorized("send the gateway's token, or a device's, as \"Authorization: Bearer TOKEN\"");
  const { caller } = await authenticate(
    { protocol: protocolRange, client: { name: "http", version: "" }, auth: { token } },
    request.socket.remoteAddress ?? "unknown",
  ).catch((error: unknown) => {
    throw error instanceof Fault && error.code === "denied" ? new Unauthorized(error.message) : error;
  });
  if (!caller.scopes.includes(scope)) throw new Fault("denied", `this needs the scope "${scope}", which this token does not have`);
  return caller;
}

export class Unauthorized extends Fault {
  constructor(message: string) {
    super("denied", message);
  }
}

/** Null for anything else: a scheme of another kind, more than one word. */
export function bearerToken(header: string | undefined): string | null {
  return /^Bearer +(\S{1,512}) *$/i.exec(header ?? "")?.[1] ?? null;
}
