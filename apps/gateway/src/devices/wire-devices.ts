// Connects calls to paired devices with the store, the pictures and the control plane's events, and tells a
// connected device of a call as soon as that is written.
import { deviceStore, type Hub } from "@parley/control";
import {
  deviceCalls,
  deviceStream,
  openPrefix,
  pushCalls,
  type DeviceCalls,
  type PushCalls,
} from "@parley/devices";
import { deadline, type Clock, type Ids, type Log } from "@parley/protocol";
import { deviceRow, type MachinePorts, type MediaHandling } from "@parley/runner";
import type { Store } from "@parley/store";
import type { Dial } from "../schedules/call-webhooks.ts";

interface DevicesWiring {
  readonly hub: Pick<Hub, "isFollowed">;
  /** Absent: no picture is taken here. */
  readonly pictures?: NonNullable<MachinePorts["pictures"]>;
  /** Where recordings are kept, and what turns them into words now; absent: none is taken here. */
  readonly sounds?: () => Pick<MediaHandling, "folder" | "transcribe">;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export function wireDevices(
  { hub, pictures, sounds, clock, ids, log }: DevicesWiring,
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
    async keepSound(bytes) {
      const { knownSound } = await import("@parley/media");
      const sound = knownSound(bytes);
      if (sounds === undefined || sound === null)
        return { refused: sound === null ? "it is no recording" : "no recording is kept here" };
      const { folder, transcribe } = sounds();
      const path = `media/${await folder.keep(sound.bytes, sound.extension)}`;
      if (transcribe === undefined) return { path, words: null };
      const inTime = deadline(clock, transcribeMs, "transcribing a recording");
      try {
        const words = await transcribe(sound, inTime.signal);
        return { path, words: words.trim() };
      } catch (error) {
        log.warn({ error }, "a recording of a device could not be transcribed");
        return { path, words: null };
      } finally {
        inTime.cancel();
      }
    },
    isConnected: (device) => hub.isFollowed(deviceStream(device)),
    clock,
  });
}

const transcribeMs = 60_000;

interface PushWiring extends Pick<DevicesWiring, "hub" | "clock" | "ids" | "log"> {
  readonly calls: DeviceCalls;
  /** Where pages reach this gateway. */
  readonly publicUrl: () => string | undefined;
  readonly dial: Dial;
}

/** Pushes go out as pages are fetched: the address is whatever a browser said. */
export function wirePush(
  { hub, calls, publicUrl, dial, clock, ids, log }: PushWiring,
  { cells }: Pick<Store, "cells">,
): PushCalls {
  return pushCalls({
    cells,
    calls,
    async send({ url, headers, body }, signal) {
      const limits = { totalMs: 20_000, bodyBytes: 65_536, redirects: 0 };
      const answer = await dial({ url, method: "POST", headers, body, limits }, signal);
      answer.discard();
      const seconds = Number(answer.headers["retry-after"]);
      return {
        status: answer.status,
        ...(Number.isFinite(seconds) ? { retryAfterMs: Math.max(0, seconds) * 1_000 } : {}),
      };
    },
    isConnected: (device) => hub.isFollowed(deviceStream(device)),
    contact() {
      const url = publicUrl();
      return url?.startsWith("https:") === true ? url : undefined;
    },
    clock,
    ids,
    log,
  });
}

/** The port of the tool `nodes`. */
export function devicesPort(calls: DeviceCalls): NonNullable<MachinePorts["devices"]> {
  return { some: calls.some, list: calls.list, invoke: calls.invoke };
}

/** The same store, which tells devices of the calls that a step made, by a push where they are away. */
export function noticingCalls<S extends Pick<Store, "turns">>(
  store: S,
  hub: Pick<Hub, "show">,
  push: Pick<PushCalls, "made">,
): S {
  const { turns } = store;
  return {
    ...store,
    turns: {
      ...turns,
      async checkpoint(lease, at, what) {
        const next = await turns.checkpoint(lease, at, what);
        for (const { key } of what.cells ?? []) {
          if (!key.startsWith(openPrefix)) continue;
          const at = key.lastIndexOf(":");
          const device = key.slice(openPrefix.length, at);
          hub.show(deviceStream(device), "device.call", {});
          push.made(device, key.slice(at + 1));
        }
        return next;
      },
    },
  };
}
