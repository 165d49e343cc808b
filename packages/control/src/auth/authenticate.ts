// Who is calling, from the first frame. Nothing else is evidence: not the loopback address, not a header, not what the client says of itself.
import { Fault, scopes, type ConnectParams, type Scope } from "@parley/protocol";
import type { Refusals } from "@parley/access";
import type { Attempts } from "./login-attempts.ts";
import type { Device, Devices } from "./devices.ts";
import { sameToken } from "@parley/config";
import type { Remote } from "./remote-address.ts";

export interface Caller {
  /** The web peer that speaks: sessions of the web channel hang on it. */
  readonly peer: string;
  readonly scopes: readonly Scope[];
  readonly client: { readonly name: string; readonly version: string };
  /** Id of the device; null for the holder of the gateway's token. */
  readonly device: string | null;
  /** Where it calls from. */
  readonly address: string;
  /** Shows this client, until it leaves, what is shown in one more stream; absent where no connection stays. */
  readonly follow?: (stream: string) => void;
}

interface Authenticated {
  readonly caller: Caller;
  /** Minted now: the client keeps it. */
  readonly deviceToken?: string;
}

export interface AuthenticateOptions {
  /** The gateway's own. */
  readonly tokens: readonly string[];
  readonly devices: Devices;
  readonly attempts: Attempts;
  readonly refusals: Refusals;
}

/**
 * Throws Fault("denied") for a wrong credential or a peer that is not the caller's, Fault("rate_limited") for a wrong one where those are many.
 * A right credential is let in whatever came before it.
 */
export type Authenticate = (params: ConnectParams, from: Remote) => Promise<Authenticated>;

export function authenticator({ tokens, devices, attempts, refusals }: AuthenticateOptions): Authenticate {
  return async ({ auth, client, peer }, from) => {
    const { address } = from;
    const callerOf = ({ id, peer: own, scopes: granted }: Device): Caller => ({
      peer: own,
      scopes: granted,
      client,
      device: id,
      address,
    });
    if (auth === undefined) {
      refusals.note("no_credential", address, { address });
      throw new Fault("denied", "a token or a login code is needed");
    }
    if ("code" in auth) {
      const device = await devices.redeemCode(auth.code, client.name, auth.deviceToken);
      if (device === null) {
        const words =
          "the login code is wrong, used or older than ten minutes; `parley devices link` prints a new link";
        throw await attempts.wrong(from, "wrong_code", words);
      }
      return { caller: callerOf(device), deviceToken: device.token };
    }
    if (!tokens.some((own) => sameToken(auth.token, own))) {
      const device = await devices.find(auth.token);
      if (device === null)
        throw await attempts.wrong(from, "wrong_token", "the token is wrong or was revoked");
      if (peer !== undefined && peer !== device.peer) {
        refusals.note("other_peer", address, { address, device: device.id });
        throw new Fault("denied", "this device has another peer");
      }
      return { caller: callerOf(device) };
    }
    if (auth.remember === true) {
      const device = await devices.mintDevice(scopes, client.name);
      return { caller: callerOf(device), deviceToken: device.token };
    }
    return {
      caller: {
        peer: operatorPeer(peer) ?? (await devices.operatorPeer()),
        scopes,
        client,
        device: null,
        address,
      },
    };
  };
}

/** The holder of the gateway's token may speak as any web visitor; only such names are handed out. */
function operatorPeer(peer: string | undefined): string | undefined {
  if (peer === undefined || /^web-[a-z0-9-]{1,64}$/.test(peer)) return peer;
  throw new Fault("denied", `"${peer}" is not the name of a web peer: use "web-" and a-z, 0-9, "-"`);
}
