// mcp.*: servers of the Model Context Protocol whose tools agents get, how their tools are
// approved and shown.
import { z } from "zod";

const envName = z
  .string()
  .regex(/^[A-Za-z_]\w{0,127}$/, { error: "not the name of an environment variable" });
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, { error: "not the name of a header" });
const value = z
  .string()
  .max(32_768)
  .regex(/^[^\0\r\n]*$/, { error: "one line of text" });

/** Part of every tool's name, which providers cut at 64 characters. */
const serverName = z.string().regex(/^[a-z0-9](?:[a-z0-9-]|_(?!_)){0,30}$/i, {
  error:
    'a server\'s name has letters, digits, "-" and single "_", begins with a letter or digit and has at most 31 characters',
});

const toolNames = z.array(z.string().min(1).max(200));

const httpUrl = z
  .url({ protocol: /^https?$/, error: "not an address that begins with http:// or https://" })
  .max(2_048);

const seconds = (text: string, normal: number) => z.number().min(1).max(3_600).default(normal).describe(text);

const server = z
  .strictObject({
    command: z
      .string()
      .min(1)
      .max(4_096)
      .exactOptional()
      .describe("The program of a server on this machine. Not together with url."),
    args: z.array(z.string().max(32_768)).max(256).default([]).describe("Its arguments."),
    env: z
      .record(envName, value)
      .default({})
      .describe(
        "Its variables, beside PATH, HOME, LANG and a few more of the gateway's. \"${NAME}\" takes the daemon's own.",
      ),
    cwd: z
      .string()
      .min(1)
      .exactOptional()
      .describe("Folder that it runs in. Default: one of its own in mcp/ of the state folder."),
    url: httpUrl.exactOptional().describe("The address of a server that is reached by HTTP."),
    headers: z
      .record(headerName, value)
      .default({})
      .describe('Headers of every request to it, for example { Authorization: "Bearer ${TOKEN}" }.'),
    oauth: z
      .strictObject({
        clientId: value
          .min(1)
          .exactOptional()
          .describe("A client that was registered by hand. Default: the server registers the gateway."),
        clientSecret: value.min(1).exactOptional().describe("Its secret, where it has one."),
        scope: value.min(1).exactOptional().describe("What is asked for. Default: what the server names."),
      })
      .prefault({})
      .describe("For `parley mcp login`, where the server asks for a login."),
    transport: z
      .enum(["stdio", "http", "streamable-http", "sse"])
      .exactOptional()
      .describe(
        'How it is spoken to: "stdio" with command; "http" (also "streamable-http") or the older "sse" with url. Default: by what is set.',
      ),
    type: z
      .enum(["stdio", "http", "streamable-http", "sse"])
      .exactOptional()
      .describe("Another name for transport."),
    enabled: z.boolean().default(true).describe("false: it is not used."),
    timeoutSeconds: seconds("Longest time of one call, in seconds.", 60),
    startTimeoutSeconds: seconds("Longest time until a started server has answered, in seconds.", 30),
    idleMinutes: z
      .number()
      .min(0)
      .max(1_440)
      .default(15)
      .describe("A server that nobody calls is ended after this long, in minutes; 0: it stays."),
    tools: z
      .strictObject({
        allow: toolNames.exactOptional().describe('The only ones: names and patterns such as "get_*".'),
        deny: toolNames.exactOptional().describe("Those that are not used; wins over allow."),
      })
      .prefault({})
      .describe("Which of its tools are used, by the names that it gives them."),
    sandbox: z
      .enum(["auto", "off"])
      .default("auto")
      .describe(
        'Where its program runs for a sandboxed agent: "auto" (in that sandbox), "off" (on the host, as for others).',
      ),
  })
  .superRefine((own, context) => {
    const { command, url, transport, type } = own;
    const kind = transport ?? type;
    const fail = (key: string, message: string): void =>
      context.addIssue({ code: "custom", path: [key], message });
    if (transport !== undefined && type !== undefined)
      fail("type", "transport and type are two names of one setting: keep one");
    if (command === undefined && url === undefined) fail("command", "a server has a command or a url");
    if (command !== undefined && url !== undefined) fail("url", "a server has a command or a url, not both");
    if (kind === "stdio" && command === undefined) fail("transport", "stdio needs a command");
    if (kind !== undefined && kind !== "stdio" && url === undefined) fail("transport", `${kind} needs a url`);
    if (
      url !== undefined &&
      URL.canParse(url) &&
      (new URL(url).username !== "" || new URL(url).password !== "")
    )
      fail("url", "no name and password in the address: use headers");
  });

export const mcpSchema = z
  .strictObject({
    servers: z
      .record(serverName, server)
      .default({})
      .describe("The servers, by the name that begins the names of their tools: <name>__<tool>."),
    approve: z
      .enum(["changes", "all"])
      .default("changes")
      .describe(
        'Which tools wait for an owner: "changes" (new and changed ones of a server whose tools were listed before), "all" (also the first ones of a new server).',
      ),
    toolSearch: z
      .strictObject({
        mode: z
          .enum(["auto", "on", "off"])
          .default("auto")
          .describe(
            'Whether the model looks tools of servers up by tool_search instead of being told them all: "auto" (where they are too large), "on", "off".',
          ),
        maxPromptTokens: z
          .number()
          .int()
          .min(0)
          .max(1_000_000)
          .default(6_000)
          .describe('Size of the tools of all servers, in tokens, beyond which "auto" turns it on.'),
      })
      .prefault({})
      .describe("Catalogues that are too large for the prompt."),
  })
  .prefault({})
  .describe("The Model Context Protocol: tools of other programs.");
