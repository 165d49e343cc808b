// Serves devices to the operator: the clients that may use the control plane beside the holder of the
// gateway's token. Revoking one also closes its connections.
import { Fault, type DeviceGrant, type MethodParams, type MethodResult, type Scope } from "@parley/protocol";
import type { Caller } from "@parley/control";
import type { StorePorts } from "../ports.ts";

export function deviceMethods({
  devices,
  clients,
  deviceCalls,
}: Pick<StorePorts, "devices" | "clients" | "deviceCalls">) {
  async function takenBack(
    id: string,
    taken: readonly DeviceGrant[],
  ): Promise<MethodResult<"devices.revoke">> {
    const device = (await devices.list()).find((each) => each.id === id);
    const left = device === undefined ? null : await devices.setGrants(id, null, taken);
    if (device === undefined || left === null)
      throw new Fault(
        "missing",
        `there is no paired device "${id}"; "parley devices" shows those that there are`,
      );
    await deviceCalls.endOf(id, left.grants);
    return { id, name: device.name, closed: 0, grants: [...left.grants] };
  }

  return {
    async "devices.list"(_params: MethodParams<"devices.list">): Promise<MethodResult<"devices.list">> {
      const known = await devices.list();
      const listed = known.map(async ({ grants, most, pairedBy: _by, rotation: _nth, ...device }) => {
        const lastSeenAtMs = grants === undefined ? null : await deviceCalls.lastSeenAtMs(device.id);
        return {
          ...device,
          scopes: [...device.scopes],
          connections: clients.count(device.id),
          ...(grants === undefined ? {} : { grants: [...grants], most: [...(most ?? grants)] }),
          ...(lastSeenAtMs === null ? {} : { lastSeenAtMs }),
        };
      });
      return { devices: await Promise.all(listed) };
    },
    async "devices.mint"(
      { name, scopes }: MethodParams<"devices.mint">,
      caller: Caller,
    ): Promise<MethodResult<"devices.mint">> {
      const { id, token, peer } = await devices.mintDevice(held(scopes, caller), name);
      return { id, token, peer };
    },
    async "devices.revoke"({
      id,
      grants: taken,
    }: MethodParams<"devices.revoke">): Promise<MethodResult<"devices.revoke">> {
      if (taken !== undefined) return takenBack(id, taken);
      const name = await devices.revoke(id);
      if (name === null)
        throw new Fault("missing", `there is no device "${id}"; "parley devices" shows those that there are`);
      const closed = clients.close(id);
      await deviceCalls.endOf(id);
      return { id, name, closed };
    },
  };
}

/** Refuses scopes that the caller does not have. */
export function held(wanted: readonly Scope[], { scopes }: Caller): readonly Scope[] {
  const lacking = wanted.filter((scope) => !scopes.includes(scope));
  if (lacking.length > 0)
    throw new Fault("denied", `your own token does not have the scope ${lacking.join(", ")}`);
  return [...new Set(wanted)];
}
