// Makes this computer a device of a gateway: connects, takes the calls that wait for it, answers them, and
// connects again whenever the wire breaks. It ends when the gateway does not know it any more, or is told to.
import { join } from "node:path";
import {
  sleep,
  systemClock,
  type Clock,
  type ConnectParams,
  type DeviceResult,
  type MethodResult,
} from "@parley/protocol";
import { document, line, type Console } from "../console.ts";
import { connectControl, type ControlClient } from "../control-client.ts";
import { CommandFailure, exitCodes } from "../exit.ts";
import { socketWire } from "../socket-wire.ts";
import { callJournal, type CallJournal } from "./call-journal.ts";
import { deviceCommands, type DeviceCommands, type Offers } from "./device-commands.ts";
import { newPairing, pairedWith, type PairedWith } from "./device-token.ts";

export interface NodeOptions {
  /** Absent: the gateway that this device was paired with. */
  readonly url?: string;
  readonly code?: string;
  /** The device's own state. */
  readonly folder: string;
  readonly offers: Offers;
  /** Aborted when the device is to stop. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

type Call = MethodResult<"device.calls">["calls"][number];

/** Also without a call the device says now and then that it is there, which finds a dead wire. */
const lookEveryMs = 20_000;
const answerWithinMs = 30_000;
const firstPauseMs = 500;
const longestPauseMs = 30_000;
const interrupted: DeviceResult = {
  ok: false,
  text: "The device was killed after it had begun this, so what came of it is unknown. It does not do it again.",
};

/** Resolves when the signal is aborted. Throws CommandFailure when the gateway refuses the device. */
export async function runNode(terminal: Console, options: NodeOptions): Promise<void> {
  const { folder, signal: asked, clock = systemClock() } = options;
  // What runs here ends with the device, also when the gateway puts it out.
  const ending = new AbortController();
  const signal = AbortSignal.any([asked, ending.signal]);
  const say = (event: object, words: string): void =>
    terminal.json ? document(terminal.out, event) : line(terminal.out, words);
  const commands = await deviceCommands(options.offers, {
    env: terminal.env,
    show: (title, text) =>
      say({ event: "notify", title, text }, title === "" ? `🔔 ${text}` : `🔔 ${title}: ${text}`),
  });
  const journal = await callJournal(join(folder, "calls"), clock.now());
  const credential = await credentials(options);
  const work = calls({ commands, journal, signal, say, renew: credential.renew, clock });
  let pauseMs = firstPauseMs;

  try {
    while (!signal.aborted) {
      try {
        const client = await connected(await credential.url(), credential);
        const leave = (): void => client.close();
        signal.addEventListener("abort", leave, { once: true });
        try {
          await work.serve(client, () => (pauseMs = firstPauseMs));
        } finally {
          signal.removeEventListener("abort", leave);
          client.close();
        }
      } catch (error) {
        if (!(error instanceof CommandFailure) || error.code === "unauthorized" || error.code === "denied")
          throw error;
        if (signal.aborted) break;
        if (!terminal.json) line(terminal.err, `${error.message.split("\n")[0]} Trying again.`);
      }
      await sleep(clock, pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  } finally {
    ending.abort();
    await work.settled();
  }
}

interface Credential {
  url(): Promise<string>;
  /** With what to log in now; null when there is nothing left to try. */
  next(refused: boolean): Promise<NonNullable<ConnectParams["auth"]> | null>;
  /** Chooses a new token, which the gateway takes with this code. */
  renew(code: string): void;
}

/** The stored token first, so that a command line with a used code goes on working. */
async function credentials({ folder, url: given, code }: NodeOptions): Promise<Credential> {
  const url = given?.replace(/^ws/, "http").replace(/\/+$/, "");
  let paired = await pairedWith(folder);
  if (paired === null && (url === undefined || code === undefined))
    throw new CommandFailure(
      "invalid",
      "This device is not paired yet: take --url and --code from `parley devices pair` on the gateway's machine.",
      exitCodes.usage,
    );
  if (paired !== null && url !== undefined && paired.url !== url) {
    if (code === undefined)
      throw new CommandFailure(
        "conflict",
        `This device is paired with ${paired.url}. Give --code to pair it with ${url} instead, or another --state.`,
        exitCodes.usage,
      );
    paired = null;
  }
  let codeLeft = code;
  let renewed: Promise<unknown> = Promise.resolve();
  const choose = async (used: string): Promise<PairedWith> =>
    (paired = await newPairing(folder, paired?.url ?? url ?? "", used));
  const auth = ({ token, code: by }: PairedWith): NonNullable<ConnectParams["auth"]> =>
    by === undefined ? { token } : { code: by, deviceToken: token };
  return {
    url: async () => paired?.url ?? url ?? "",
    async next(refused) {
      await renewed;
      if (paired !== null && !refused) return auth(paired);
      if (codeLeft === undefined) return null;
      const used = codeLeft;
      codeLeft = undefined;
      return auth(await choose(used));
    },
    renew(given) {
      renewed = choose(given);
      // The next login waits for it, and says what went wrong.
      renewed.catch(() => undefined);
    },
  };
}

async function connected(url: string, credential: Credential): Promise<ControlClient> {
  let refused = false;
  for (;;) {
    const auth = await credential.next(refused);
    if (auth === null)
      throw new CommandFailure(
        "unauthorized",
        `The gateway at ${url} does not know this device: it was revoked, or the code is wrong, used or older than ten minutes. \`parley devices pair\` makes a new one.`,
      );
    const wire = await socketWire({ url, token: "", tokenFrom: "", pid: null, configTrouble: [] });
    try {
      return await connectControl({ wire, auth, name: "parley-node" });
    } catch (error) {
      wire.close();
      if (!(error instanceof CommandFailure) || error.code !== "unauthorized") throw error;
      refused = true;
    }
  }
}

interface CallsOptions {
  readonly commands: DeviceCommands;
  readonly journal: CallJournal;
  readonly signal: AbortSignal;
  readonly say: (event: object, words: string) => void;
  readonly renew: Credential["renew"];
  readonly clock: Clock;
}

function calls({ commands, journal, signal, say, renew, clock }: CallsOptions) {
  /** Goes on over a broken wire: its result is told to the next one. */
  const atWork = new Map<string, Promise<void>>();
  let current: ControlClient | null = null;

  async function deliver(id: string, result: DeviceResult): Promise<void> {
    // Whatever the gateway says, it does not want the result any more.
    await current?.request("device.result", { id, ...result }).then(() => journal.over(id));
  }

  async function take({ id, forMs, ...request }: Call): Promise<void> {
    const known = await journal.begin(id);
    if (known.state === "running") return;
    if (known.state === "done") return deliver(id, known.result);
    if (known.state !== "new") return deliver(id, interrupted);
    say({ event: "call", id, command: request.command }, `call ${id.slice(0, 8)}: ${request.command}`);
    const result = await commands.run(request, forMs, signal);
    await journal.end(id, result);
    await deliver(id, result);
  }

  function begin(call: Call): void {
    if (atWork.has(call.id)) return;
    const work = take(call)
      .catch((error: unknown) => {
        // The wire broke: the result is stored, and the gateway asks for it again.
        if (!(error instanceof CommandFailure)) throw error;
      })
      .finally(() => atWork.delete(call.id));
    atWork.set(call.id, work);
  }

  return {
    settled: () => Promise.allSettled(atWork.values()),
    /** Throws CommandFailure when the connection is over. */
    async serve(client: ControlClient, isThere: () => void): Promise<never> {
      current = client;
      client.on("device.rotate", ({ code }) => renew(code));
      const { about } = commands;
      const over = client.closed.then((failure) => {
        if (current === client) current = null;
        throw failure;
      });
      // A rejection that comes while nobody waits for it is seen by the next wait.
      over.catch(() => undefined);
      let looking: Promise<void> = Promise.resolve();
      const look = async (): Promise<void> => {
        const waiting = new AbortController();
        const silent = sleep(clock, answerWithinMs, waiting.signal).then(() => {
          if (!waiting.signal.aborted) client.close();
        });
        try {
          const found = await client.request("device.calls", { about });
          for (const call of found.calls) begin(call);
        } finally {
          waiting.abort();
          await silent;
        }
      };
      const next = (): Promise<void> => (looking = looking.then(look, look));
      const { name, grants } = await client.request("device.calls", { about });
      isThere();
      say({ event: "connected", name, grants }, `Connected as ${name}; granted: ${grants.join(", ")}.`);
      client.on("device.call", () => void next().catch(() => client.close()));
      for (;;) {
        await Promise.race([next(), over]);
        const resting = new AbortController();
        await Promise.race([sleep(clock, lookEveryMs, resting.signal), over]).finally(() => resting.abort());
      }
    },
  };
}
