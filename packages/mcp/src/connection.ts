// Holds one connection to a server: the library's client over our own transports. The library is loaded with
// the first connection, so that an installation without servers does not pay for it.
import type { AuthProvider } from "@modelcontextprotocol/client";
import type { AddressRules, Refusal } from "@parley/egress";
import { Fault, isFault, label, version, type Clock } from "@parley/protocol";
import { readListing, type Listing } from "./definition.ts";
import { errorWords, SaidByServer } from "./error-words.ts";
import type { GuardedFetch } from "./guarded-fetch.ts";
import type { ServerSettings } from "./settings.ts";
import { stdioTransport, type StdioTransport } from "./stdio.ts";

/** How a program of this machine is started. */
export interface StartedProgram {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
}

export interface ConnectionOptions {
  readonly settings: ServerSettings;
  /** For a server that is a program. */
  readonly program: StartedProgram | null;
  readonly mark: string;
  /** What egress may dial; asked where the server is reached by HTTP. */
  readonly rules: () => Promise<AddressRules>;
  readonly refused: (refusal: Refusal) => void;
  /** For servers that are reached by HTTP; null: the config says who we are. */
  readonly auth: ((fetch: GuardedFetch["fetch"]) => AuthProvider) | null;
  readonly onToolsChanged: () => void;
  readonly onClose: () => void;
  readonly onStderr: (text: string) => void;
  readonly clock: Clock;
}

export interface Connection {
  /** The server's own name and version. */
  readonly about: { readonly name: string; readonly version: string };
  readonly pid: number | undefined;
  list(signal: AbortSignal): Promise<Listing>;
  /** The result as the server sent it. Throws Fault. */
  call(tool: string, args: { readonly [name: string]: unknown }, signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}

/** A server that never answers the question for its revision is taken for one of the older revisions. */
const probeMs = 5_000;
const mostPages = 50;

/** Throws Fault("unavailable") where the server does not come up in time. */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  const { settings, program, clock } = options;
  const { Client, SSEClientTransport, StreamableHTTPClientTransport } =
    await import("@modelcontextprotocol/client");
  let http: GuardedFetch | null = null;
  let stdio: StdioTransport | null = null;
  const client = new Client(
    { name: "parley", version },
    {
      capabilities: {},
      versionNegotiation: {
        mode: "auto",
        probe: { timeoutMs: Math.min(probeMs, settings.startTimeoutMs / 2) },
      },
      // What a server declares of its results is not compiled: its patterns could take for ever.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
      listChanged: { tools: { autoRefresh: false, onChanged: () => options.onToolsChanged() } },
    },
  );
  client.onerror = () => undefined; // Each call reports its own failure.
  const transport = async () => {
    if (program !== null) {
      const { mark, onStderr } = options;
      stdio = stdioTransport({ ...program, mark, onStderr, clock });
      return stdio;
    }
    const url = settings.url ?? "";
    const { guardedFetch } = await import("./guarded-fetch.ts");
    const { refused } = options;
    http = guardedFetch({ url, rules: await options.rules(), refused, timeoutMs: settings.timeoutMs, clock });
    const shared = {
      fetch: http.fetch,
      requestInit: { headers: { ...settings.headers } },
      ...(options.auth === null ? {} : { authProvider: options.auth(http.fetch) }),
      // The dialler follows: it carries no key to another origin, and repeats no body there.
      redirectPolicy: "follow" as const,
    };
    return settings.transport === "sse"
      ? new SSEClientTransport(new URL(url), shared)
      : new StreamableHTTPClientTransport(new URL(url), shared);
  };
  const close = async (): Promise<void> => {
    await client.close().catch(() => undefined);
    await http?.close();
  };
  const endOfProgram = (): string | null => stdio?.ended() ?? null;
  let open = false;
  client.onclose = () => {
    if (open) options.onClose();
  };
  try {
    await client.connect(await transport(), { timeout: settings.startTimeoutMs });
  } catch (error) {
    const ended = endOfProgram();
    await close();
    throw ended === null
      ? faultOf(error, "it does not answer")
      : new Fault("unavailable", ended, { cause: error });
  }
  open = true;
  const about = client.getServerVersion();
  return {
    about: { name: label(about?.name ?? "", 60), version: label(about?.version ?? "", 30) },
    get pid() {
      return stdio?.pid();
    },
    async list(signal) {
      const offered: unknown[] = [];
      let cursor: string | undefined;
      try {
        for (let page = 0; page < mostPages; page += 1) {
          const answer = await client.request(
            { method: "tools/list", params: cursor === undefined ? {} : { cursor } },
            { signal, timeout: settings.startTimeoutMs },
          );
          offered.push(...answer.tools);
          cursor = answer.nextCursor;
          if (cursor === undefined) break;
        }
      } catch (error) {
        throw faultOf(error, "its tools cannot be listed");
      }
      return readListing(offered);
    },
    async call(tool, args, signal) {
      try {
        return await client.callTool(
          { name: tool, arguments: { ...args } },
          { signal, timeout: settings.timeoutMs },
        );
      } catch (error) {
        if (signal.aborted) throw new Fault("aborted", "the call was stopped");
        if (isStale(error)) throw new Fault("conflict", "its session is over", { cause: error });
        // An answer that is an error leaves the connection as it is; without one nobody knows what it is
        // worth.
        if (program === null && !isAnswer(error)) options.onClose();
        throw faultOf(error, "the call failed");
      }
    },
    close() {
      open = false;
      return close();
    },
  };
}

/** The server has forgotten us, so it did nothing: 404 by the specification, 400 by many. */
function isStale(error: unknown): boolean {
  const { status } = error as { readonly status?: unknown };
  return status === 404 || (status === 400 && /session/i.test(String((error as Error).message)));
}

/** JSON-RPC's own errors have numbers. */
function isAnswer(error: unknown): boolean {
  return typeof (error as { readonly code?: unknown }).code === "number";
}

/** A stranger's words become one short line. */
function faultOf(error: unknown, says: string): Fault {
  if (isFault(error)) return error;
  const { code } = error as { readonly code?: unknown };
  const inner = (error as { readonly cause?: unknown }).cause;
  if (isFault(inner)) return inner;
  if (code === "REQUEST_TIMEOUT")
    return new Fault("unavailable", "it did not answer in time", { cause: error });
  const words = errorWords(error);
  return words === ""
    ? new Fault("unavailable", says, { cause: error })
    : new Fault("unavailable", `${says}: ${words}`, { cause: new SaidByServer(error) });
}
