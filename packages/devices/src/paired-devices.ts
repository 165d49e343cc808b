// Reads which devices are paired: their grants, when each was last there, and what it says of itself.
import { deviceAbout, Fault, type Clock, type DeviceAbout } from "@parley/protocol";
import type { Devices, KnownDevice } from "@parley/control";
import type { Cells } from "@parley/store";

export interface PairedDevicesOptions {
  readonly cells: Pick<Cells, "get" | "put">;
  readonly devices: Pick<Devices, "list">;
  /** True while the device is connected to whatever process. */
  readonly isConnected: (device: string) => boolean;
  readonly clock: Clock;
}

type Known = KnownDevice & Required<Pick<KnownDevice, "grants">>;

interface PairedDevice extends Pick<KnownDevice, "id" | "name"> {
  readonly grants: NonNullable<KnownDevice["grants"]>;
  readonly connected: boolean;
  /** When it last asked for calls; null: never. */
  readonly lastSeenAtMs: number | null;
  /** What it says of itself. */
  readonly about: DeviceAbout | null;
}

export interface PairedDevices {
  /** True when some device is paired, as far as this process has heard. */
  some(): boolean;
  /** Reads whether there is one. */
  look(): Promise<void>;
  /** A code for a new device was made. */
  pairing(): void;
  /** Newest first. */
  list(): Promise<readonly PairedDevice[]>;
  connected(): Promise<number>;
  /** Null for one that is not paired. */
  withId(id: string): Promise<Known | null>;
  /** By its name or id. Throws Fault. */
  named(node: string): Promise<Known>;
  /** Notes that the device is there. */
  saw(device: string, about: DeviceAbout | undefined): Promise<void>;
  /** When it last asked for calls. */
  lastSeenAtMs(device: string): Promise<number | null>;
}

const lookAgainMs = 60_000;
const seenKeptMs = 90 * 86_400_000;
const seenCell = (device: string): string => `device-seen:${device}`;

export function pairedDevices({ cells, devices, isConnected, clock }: PairedDevicesOptions): PairedDevices {
  async function seen(device: string): Promise<{ atMs: number; about: DeviceAbout | null } | null> {
    const cell = await cells.get(seenCell(device));
    if (cell === null) return null;
    const { atMs, about } = JSON.parse(cell.value) as { atMs: number; about: unknown };
    return { atMs, about: deviceAbout.safeParse(about).data ?? null };
  }

  async function paired(): Promise<readonly Known[]> {
    const known = await devices.list();
    return known.flatMap((device) =>
      device.grants === undefined ? [] : [{ ...device, grants: device.grants }],
    );
  }

  async function named(node: string) {
    const all = await paired();
    const found = all.filter(
      ({ id, name }) => id === node || name.toLowerCase() === node.trim().toLowerCase(),
    );
    const [device] = found;
    if (device !== undefined && found.length === 1) return device;
    if (found.length > 1)
      throw new Fault(
        "invalid",
        `several devices are named ${JSON.stringify(node)}: name one by its id, ${found.map(({ id }) => id).join(" or ")}`,
      );
    const names = all.map(({ name }) => name).join(", ");
    throw new Fault(
      "missing",
      all.length === 0
        ? "no device is paired: an operator pairs one by `parley devices pair`"
        : `there is no device ${JSON.stringify(node)}; there are ${names}`,
    );
  }

  /** Without any, no prompt tells of devices. Other processes pair them too, so it is read now and then. */
  let known = { some: false, mono: -Infinity };
  const note = (some: boolean): void => void (known = { some, mono: clock.mono() });
  function some(): boolean {
    if (clock.mono() - known.mono > lookAgainMs) {
      note(known.some);
      // A store that is away says so to others; until it is back the last word holds.
      paired()
        .then(({ length }) => note(length > 0))
        .catch(() => undefined);
    }
    return known.some;
  }

  return {
    some,
    look: async () => note((await paired()).length > 0),
    pairing: () => note(true),
    async connected() {
      return (await paired()).filter(({ id }) => isConnected(id)).length;
    },
    async list() {
      return Promise.all(
        (await paired()).map(async ({ id, name, grants }) => {
          const last = await seen(id);
          return {
            id,
            name,
            grants,
            connected: isConnected(id),
            lastSeenAtMs: last?.atMs ?? null,
            about: last?.about ?? null,
          };
        }),
      );
    },
    withId: async (id) => (await paired()).find((device) => device.id === id) ?? null,
    named,
    async saw(device, about) {
      const told = JSON.stringify({ atMs: clock.now(), about: about ?? (await seen(device))?.about });
      await cells.put(seenCell(device), told, { ttlMs: seenKeptMs });
    },
    lastSeenAtMs: async (device) => (await seen(device))?.atMs ?? null,
  };
}
