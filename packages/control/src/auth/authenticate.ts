// Identifies the caller by the first frame. The loopback address, headers and the client's own claims count
// for nothing.
import { Fault, scopes, type ConnectParams, type DeviceGrant, type Scope } from "@parley/protocol";
import type { Refusals } from "@parley/access";
import type { Attempts } from "./login-attempts.ts";
import type { Device } from "./device-record.ts";
import type { Devices } from "./devices.ts";
import { sameToken } from "@parley/config";
import type { Remote } from "./remote-address.ts";

export interface Caller {
  /** The web peer that speaks; sessions of the web channel belong to it. */
  readonly peer: string;
  readonly scopes: readonly Scope[];
  readonly client: { readonly name: string; readonly version: string };
  /** Id of the device; null for the holder of the gateway's token. */
  readonly device: string | null;
  /** Of a device: how often its token was made anew before this one. */
  readonly rotation?: number;
  /** Of a paired device: what an agent may do on it. */
  readonly grants?: readonly DeviceGrant[];
  /** The address that it calls from. */
  readonly address: string;
  /** Shows this client one more stream until it leaves; absent where no connection stays open. */
  readonly follow?: (stream: string) => void;
  /**
   * From the answer to this request on, the client hears this conversation's events after a seq in place of
   * another's.
   */
  readonly turnTo?: (stream: string, afterSeq: number) => void;
  /** Ends this connection; absent where none stays open. */
  readonly leave?: (why?: string) => void;
}

interface Authenticated {
  readonly caller: Caller;
  /** A device token that was minted now, for the client to keep. */
  readonly deviceToken?: string;
}

export interface AuthenticateOptions {
  /** Tokens of the gateway itself. */
  readonly tokens: readonly string[];
  readonly devices: Devices;
  readonly attempts: Attempts;
  readonly refusals: Refusals;
}

/**
 * Rejects with Fault("denied") for a wrong credential or another's peer, and with Fault("rate_limited") when
 * wrong ones are many. A right credential is always accepted.
 */
export type Authenticate = (params: ConnectParams, from: Remote) => Promise<Authenticated>;

export function authenticator({ tokens, devices, attempts, refusals }: AuthenticateOptions): Authenticate {
  return async ({ auth, client, peer }, from) => {
    const { address } = from;
    const callerOf = ({ id, peer: own, scopes: granted, grants, rotation }: Device): Caller => ({
      peer: own,
      scopes: granted,
      client,
      device: id,
      rotation,
      address,
      ...(grants === undefined ? {} : { grants }),
    });
    if (auth === undefined) {
      refusals.note("no_credential", address, { address });
      throw new Fault("denied", "a token or a login code is needed");
    }
    if ("code" in auth) {
      const device = await devices.redeemCode(auth.code, client.name, auth.deviceToken, auth.grants);
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

/**
 * The holder of the gateway's token may speak as any web visitor, and only under names that were minted here.
 */
function operatorPeer(peer: string | undefined): string | undefined {
  if (peer === undefined || /^web-[a-z0-9-]{1,64}$/.test(peer)) return peer;
  throw new Fault("denied", `"${peer}" is not the name of a web peer: use "web-" and a-z, 0-9, "-"`);
}
