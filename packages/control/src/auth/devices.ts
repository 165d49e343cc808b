// Stores devices that use the control plane without the gateway's token: browsers that followed a one-time
// login link. Codes and tokens are stored as hashes; scopes come from the record, never from the client.
import { Fault, type Clock, type DeviceGrant, type Ids, type Scope } from "@parley/protocol";
import type { Cell, Cells } from "@parley/store";
import { newToken } from "@parley/config";
import {
  codeSchema,
  deviceCells,
  deviceOf,
  deviceSchema,
  digest,
  idLength,
  idOf,
  idOfKey,
  knownOf,
  tokenCells,
  type Device,
  type KnownDevice,
  type StoredDevice,
} from "./device-record.ts";

/** The durable port, `store.cells`. */
export type AuthStore = Pick<Cells, "get" | "put" | "remove" | "list">;

/** What a pairing code makes. */
interface Pairing {
  readonly name: string;
  readonly grants: readonly DeviceGrant[];
  readonly by?: string;
}

interface Rotated {
  readonly device: KnownDevice;
  readonly token?: string;
  readonly code?: string;
}

export interface Devices {
  /** Returns a code for one login, valid for ten minutes; several may be open. */
  mintCode(scopes: readonly Scope[], paired?: Pairing): Promise<string>;
  /**
   * Trades a code for a device, once; with `token` the same client may repeat it. Null for a code that is
   * unknown, used or expired. `grants`: what its person lets; it never adds to what the code grants.
   */
  redeemCode(
    code: string,
    name: string,
    token?: string,
    grants?: readonly string[],
  ): Promise<(Device & { readonly token: string }) | null>;
  /** Adds a device with these scopes, all of which the caller must hold. */
  mintDevice(scopes: readonly Scope[], name: string): Promise<Device & { readonly token: string }>;
  /**
   * Makes the device's token worthless; whatever else it has stays. Returns the new token; of a paired
   * device, which chooses its own, the code with which it does that, valid for ten minutes. Null for an
   * unknown id.
   */
  rotate(id: string): Promise<Rotated | null>;
  /** Returns null for an unknown token. */
  find(token: string): Promise<Device | null>;
  /** Newest first. */
  list(): Promise<readonly KnownDevice[]>;
  /** Returns the device's name, or null when the id is unknown. The device cannot log in any more. */
  revoke(id: string): Promise<string | null>;
  /**
   * Switches the grants of a paired device to those asked for, as far as it may have them; `never` takes some
   * for good. Null for an id that is no paired device.
   */
  setGrants(
    id: string,
    asked: readonly DeviceGrant[] | null,
    never?: readonly DeviceGrant[],
  ): Promise<{ readonly grants: readonly DeviceGrant[]; readonly most: readonly DeviceGrant[] } | null>;
  /** Returns false once the device was revoked, or its token made anew since `rotation`, on whatever node. */
  isKnown(id: string, rotation?: number): Promise<boolean>;
  /** Returns the web peer of the gateway token's holder; it is made once. */
  operatorPeer(): Promise<string>;
}

const mostDevices = 1_000;

const codeLifeMs = 600_000;
/** Without letters and digits that people confuse. */
const codeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/** 26 of 32 characters carry 130 bits: too many to guess in ten minutes at any rate. */
const codeLength = 26;
/** A malformed code costs no store access. */
const codeForm = new RegExp(`^[${codeAlphabet}]{${codeLength}}$`);
const tokenForm = /^[A-Za-z0-9]{43,128}$/;
const peerAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";
const peerLength = 20;

