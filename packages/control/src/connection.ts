// Serves one client: the handshake within fifteen seconds, then requests and the events it follows. Before
// the handshake nothing is answered and little is read; after it the number of running requests is bounded
// (I9). No input of a client can end the process.
import type { WebSocket } from "ws";
import {
  connectParams,
  conversationKey,
  Fault,
  protocolRange,
  type Clock,
  type ConnectParams,
  type ConnectResult,
  type Ids,
  type Log,
  type RequestFrame,
  type ResponseFrame,
  type WireError,
} from "@parley/protocol";
import type { Events } from "@parley/store";
import type { Refusals } from "@parley/access";
import type { Authenticate, Caller } from "./auth/authenticate.ts";
import type { Clients } from "./connected-clients.ts";
import type { Devices } from "./auth/devices.ts";
import { wireErrorOf, type Dispatch } from "./dispatch.ts";
import { inOneLine } from "./in-one-line.ts";
import { follow } from "./subscription.ts";
import { readFrame } from "./parse-request.ts";
import type { Hub } from "./event-hub.ts";
import { socketSendBuffer } from "./send-buffer.ts";
import type { Remote } from "./auth/remote-address.ts";

export interface ConnectionOptions {
  readonly server: ConnectResult["server"];
  readonly authenticate: Authenticate;
  readonly refusals: Refusals;
  readonly devices: Pick<Devices, "isKnown">;
  readonly clients: Clients;
  readonly dispatch: Dispatch;
  readonly events: Pick<Events, "after">;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Account of the web channel, which names the conversation that a client follows. */
  readonly webAccount: string;
  /** Called when the client has authenticated, so that limits for strangers can be lifted. */
  readonly onAuthenticated: () => void;
}

export interface Connection {
  /** Tells the client that the gateway goes away, waits for its running requests, closes with 1012. */
  drain(): Promise<void>;
}

/** Most bytes a client may send before the handshake is done. */
export const preAuthBytes = 16_384;
/** A busy machine starts a command slowly: five seconds were too few for a hundred at once on two cores. */
const handshakeMs = 15_000;
const pingEveryMs = 30_000;
const mostRequests = 64;
const policyClose = 1008;
const restartClose = 1012;

