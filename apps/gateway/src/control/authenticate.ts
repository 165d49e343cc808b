// Who is calling, from the first frame. Nothing else is evidence: not the loopback address, not a header, not what the client says of itself.
import { Fault, scopes, type ConnectParams, type Scope } from "@parley/protocol";
import type { Attempts } from "./attempts.ts";
import type { Device, Devices } from "./devices.ts";
import { sameToken } from "./gateway-token.ts";

export interface Caller {
  /** The web peer that speaks: sessions of the web channel hang on it. */
  readonly peer: string;
  readonly scopes: readonly Scope[];
  readonly client: { readonly name: string; readonly version: string };
  /** Id of the device; null for the holder of the gateway's token. */
  readonly device: string | null;
  /** Shows this client, until it leaves, what is shown in one more stream; absent where no connection stays. */
  readonly follow?: (stream: string) => void;
}

export interface Authenticated {
  readonly caller: Caller;
  /** Minted now: the client keeps it. */
  readonly deviceToken?: string;
}

export interface AuthenticateOptions {
  readonly token: string;
  readonly devices: Devices;
  readonly attempts: Attempts;
}

/** Throws Fault("denied") for a wrong credential or a peer that is not the caller's, Fault("rate_limited") during a lock-out. */
export type Authenticate = (params: ConnectParams, remoteAddress: string) => Promise<Authenticated>;

export function authenticator({ token, devices, attempts }: AuthenticateOptions): Authenticate {
  return async ({ auth, client, peer }, remoteAddress) => {
    attempts.check(remoteAddress);
    const wrong = (what: string): Fault => {
      attempts.failed(remoteAddress);
      return new Fault("denied", what);
    };
    if (auth === undefined) throw new Fault("denied", "a token or a login code is needed");
    if ("code" in auth) {
      const device = await devices.redeemCode(auth.code, client.name, auth.deviceToken);
      if (device === null) throw wrong("the login code is wrong, used or older than ten minutes; `parley start` prints a new link");
      return { caller: callerOf(device, client), deviceToken: device.token };
    }
    if (!sameToken(auth.token, token)) {
      const device = await devices.find(auth.token);
      if (device === null) throw wrong("the token is wrong or was revoked");
      if (peer !== undefined && peer !== device.peer) throw new Fault("denied", "this device has another peer");
      return { caller: callerOf(device, client) };
    }
    if (auth.remember === true) {
      const device = await devices.mintDevice(scopes, client.name);
      return { caller: callerOf(device, client), deviceToken: device.token };
    }
    return { caller: { peer: operatorPeer(peer) ?? (await devices.operatorPeer()), scopes, client, device: null } };
  };
}

function callerOf({ id, peer, scopes: granted }: Device, client: Caller["client"]): Caller {
  return { peer, scopes: granted, client, device: id };
}

/** The holder of the gateway's token may speak as any web visitor; only such names are handed out. */
function operatorPeer(peer: string | undefined): string | undefined {
  if (peer === undefined || /^web-[a-z0-9-]{1,64}$/.test(peer)) return peer;
  throw new Fault("denied", `"${peer}" is not the name of a web peer: use "web-" and a-z, 0-9, "-"`);
}
