// Says how devices and login codes lie in the store, and what of a record is told to whom: an id is the
// beginning of a hash, and no list has a token.
import { createHash } from "node:crypto";
import { z } from "zod";
import { deviceGrants, scopes, type DeviceGrant, type Scope } from "@parley/protocol";

export interface Device {
  /** Names the device where its token must not appear: the beginning of the token's hash. */
  readonly id: string;
  /** The web peer whose conversations this device has. */
  readonly peer: string;
  readonly scopes: readonly Scope[];
  /** How often its token was made anew; what is open by an older one ends. */
  readonly rotation: number;
  /** What an agent may do on it, as approved when it was paired; absent: it is no paired device. */
  readonly grants?: readonly DeviceGrant[];
}

export interface KnownDevice extends Device {
  readonly name: string;
  readonly createdAtMs: number;
  /** Of a paired device: what its person may switch on there. */
  readonly most?: readonly DeviceGrant[];
  /** Of a paired device: the web peer of whoever paired it. */
  readonly pairedBy?: string;
}

export const deviceCells = "auth:device:";
/** By the hash of a token that was made anew: the key of its device. */
export const tokenCells = "auth:token:";
/** 12 of 64 characters carry 72 bits: no two devices share them. */
export const idLength = 12;

export const deviceSchema = z.object({
  peer: z.string(),
  scopes: z.array(z.enum(scopes)),
  name: z.string(),
  createdAtMs: z.number(),
  grants: z.array(z.enum(deviceGrants)).exactOptional(),
  most: z.array(z.enum(deviceGrants)).exactOptional(),
  pairedBy: z.string().exactOptional(),
  /** The present token's hash, null while there is none; absent: the first one's, which stands in the key. */
  token: z.string().nullable().exactOptional(),
  rotation: z.number().exactOptional(),
});
export type StoredDevice = z.infer<typeof deviceSchema>;

export const codeSchema = z.object({
  scopes: z.array(z.enum(scopes)),
  expiresAtMs: z.number(),
  paired: z
    .object({ name: z.string(), grants: z.array(z.enum(deviceGrants)), by: z.string().optional() })
    .optional(),
  /** The device that gets a new token by it. */
  anew: z.object({ id: z.string(), rotation: z.number() }).optional(),
});

/**
 * Codes and tokens are random and long, so a plain hash hides them, and a lookup by hash takes no
 * secret-dependent time.
 */
export function digest(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

export function deviceOf({
  peer,
  scopes: granted,
  grants,
  rotation = 0,
}: Pick<StoredDevice, "peer" | "scopes" | "grants" | "rotation">): Omit<Device, "id"> {
  return { peer, scopes: granted, rotation, ...(grants === undefined ? {} : { grants }) };
}

/** Without the token's hash, which no list needs. */
export function knownOf({ token: _token, rotation = 0, ...device }: StoredDevice): Omit<KnownDevice, "id"> {
  return { ...device, rotation };
}

export function idOfKey(key: string): string {
  return idOf(key.slice(deviceCells.length));
}

/** A command line reads a word that begins with a dash as an option. */
export function idOf(hash: string): string {
  return hash.slice(0, idLength).replace(/^-/, ".");
}
