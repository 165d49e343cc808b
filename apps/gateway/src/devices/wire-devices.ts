// Connects calls to paired devices with the store, the pictures and the control plane's events, and tells a
// connected device of a call as soon as that is written.
import { deviceStore, type Hub } from "@parley/control";
import { deviceCalls, deviceStream, openPrefix, type DeviceCalls } from "@parley/devices";
import type { Clock, Ids, Log } from "@parley/protocol";
import { deviceRow, type MachinePorts } from "@parley/runner";
import type { Store } from "@parley/store";

interface DevicesWiring {
  readonly hub: Pick<Hub, "isFollowed">;
  /** Absent: no picture is taken here. */
  readonly pictures?: NonNullable<MachinePorts["pictures"]>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export function wireDevices(
  { hub, pictures, clock, ids, log }: DevicesWiring,
  { cells, inbox, turns }: Pick<Store, "cells" | "inbox" | "turns">,
): DeviceCalls {
  return deviceCalls({
    cells,
    devices: deviceStore(cells, clock, ids),
    async ended(call, text) {
      const [began] = await inbox.find({ turn: call.turn, limit: 1 });
      if (began === undefined)
        return log.warn(
          { call: call.id, turn: call.turn },
          "a device answered, and nobody is known any more",
        );
      await inbox.accept([deviceRow(began, call, text, clock.now())]);
    },
    async isWaited(turn) {
      const view = await turns.find(turn);
      return view !== null && view.state !== "done" && view.stop === null;
    },
    keepPicture: async (bytes) =>
      (await pictures?.keep(bytes, new AbortController().signal)) ?? { refused: "no picture is kept here" },
    isConnected: (device) => hub.isFollowed(deviceStream(device)),
    clock,
  });
}

/** The port of the tool `nodes`. */
export function devicesPort(calls: DeviceCalls): NonNullable<MachinePorts["devices"]> {
  return { some: calls.some, list: calls.list, invoke: calls.invoke };
}

/** The same store, which tells devices of the calls that a turn's step made. */
export function noticingCalls<S extends Pick<Store, "turns">>(store: S, hub: Pick<Hub, "show">): S {
  const { turns } = store;
  return {
    ...store,
    turns: {
      ...turns,
      async checkpoint(lease, at, what) {
        const next = await turns.checkpoint(lease, at, what);
        for (const { key } of what.cells ?? []) {
          if (!key.startsWith(openPrefix)) continue;
          const device = key.slice(openPrefix.length, key.lastIndexOf(":"));
          hub.show(deviceStream(device), "device.call", {});
        }
        return next;
      },
    },
  };
}