export function deviceStore(store: AuthStore, clock: Clock, ids: Ids): Devices {
  const newPeer = (): string => `web-${ids.code(peerAlphabet, peerLength)}`;

  async function mintDevice(
    granted: readonly Scope[],
    name: string,
    token = newToken(ids),
    paired?: { readonly grants: DeviceGrant[]; readonly most: DeviceGrant[]; readonly pairedBy?: string },
  ): Promise<Device & { readonly token: string }> {
    const device = {
      peer: newPeer(),
      scopes: [...granted],
      name,
      createdAtMs: clock.now(),
      ...paired,
    };
    const hash = digest(token);
    await store.put(`${deviceCells}${hash}`, JSON.stringify(device), { expect: 0 });
    return { id: idOf(hash), ...deviceOf(device), token };
  }

  async function find(token: string): Promise<Device | null> {
    if (!tokenForm.test(token)) return null;
    const hash = digest(token);
    const first = await store.get(`${deviceCells}${hash}`);
    const later = first === null ? await store.get(`${tokenCells}${hash}`) : null;
    const cell = later === null ? first : await store.get(later.value);
    if (cell === null) return null;
    const device = deviceSchema.parse(JSON.parse(cell.value));
    // The record alone decides: what leads to it may be left over from a token before.
    const isFirst = later === null && device.token === undefined;
    if (!isFirst && device.token !== hash) return null;
    return { id: idOfKey(cell.key), ...deviceOf(device) };
  }

  /** Rewrites the record as it then is, also when somebody else does meanwhile; null: nothing to change. */
  async function rewrite(
    id: string,
    change: (device: StoredDevice) => StoredDevice | null,
  ): Promise<StoredDevice | null> {
    for (;;) {
      const cell = await withId(id);
      if (cell === null) return null;
      const after = change(deviceSchema.parse(JSON.parse(cell.value)));
      if (after === null) return null;
      if ((await store.put(cell.key, JSON.stringify(after), { expect: cell.version })) !== null) return after;
    }
  }

  /** Removes what leads to this device from tokens that do not count any more. */
  async function dropTokens(device: string, kept?: string | null): Promise<void> {
    for (const { key, value } of await store.list(tokenCells, mostDevices))
      if (value === device && key !== `${tokenCells}${kept}`) await store.remove(key);
  }

  /** Stores what leads from a token to its device; it counts only once the record names it. */
  async function leadFrom(token: string, device: string): Promise<string> {
    const hash = digest(token);
    await store.put(`${tokenCells}${hash}`, device, {});
    return hash;
  }

  async function makeCode(value: object): Promise<string> {
    const code = ids.code(codeAlphabet, codeLength);
    const stored = JSON.stringify({ ...value, expiresAtMs: clock.now() + codeLifeMs });
    await store.put(`auth:code:${digest(code)}`, stored, { ttlMs: codeLifeMs });
    return code;
  }

  /** Gives a device that has none its new token, once. */
  async function renew(
    { id, rotation }: { readonly id: string; readonly rotation: number },
    token = newToken(ids),
    wanted?: readonly string[],
  ): Promise<(Device & { readonly token: string }) | null> {
    const cell = await withId(id);
    if (cell === null) return null;
    const hash = await leadFrom(token, cell.key);
    const done = await rewrite(id, (device) => {
      if (device.token !== null || device.rotation !== rotation) return null;
      const grants = (device.most ?? device.grants ?? []).filter((grant) => wanted?.includes(grant));
      return { ...device, token: hash, ...(wanted === undefined ? {} : { grants }) };
    });
    if (done !== null) return { id, ...deviceOf(done), token };
    await store.remove(`${tokenCells}${hash}`);
    return null;
  }

  let operator: string | null = null;

  async function withId(id: string): Promise<Cell | null> {
    // A shorter prefix could match several devices.
    return id.length === idLength
      ? ((await store.list(`${deviceCells}${id.replace(/^\./, "-")}`, 1))[0] ?? null)
      : null;
  }

  return {
    mintDevice: (granted, name) => mintDevice(granted, name),
    mintCode: (granted, paired) => makeCode({ scopes: granted, paired }),
    async rotate(id) {
      const cell = await withId(id);
      if (cell === null) return null;
      const now = deviceSchema.parse(JSON.parse(cell.value));
      const rotation = (now.rotation ?? 0) + 1;
      const isPaired = now.grants !== undefined;
      await dropTokens(cell.key, now.token);
      // What is handed out is stored first: the old token is worthless only once there is a way to a new one.
      const given = isPaired
        ? { code: await makeCode({ scopes: [], anew: { id, rotation } }) }
        : { token: newToken(ids) };
      const token = given.token === undefined ? null : await leadFrom(given.token, cell.key);
      const done = await rewrite(id, (device) =>
        (device.rotation ?? 0) + 1 === rotation ? { ...device, token, rotation } : null,
      );
      if (done === null) throw new Fault("conflict", "its token was made anew at this moment; try again");
      return { device: { id, ...knownOf(done) }, ...given };
    },
    async redeemCode(code, name, token, wanted) {
      const before = token === undefined ? null : await find(token);
      if (token !== undefined && before !== null) return { ...before, token };
      const typed = code.trim().toUpperCase();
      if (!codeForm.test(typed)) return null;
      const key = `auth:code:${digest(typed)}`;
      const cell = await store.get(key);
      const found = cell === null ? null : codeSchema.parse(JSON.parse(cell.value));
      if (cell === null || found === null || found.expiresAtMs <= clock.now()) return null;
      if (found.anew !== undefined) return renew(found.anew, token, wanted);
      // Device first: a crash in between leaves a code that still works.
      const { paired } = found;
      const device = await mintDevice(
        found.scopes,
        paired?.name ?? name,
        token,
        paired === undefined
          ? undefined
          : {
              grants: paired.grants.filter((grant) => wanted?.includes(grant) ?? true),
              most: paired.grants,
              ...(paired.by === undefined ? {} : { pairedBy: paired.by }),
            },
      );
      // Whoever removes this version used the code, also when two try at once.
      if (await store.remove(key, cell.version)) return device;
      await store.remove(`${deviceCells}${digest(device.token)}`);
      return null;
    },
    find,
    async list() {
      const cells = await store.list(deviceCells, mostDevices);
      const known = cells.map(({ key, value }) => ({
        id: idOfKey(key),
        ...knownOf(deviceSchema.parse(JSON.parse(value))),
      }));
      return known.toSorted((a, b) => b.createdAtMs - a.createdAtMs);
    },
    async revoke(id) {
      const cell = await withId(id);
      if (cell === null) return null;
      const { name } = deviceSchema.parse(JSON.parse(cell.value));
      await dropTokens(cell.key);
      return (await store.remove(cell.key)) ? name : null;
    },
    async setGrants(id, asked, never = []) {
      const done = await rewrite(id, (device) => {
        if (device.grants === undefined) return null;
        const most = (device.most ?? device.grants).filter((grant) => !never.includes(grant));
        const grants = most.filter((grant) => (asked ?? device.grants ?? []).includes(grant));
        return { ...device, grants, most };
      });
      const { grants = [], most = [] } = done ?? {};
      return done === null ? null : { grants, most };
    },
    async isKnown(id, rotation) {
      const cell = await withId(id);
      if (cell === null) return false;
      return (
        rotation === undefined || (deviceSchema.parse(JSON.parse(cell.value)).rotation ?? 0) === rotation
      );
    },
    async operatorPeer() {
      if (operator !== null) return operator;
      const key = "auth:operator-peer";
      const known =
        (await store.get(key)) ?? (await store.put(key, newPeer(), { expect: 0 })) ?? (await store.get(key));
      if (known === null)
        throw new Fault("unavailable", "the operator's web peer could not be stored; try again");
      return (operator = known.value);
    },
  };
}
