// Runs a command's work against the gateway: connects, warns about a broken config, hangs up whatever happens.
import type { Console } from "./console.ts";
import { line, styled } from "./console.ts";
import { connectControl, type ControlClient } from "./control-client.ts";
import { gatewayAddress } from "./gateway-address.ts";

export async function withGateway<T>(terminal: Console, work: (client: ControlClient) => Promise<T>, thread?: string): Promise<T> {
  const address = await gatewayAddress(terminal.env);
  for (const trouble of address.configTrouble) line(terminal.err, styled(terminal.err, terminal.env, "yellow", `config: ${trouble}`));
  const client = await connectControl({ address, ...(thread === undefined ? {} : { thread }) });
  try {
    return await work(client);
  } finally {
    client.close();
    await client.closed;
  }
}
