// Runs a command's work against the gateway: connects, warns about a broken config, hangs up whatever
// happens. What needs only the state folder works without a daemon too: then a gateway runs for this command
// alone.
import { Writable } from "node:stream";
import type { Console } from "./console.ts";
import { styled, words } from "./console.ts";
import {
  connectControl,
  type ConnectOptions,
  type ControlClient,
  type Conversation,
} from "./control-client.ts";
import { CommandFailure } from "./exit.ts";
import { gatewayAddress, type GatewayAddress } from "./gateway-address.ts";
import { gatewayProgram } from "./gateway-program.ts";
import { onceWire } from "./once-wire.ts";
import { socketWire } from "./socket-wire.ts";

/**
 * Without the warnings about a broken config: for what is asked again and again, or is about the config
 * itself.
 */
export function quietly(terminal: Console): Console {
  return { ...terminal, err: new Writable({ write: (_chunk, _encoding, done) => done() }) };
}

type Work<T> = (client: ControlClient) => Promise<T>;

/** Throws CommandFailure("unavailable") when no gateway runs. */
export async function withGateway<T>(terminal: Console, work: Work<T>, follows?: Conversation): Promise<T> {
  const address = await gatewayAddress(terminal.env);
  warn(terminal, address);
  return over(await connected(address, follows), work);
}

/**
 * Asks the running gateway, or, when none runs, one that is started on the same state folder for this alone.
 */
export async function withState<T>(terminal: Console, work: Work<T>): Promise<T> {
  const address = await unlessUnavailable(gatewayAddress(terminal.env));
  const running = address === null ? null : await unlessUnavailable(connected(address));
  if (running !== null && address !== null) {
    warn(terminal, address);
    return over(running, work);
  }
  // What a broken config stops here as well says so by itself, and better.
  const result = await withStoppedGateway(terminal, work);
  if (address !== null) warn(terminal, address);
  return result;
}

/** Always starts one; it refuses when a daemon holds the state folder. */
export async function withStoppedGateway<T>(terminal: Console, work: Work<T>): Promise<T> {
  const wire = onceWire(gatewayProgram, terminal.env);
  try {
    return await over({ wire }, work);
  } catch (error) {
    // It has no log but its standard error, and what the log would have ends with it.
    if (!(error instanceof CommandFailure) || error.code !== "internal") throw error;
    const { message } = await wire.closed;
    // One that could not be started says so itself.
    if (message === error.message) throw error;
    throw new CommandFailure(error.code, `${error.message}\n${message}`, error.exitCode, { cause: error });
  }
}

function warn({ err, env }: Console, { configTrouble }: GatewayAddress): void {
  for (const trouble of configTrouble) words(err, styled(err, env, "yellow", `config: ${trouble}`));
}

async function connected(address: GatewayAddress, follows?: Conversation): Promise<Running> {
  const { url, token, tokenFrom } = address;
  return {
    wire: await socketWire(address),
    token,
    url,
    tokenFrom,
    ...(follows === undefined ? {} : { follows }),
  };
}

interface Running extends ConnectOptions {
  readonly url?: string;
  readonly tokenFrom?: string;
}

async function over<T>(options: Running, work: Work<T>): Promise<T> {
  const { wire, url, tokenFrom } = options;
  try {
    return await work(await connectControl(options).catch(tokenRefused(url, tokenFrom)));
  } finally {
    wire.close();
    await wire.closed;
  }
}

function tokenRefused(url = "", from = ""): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof CommandFailure) || error.code !== "unauthorized" || from === "") throw error;
    const advice =
      "Another gateway may run there, or the token changed after its start: restart it, or set gateway.port";
    throw new CommandFailure(
      error.code,
      `The gateway at ${url} does not take the token of ${from}: ${error.message}.\n${advice}.`,
      undefined,
      {
        cause: error,
      },
    );
  };
}

/** Null where no gateway runs. */
async function unlessUnavailable<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof CommandFailure && error.code === "unavailable") return null;
    throw error;
  }
}
