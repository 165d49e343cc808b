// Who calls over plain HTTP: the token of the Authorization header and nothing else. A token in a URL would stand in every log on its way.
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

/** Throws Fault: "denied" without the scope, `Unauthorized` without a token that is known, "rate_limited" where wrong ones are many. */
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

/** For the log: without what stands behind "?", which may be a secret. */
export function pathOf({ url = "" }: Pick<IncomingMessage, "url">): string {
  return url.split("?", 1)[0]?.slice(0, 200) ?? "";
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
