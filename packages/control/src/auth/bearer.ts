// Identifies callers over plain HTTP by the Authorization header's token alone. A token in a URL would end up
// in every log on its way.
import type { IncomingMessage } from "node:http";
import { Fault, protocolRange, type Scope } from "@parley/protocol";
import type { Refusals } from "@parley/access";
import type { Authenticate, Caller } from "./authenticate.ts";
import type { RemoteOf } from "./remote-address.ts";

export interface BearerOptions {
  readonly authenticate: Authenticate;
  readonly remoteOf: RemoteOf;
  readonly refusals: Refusals;
}

/**
 * Rejects with Fault "denied" without the scope, "rate_limited" when wrong tokens are many; with
 * `Unauthorized` for an unknown token.
 */
export type CallerOf = (request: IncomingMessage, scope: Scope) => Promise<Caller>;

export function bearerCaller({ authenticate, remoteOf, refusals }: BearerOptions): CallerOf {
  return async (request, scope) => {
    const token = bearerToken(request.headers.authorization);
    const from = remoteOf(request);
    const path = pathOf(request);
    if (token === null) {
      refusals.note("no_credential", from.address, { address: from.address, path });
      throw new Unauthorized("send the gateway's token, or a device's, as \"Authorization: Bearer TOKEN\"");
    }
    const client = { name: "http", version: "" };
    const { caller } = await authenticate({ protocol: protocolRange, client, auth: { token } }, from).catch(
      (error: unknown) => {
        throw error instanceof Fault && error.code === "denied" ? new Unauthorized(error.message) : error;
      },
    );
    if (caller.scopes.includes(scope)) return caller;
    refusals.note("scope", from.address, { address: from.address, device: caller.device, path, scope });
    throw new Fault("denied", `this needs the scope "${scope}", which this token does not have`);
  };
}

/** Returns the path for the log, without the query, which may hold a secret. */
export function pathOf({ url = "" }: Pick<IncomingMessage, "url">): string {
  return url.split("?", 1)[0]?.slice(0, 200) ?? "";
}

export class Unauthorized extends Fault {
  constructor(message: string) {
    super("denied", message);
  }
}

/** Returns null for another scheme or more than one word. */
export function bearerToken(header: string | undefined): string | null {
  return /^Bearer +(\S{1,512}) *$/i.exec(header ?? "")?.[1] ?? null;
}
