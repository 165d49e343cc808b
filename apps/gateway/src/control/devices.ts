// Devices that may use the control plane without the gateway's token: a browser that followed a one-time login link. Codes and tokens are
// stored as hashes only; scopes come from the record, never from the client.
import { createHash } from "node:crypto";
import { z } from "zod";
import { Fault, scopes, type Clock, type Ids, type Scope } from "@parley/protocol";
import type { Cells } from "@parley/store";
import { newToken } from "./gateway-token.ts";

/** The durable port: `store.cells` has it. */
export type AuthStore = Pick<Cells, "get" | "put" | "remove">;

export interface Device {
  /** The web peer whose conversations this device has. */
  readonly peer: string;
  readonly scopes: readonly Scope[];
}

export interface Devices {
  /** A code for one log-in, valid for ten minutes; several may be open. */
  mintCode(scopes: readonly Scope[]): Promise<string>;
  /** Trades a code for a device, once. Null for a code that is unknown, used or expired. */
  redeemCode(code: string, name: string): Promise<(Device & { readonly token: string }) | null>;
  /** A new device with these scopes, which the caller must hold. */
  mintDevice(scopes: readonly Scope[], name: string): Promise<Device & { readonly token: string }>;
  /** Null for a token that no device has. */
  find(token: string): Promise<Device | null>;
  /** The peer of whoever holds the gateway's token; made once. */
  operatorPeer(): Promise<string>;
}

const codeLifeMs = 600_000;
/** No letters or digits that people mistake for each other. */
const codeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/** 26 of 32 characters carry 130 bits: too many to guess in ten minutes at any rate. */
const codeLength = 26;
const peerAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";
const peerLength = 20;

const deviceSchema = z.object({ peer: z.string(), scopes: z.array(z.enum(scopes)), name: z.string(), createdAtMs: z.number() });
const codeSchema = z.object({ scopes: z.array(z.enum(scopes)), expiresAtMs: z.number() });

export function deviceBook(store: AuthStore, clock: Clock, ids: Ids): Devices {
  const newPeer = (): string => `web-${ids.code(peerAlphabet, peerLength)}`;

  async function mintDevice(granted: readonly Scope[], name: string): Promise<Device & { readonly token: string }> {
    const token = newToken(ids);
    const device = { peer: newPeer(), scopes: [...granted], name, createdAtMs: clock.now() };
    await store.put(`auth:device:${digest(token)}`, JSON.stringify(device), { expect: 0 });
    return { peer: device.peer, scopes: device.scopes, token };
  }

  return {
    mintDevice,
    async mintCode(granted) {
      const code = ids.code(codeAlphabet, codeLength);
      const value = JSON.stringify({ scopes: granted, expiresAtMs: clock.now() + codeLifeMs });
      await store.put(`auth:code:${digest(code)}`, value, { ttlMs: codeLifeMs });
      return code;
    },
    async redeemCode(code, name) {
      const key = `auth:code:${digest(code.trim().toUpperCase())}`;
      const cell = await store.get(key);
      // Whoever removes this version is the one who used it, also when two try at once.
      if (cell === null || !(await store.remove(key, cell.version))) return null;
      const found = codeSchema.parse(JSON.parse(cell.value));
      return found.expiresAtMs > clock.now() ? mintDevice(found.scopes, name) : null;
    },
    async find(token) {
      const cell = await store.get(`auth:device:${digest(token)}`);
      if (cell === null) return null;
      const { peer, scopes: granted } = deviceSchema.parse(JSON.parse(cell.value));
      return { peer, scopes: granted };
    },
    async operatorPeer() {
      const key = "auth:operator-peer";
      const known = (await store.get(key)) ?? (await store.put(key, newPeer(), { expect: 0 })) ?? (await store.get(key));
      if (known === null) throw new Fault("unavailable", "the operator's web peer could not be stored; try again");
      return known.value;
    },
  };
}

/** Codes and tokens are random and long: a plain hash hides them, and looking one up by its hash takes no secret-dependent time. */
function digest(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
