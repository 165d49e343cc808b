// The guarded connector opens sockets: it resolves a host, judges every address that came back, dials only
// those, and looks once more at the address that answered. A name cannot be rebound between the look and the
// dial, because nothing is resolved twice.
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { Fault } from "@parley/protocol";
import type { buildConnector } from "undici";
import { bareHost, type AddressGuard, type Refused } from "./address-rules.ts";

/** All addresses of a host. Throws like node:dns. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** By the system's resolver, which also reads /etc/hosts: what it says is what would be dialled. */
export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

export interface GuardedConnect {
  readonly guard: AddressGuard;
  readonly resolve: Resolve;
  /** Real time: undici's own timer gives up on a socket that does not connect. */
  readonly connectMs: number;
  /** Makes the error of a refusal, and has it counted. */
  readonly refuse: (host: string, refusal: Refused) => Fault;
  readonly build: typeof buildConnector;
}

/** The addresses of a host, all of them judged. Throws what `refuse` makes, or Fault("missing"). */
export async function vetted(
  { guard, resolve, refuse }: Pick<GuardedConnect, "guard" | "resolve" | "refuse">,
  host: string,
  port: number,
): Promise<readonly string[]> {
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  if (addresses.length === 0) throw new Fault("missing", `${host} has no address`);
  // One closed address among open ones is how rebinding begins, so it closes the host.
  for (const address of addresses) {
    const decision = guard.judgeAddress(host, address, port);
    if (!decision.allowed) throw refuse(host, decision);
  }
  return addresses;
}

export function guardedConnect(options: GuardedConnect): buildConnector.connector {
  const { guard, connectMs, refuse } = options;

  const dial = (host: string, addresses: readonly string[], asked: buildConnector.Options) =>
    new Promise<Extract<Parameters<buildConnector.Callback>[1], object>>((done, fail) => {
      const connect = options.build({
        timeout: connectMs,
        allowH2: false,
        maxCachedSessions: 0,
        lookup: pinned(addresses),
      });
      connect({ ...asked, hostname: isIP(host) === 0 ? asked.hostname : host }, (error, socket) => {
        // undici's types promise null beside an error; a refused connection comes with undefined.
        if (error !== null) return fail(error);
        if (socket === null) return fail(new Error("no socket"));
        const decision = guard.judgeAddress(host, socket.remoteAddress ?? "", portOf(asked));
        if (decision.allowed) return done(socket);
        socket.destroy();
        fail(refuse(host, decision));
      });
    });

  const connect = async (asked: buildConnector.Options, callback: buildConnector.Callback): Promise<void> => {
    const host = bareHost(asked.hostname);
    let socket;
    try {
      socket = await dial(host, await vetted(options, host, portOf(asked)), asked);
    } catch (error) {
      return callback(error instanceof Error ? error : new Error(String(error)), null);
    }
    callback(null, socket);
  };
  return (asked, callback) => void connect(asked, callback);
}

/** undici leaves out the port that the scheme has. */
const portOf = ({ port, protocol }: buildConnector.Options): number =>
  Number(port || (protocol === "https:" ? 443 : 80));

/** Resolves to these addresses whatever is asked. */
export const pinned =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, callback) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    const first = found[0] ?? { address: "", family: 4 };
    if (all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
