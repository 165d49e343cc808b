// Serves paired devices: makes the code that pairs one, hands a device its calls and takes their results, and
// lets its person switch its grants, leave, or share something with the agent.
// Each frame of a device is checked against its record, so that one that was put out gets nothing more.
import { Fault, type MethodParams, type MethodResult } from "@parley/protocol";
import { webAddress } from "@parley/access";
import type { Caller } from "@parley/control";
import { deviceStream } from "@parley/devices";
import { held } from "./devices.ts";
import type { DaemonPorts, StorePorts } from "../ports.ts";

type PairingPorts = Pick<DaemonPorts, "controlUrl" | "configNow" | "devicePush" | "wired"> &
  Pick<StorePorts, "devices" | "clients" | "deviceCalls">;

export function pairedDeviceMethods({
  devices,
  clients,
  deviceCalls,
  devicePush,
  controlUrl,
  configNow,
  wired,
}: PairingPorts) {
  async function here({ device, rotation = 0 }: Caller) {
    const known = device === null ? undefined : (await devices.list()).find(({ id }) => id === device);
    if (known !== undefined && known.rotation !== rotation)
      throw new Fault("denied", "this device's token was made anew");
    if (device === null || known?.grants === undefined) {
      if (device !== null) clients.close(device);
      throw new Fault("denied", "this is no paired device, or it was revoked");
    }
    const { name, grants, most = grants, pairedBy } = known;
    return { id: device, name, grants: [...grants], most: [...most], pairedBy };
  }

  function placeOf(code: string, name: string, grants: readonly string[]) {
    const url = configNow().gateway.publicUrl ?? controlUrl();
    // What stands behind the # never reaches a server; the page shows it before it asks.
    const told = new URLSearchParams({ pair: code, name, grants: grants.join(",") });
    return { url, link: `${url.replace(/\/*$/, "/")}device.html#${told.toString()}` };
  }

  return {
    async "devices.rotate"(
      { id, byHand = false }: MethodParams<"devices.rotate">,
      caller: Caller,
    ): Promise<MethodResult<"devices.rotate">> {
      const known = (await devices.list()).find((device) => device.id === id);
      // A new token has the device's rights, so nobody gets one by it who has them not.
      if (known !== undefined) held(known.scopes, caller);
      const made = known === undefined ? null : await devices.rotate(id);
      if (made === null)
        throw new Fault("missing", `there is no device "${id}"; "parley devices" shows those that there are`);
      const { device, token, code } = made;
      const frame =
        code === undefined || byHand
          ? undefined
          : JSON.stringify({ type: "event", event: "device.rotate", payload: { code } });
      const { closed, isTold } = clients.rotated(id, device.rotation, caller.leave, frame);
      const { name, grants = [], most = grants } = device;
      return {
        id,
        name,
        closed,
        ...(token === undefined ? {} : { token }),
        ...(code === undefined
          ? {}
          : { code, ...placeOf(code, name, most), grants: [...grants], handed: isTold }),
      };
    },
    async "devices.pair"(
      { name, grants: asked }: MethodParams<"devices.pair">,
      { peer }: Caller,
    ): Promise<MethodResult<"devices.pair">> {
      const same = (await devices.list()).find(
        (device) => device.grants !== undefined && device.name.toLowerCase() === name.toLowerCase(),
      );
      if (same !== undefined)
        throw new Fault(
          "conflict",
          `a device named "${same.name}" is paired; choose another name, or put it out first: parley devices revoke ${same.id}`,
        );
      const grants = [...new Set(asked)];
      const code = await devices.mintCode([], { name, grants, by: peer });
      deviceCalls.pairing();
      return { name, grants, code, ...placeOf(code, name, grants) };
    },
    async "device.calls"(
      { about }: MethodParams<"device.calls">,
      caller: Caller,
    ): Promise<MethodResult<"device.calls">> {
      const { id, name, grants, most } = await here(caller);
      // Followed first, so that no call falls between the list and the first event.
      caller.follow?.(deviceStream(id));
      return { name, grants, most, calls: [...(await deviceCalls.waiting(id, about))] };
    },
    async "device.result"(
      { id: call, ...result }: MethodParams<"device.result">,
      caller: Caller,
    ): Promise<MethodResult<"device.result">> {
      const { id } = await here(caller);
      return { accepted: await deviceCalls.finish(id, call, result) };
    },
    async "device.grants"(
      { grants: asked }: MethodParams<"device.grants">,
      caller: Caller,
    ): Promise<MethodResult<"device.grants">> {
      const { id } = await here(caller);
      const now = await devices.setGrants(id, asked);
      if (now === null) throw new Fault("denied", "this device was revoked");
      await deviceCalls.endOf(id, now.grants);
      return { grants: [...now.grants], most: [...now.most] };
    },
    async "device.leave"(
      _params: MethodParams<"device.leave">,
      caller: Caller,
    ): Promise<MethodResult<"device.leave">> {
      const { id, name } = await here(caller);
      await devices.revoke(id);
      await deviceCalls.endOf(id);
      return { name };
    },
    async "device.push"(
      { subscription }: MethodParams<"device.push">,
      caller: Caller,
    ): Promise<MethodResult<"device.push">> {
      const { id } = await here(caller);
      if (subscription !== undefined) await devicePush.subscribe(id, subscription);
      return { key: await devicePush.key() };
    },
    async "device.share"(
      { text, files, idempotencyKey }: MethodParams<"device.share">,
      caller: Caller,
    ): Promise<MethodResult<"device.share">> {
      const { id, name, grants, pairedBy } = await here(caller);
      if (!grants.includes("share") || pairedBy === undefined)
        throw new Fault("denied", `${name} was paired without the grant "share", or it is switched off`);
      if (text.trim() === "" && files.length === 0) throw new Fault("invalid", "nothing was shared");
      const { web } = wired;
      const said = `${pairedBy}:device:${id}:${idempotencyKey}`;
      await web.submit({
        id: said,
        address: webAddress(web.account, { peer: pairedBy }, undefined),
        senderName: pairedBy,
        text: "",
        // Whoever holds the device's token gets no owner's rights by it, and what was shared is a stranger's.
        guest: true,
        enclosed: [{ kind: "forward", from: `device ${name}`, words: text.trim() === "" ? [] : [text] }],
        files: files.map((file) => ({ ...file, bytes: Buffer.from(file.data, "base64") })),
      });
      return { id: `web:${web.account}:${said}` };
    },
  };
}