export function serveConnection(socket: WebSocket, remote: Remote, options: ConnectionOptions): Connection {
  const { clock, log } = options;
  const outlet = socketSendBuffer(socket, clock);
  const atWork = new Map<string, Promise<void>>();
  let caller: Caller | null = null;
  let handshake: Promise<void> | null = null;
  let stopFollowing: (() => void) | null = null;
  let signOff: (() => void) | null = null;
  /** Streams shown besides the conversation. */
  const shown = new Map<string, () => void>();
  /** A conversation that is followed as soon as the client has the answer to its request. */
  let next: { readonly stream: string; readonly afterSeq: number } | null = null;
  let answeredPing = true;

  const refuse = (reason: "no_handshake" | "bad_frame", code: number, words: string): void => {
    const { address } = remote;
    if (caller === null) options.refusals.note(reason, address, { address, why: words });
    outlet.close(code, words);
  };
  const deadline = clock.after(handshakeMs, () =>
    refuse("no_handshake", policyClose, "no handshake within fifteen seconds"),
  );
  let ticking = clock.after(pingEveryMs, tick);

  function tick(): void {
    outlet.checkProgress();
    if (!answeredPing) return socket.terminate();
    answeredPing = false;
    if (socket.readyState === socket.OPEN) socket.ping();
    leaveIfRevoked();
    ticking = clock.after(pingEveryMs, tick);
  }

  socket.on("pong", () => {
    answeredPing = true;
  });
  socket.on("error", (error) => log.debug({ error }, "a client's socket failed"));
  socket.once("close", () => {
    deadline.cancel();
    ticking.cancel();
    stopFollowing?.();
    signOff?.();
    for (const stop of shown.values()) stop();
  });
  socket.on("message", (message: Buffer, isBinary) => {
    answeredPing = true;
    if (isBinary) return refuse("bad_frame", 1003, "frames are text");
    if (caller === null && message.length > preAuthBytes)
      return refuse("bad_frame", 1009, "the first frame is too large");
    const frame = readFrame(message.toString("utf8"));
    if (!frame.ok) {
      if (caller !== null && frame.id !== null)
        return outlet.send(JSON.stringify(failure(frame.id, { code: "invalid", message: frame.reason })));
      return refuse("bad_frame", policyClose, frame.reason);
    }
    if (caller !== null) return answer(frame.request, caller);
    if (handshake !== null)
      return refuse("bad_frame", policyClose, "a frame before the handshake was answered");
    handshake = shakeHands(frame.request);
  });

  const leave = (why = "this device was revoked"): void => outlet.close(policyClose, why);

  /** Another node may have revoked the device, or made its token anew. */
  function leaveIfRevoked(): void {
    const device = caller?.device ?? null;
    if (device === null) return;
    options.devices.isKnown(device, caller?.rotation).then(
      (isKnown) => (isKnown ? undefined : leave()),
      (error: unknown) => log.debug({ error }, "a device could not be looked up"),
    );
  }

  function showToo(stream: string): void {
    if (shown.has(stream) || socket.readyState !== socket.OPEN) return;
    shown.set(stream, options.hub.follow(stream, { wake() {}, show: outlet.offer }));
  }

  function turnTo(stream: string, afterSeq: number): void {
    stopFollowing?.();
    stopFollowing = null;
    next = { stream, afterSeq };
  }

  function followNext(): void {
    if (next === null || socket.readyState !== socket.OPEN) return;
    const { events, hub } = options;
    stopFollowing = follow({ ...next, events, hub, outlet, log });
    next = null;
  }

  function answer(request: RequestFrame, by: Caller): void {
    if (atWork.has(request.id)) return outlet.close(policyClose, "two requests at work have one id");
    if (atWork.size >= mostRequests) {
      const error: WireError = {
        code: "rate_limited",
        message: `${mostRequests} requests are at work`,
        retryAfterMs: 1_000,
      };
      return outlet.send(JSON.stringify(failure(request.id, error)));
    }
    const work = options.dispatch(request, by).then((response) => {
      atWork.delete(request.id);
      outlet.send(JSON.stringify(response));
      followNext();
      // A device that had its own token made anew hears the new one before its connection ends.
      if (request.method === "devices.rotate") leaveIfRevoked();
    });
    atWork.set(request.id, work);
  }

  async function shakeHands(request: RequestFrame): Promise<void> {
    try {
      const params = connectParamsOf(request, (why) => {
        options.refusals.note("bad_frame", remote.address, { address: remote.address, why });
      });
      const { caller: by, deviceToken } = await options.authenticate(params, remote);
      const stream = streamOf(by, params, options.webAccount);
      const follows = params.follows !== false;
      const { gone, lastSeq } = follows
        ? await options.events.after(stream, params.lastSeq ?? 0, 1)
        : { gone: false, lastSeq: 0 };
      const resync = params.lastSeq !== undefined && gone;
      const result: ConnectResult = {
        protocol: protocolRange.max,
        server: options.server,
        scopes: [...by.scopes],
        ...(deviceToken === undefined ? {} : { deviceToken }),
        peer: by.peer,
        seq: lastSeq,
        resync,
      };
      if (socket.readyState !== socket.OPEN) return;
      if (by.device !== null) {
        signOff = options.clients.join(by.device, leave, { rotation: by.rotation ?? 0, tell: outlet.send });
        if (signOff === null) {
          options.refusals.note("revoked", remote.address, { address: remote.address, device: by.device });
          throw new Fault("denied", "this device was revoked");
        }
      }
      deadline.cancel();
      options.onAuthenticated();
      caller = { ...by, follow: showToo, turnTo, leave };
      outlet.send(
        JSON.stringify({ type: "res", id: request.id, ok: true, payload: result } satisfies ResponseFrame),
      );
      if (!follows) return;
      const afterSeq = resync ? lastSeq : (params.lastSeq ?? lastSeq);
      stopFollowing = follow({ stream, afterSeq, events: options.events, hub: options.hub, outlet, log });
    } catch (error) {
      const wire = wireErrorOf(error, "connect", options);
      outlet.send(
        JSON.stringify(
          failure(request.id, wire.code === "denied" ? { ...wire, code: "unauthorized" } : wire),
        ),
      );
      outlet.close(policyClose, "the handshake failed");
    }
  }

  return {
    async drain() {
      outlet.send(JSON.stringify({ type: "event", event: "shutdown", payload: {} }));
      const gone = new Promise((resolve) => socket.once("close", resolve));
      await Promise.race([gone, Promise.all([handshake, ...atWork.values()])]);
      outlet.close(restartClose, "the gateway restarts");
    },
  };
}

function connectParamsOf(request: RequestFrame, onRefused: (why: string) => void): ConnectParams {
  if (request.method !== "connect") {
    onRefused("the first frame is no connect");
    throw new Fault("denied", 'the first frame must be "connect"');
  }
  const params = connectParams.safeParse(request.params);
  if (!params.success) {
    onRefused("the params of connect are wrong");
    throw new Fault("invalid", `params of "connect": ${inOneLine(params.error)}`);
  }
  const { min, max } = params.data.protocol;
  if (min > protocolRange.max || max < protocolRange.min) {
    throw new Fault(
      "unsupported",
      `the client speaks protocol ${min} to ${max}, this gateway ${protocolRange.min} to ${protocolRange.max}; update the older one`,
    );
  }
  return params.data;
}

function streamOf(caller: Caller, { thread }: ConnectParams, account: string): string {
  return conversationKey({
    channel: "web",
    account,
    kind: "dm",
    peer: caller.peer,
    ...(thread === undefined ? {} : { thread }),
  });
}

function failure(id: string, error: WireError): ResponseFrame {
  return { type: "res", id, ok: false, error };
}
