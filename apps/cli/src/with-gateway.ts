// Runs a command's work against the gateway: connects, warns about a broken config, hangs up whatever happens. What needs only the state
// folder works without a daemon too: then a gateway runs for this command alone.
import { Writable } from "node:stream";
import type { Console } from "./console.ts";
import { line, styled } from "./console.ts";
import { connectControl, type ConnectOptions, type ControlClient } from "./control-client.ts";
import { CommandFailure } from "./exit.ts";
import { gatewayAddress } from "./gateway-address.ts";
import { gatewayProgram } from "./gateway-program.ts";
import { onceWire } from "./once-wire.ts";
import { socketWire } from "./socket-wire.ts";

/** Without the warnings about a broken config: for what is asked again and again, or is about the config itself. */
export function quietly(terminal: Console): Console {
  return { ...terminal, err: new Writable({ write: (_chunk, _encoding, done) => done() }) };
}

type Work<T> = (client: ControlClient) => Promise<T>;

/** Throws CommandFailure("unavailable") when no gateway runs. */
export async function withGateway<T>(terminal: Console, work: Work<T>, thread?: string): Promise<T> {
  return over(await runningGateway(terminal, thread), work);
}

/** Asks the running gateway, or, when none runs, one that is started on the same state folder for this alone. */
export async function withState<T>(terminal: Console, work: Work<T>): Promise<T> {
  let running: ConnectOptions;
  try {
    running = await runningGateway(terminal);
  } catch (error) {
    // A broken config stops this one too, and says so better.
    if (error instanceof CommandFailure && error.code === "unavailable") return withStoppedGateway(terminal, work);
    throw error;
  }
  return over(running, work);
}

/** Always starts one; it refuses when a daemon holds the state folder. */
export async function withStoppedGateway<T>(terminal: Console, work: Work<T>): Promise<T> {
  return over({ wire: onceWire(gatewayProgram, terminal.env) }, work);
}

async function runningGateway(terminal: Console, thread?: string): Promise<ConnectOptions> {
  const address = await gatewayAddress(terminal.env);
  for (const trouble of address.configTrouble) line(terminal.err, styled(terminal.err, terminal.env, "yellow", `config: ${trouble}`));
  return { wire: await socketWire(address), token: address.token, ...(thread === undefined ? {} : { thread }) };
}

async function over<T>(options: ConnectOptions, work: Work<T>): Promise<T> {
  const { wire } = options;
  try {
    return await work(await connectControl(options));
  } finally {
    wire.close();
    await wire.closed;
  }
}
