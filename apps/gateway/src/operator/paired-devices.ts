// Serves paired devices: makes the code that pairs one, and hands a device its calls and takes their results.
// Each frame of a device is checked against its record, so that one that was put out gets nothing more.
import { Fault, type MethodParams, type MethodResult } from "@parley/protocol";
import type { Caller } from "@parley/control";
import { deviceStream } from "@parley/devices";
import type { DaemonPorts, StorePorts } from "./ports.ts";

type PairingPorts = Pick<DaemonPorts, "controlUrl" | "configNow"> &
  Pick<StorePorts, "devices" | "clients" | "deviceCalls">;

export function pairedDeviceMethods({ devices, clients, deviceCalls, controlUrl, configNow }: PairingPorts) {
  async function here({ device, grants }: Caller) {
    const known = device === null ? undefined : (await devices.list()).find(({ id }) => id === device);
    if (device === null || grants === undefined || known === undefined) {
      if (device !== null) clients.close(device);
      throw new Fault("denied", "this is no paired device, or it was revoked");
    }
    return { id: device, name: known.name, grants: [...grants] };
  }

  return {
    async "devices.pair"({
      name,
      grants: asked,
    }: MethodParams<"devices.pair">): Promise<MethodResult<"devices.pair">> {
      const same = (await devices.list()).find(
        (device) => device.grants !== undefined && device.name.toLowerCase() === name.toLowerCase(),
      );
      if (same !== undefined)
        throw new Fault(
          "conflict",
          `a device named "${same.name}" is paired; choose another name, or put it out first: parley devices revoke ${same.id}`,
        );
      const grants = [...new Set(asked)];
      const code = await devices.mintCode([], { name, grants });
      deviceCalls.pairing();
      return { name, grants, code, url: configNow().gateway.publicUrl ?? controlUrl() };
    },
    async "device.calls"(
      { about }: MethodParams<"device.calls">,
      caller: Caller,
    ): Promise<MethodResult<"device.calls">> {
      const { id, name, grants } = await here(caller);
      // Followed first, so that no call falls between the list and the first event.
      caller.follow?.(deviceStream(id));
      return { name, grants, calls: [...(await deviceCalls.waiting(id, about))] };
    },
    async "device.result"(
      { id: call, ...result }: MethodParams<"device.result">,
      caller: Caller,
    ): Promise<MethodResult<"device.result">> {
      const { id } = await here(caller);
      return { accepted: await deviceCalls.finish(id, call, result) };
    },
  };
}
