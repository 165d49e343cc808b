// `parley mcp serve`: the running gateway as an MCP server on standard input and output, for programs that
// start their servers. Each message is handed to the gateway's /mcp, and its answer back.
import { createInterface } from "node:readline";
import type { Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { gatewayAddress } from "../../gateway-address.ts";

/** Ends with its input. Throws CommandFailure when no gateway runs. */
export async function mcpServe({ env, input, out, err }: Console): Promise<ExitCode> {
  const { url, token } = await gatewayAddress(env);
  const ask = async (line: string): Promise<string | null> => {
    const response = await fetch(new URL("/mcp", url), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: line,
    });
    const text = await response.text();
    if (response.status === 401 || response.status === 403)
      throw new CommandFailure("unauthorized", `The gateway at ${url} does not take this token.`);
    return response.status === 202 ? null : text;
  };
  const open = new Set<Promise<void>>();
  for await (const line of createInterface({ input })) {
    if (line.trim() === "") continue;
    const answered = ask(line).then(
      (answer) => {
        if (answer !== null) out.write(`${answer.trim()}\n`);
      },
      (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        err.write(`parley mcp serve: ${reason}\n`);
        const id = idOf(line);
        if (id !== undefined)
          out.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_603, message: reason } })}\n`);
      },
    );
    open.add(answered);
    void answered.finally(() => open.delete(answered));
  }
  await Promise.all(open);
  return exitCodes.ok;
}

function idOf(line: string): unknown {
  try {
    return (JSON.parse(line) as { readonly id?: unknown }).id;
  } catch {
    // The gateway would have said what is wrong with it.
    return undefined;
  }
}
