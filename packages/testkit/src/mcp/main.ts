// An MCP server on standard input and output, as small as one can be, that behaves as a file says. The file
// is read again for every request, so that a test changes the server while it runs: { tools?: [{ name,
// description, inputSchema, annotations, says?, does? }], start?: "hang" | "exit", junk?: "lines" |
// "endless", stderr?: "endless", era? }. Every start and call is a line of the file's `.log`.
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

interface FakeTool {
  readonly name: string;
  /** Text of the answer; absent: its arguments. */
  readonly says?: string;
  /** `huge:<bytes>`, `hang`, `crash`, `error`, `env`, `pid`, `picture`. */
  readonly does?: string;
}

interface Behaviour {
  readonly tools?: readonly FakeTool[];
  readonly start?: "hang" | "exit";
  readonly junk?: "lines" | "endless";
  readonly stderr?: "endless";
}

const [, , file = ""] = process.argv;
const behaviour = (): Behaviour => JSON.parse(readFileSync(file, "utf8")) as Behaviour;
const note = (what: string): void => appendFileSync(`${file}.log`, `${what}\n`);
const send = (message: object): boolean =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

note(`start ${process.pid}`);
const { start, junk, stderr } = behaviour();
if (start === "exit") process.exit(3);
// Ignoring both, it ends only by force.
if (start === "hang") for (const name of ["SIGTERM", "SIGHUP"]) process.on(name, () => undefined);
if (stderr === "endless") flood(process.stderr);
if (junk === "endless") flood(process.stdout);
if (junk === "lines") process.stdout.write("listening\n\n{not json}\n[1]\n{}\n");

function flood(stream: NodeJS.WriteStream): void {
  const more = (): void => {
    while (stream.write("x".repeat(65_536)));
    stream.once("drain", more);
  };
  more();
}

interface Request {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: object;
    readonly protocolVersion?: string;
  };
}

let shown = "";
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as Request;
  if (start === "hang" || id === undefined) continue;
  const { tools = [] } = behaviour();
  if (method === "initialize") {
    const protocolVersion = params?.protocolVersion;
    const capabilities = { tools: { listChanged: true } };
    send({ id, result: { protocolVersion, capabilities, serverInfo: { name: "fake", version: "1" } } });
    setInterval(tellOfChange, 50);
  } else if (method === "tools/list") {
    shown = JSON.stringify(tools);
    const listed = tools.map(({ says: _says, does: _does, ...tool }) => ({
      inputSchema: { type: "object" },
      ...tool,
    }));
    send({ id, result: { tools: listed } });
  } else if (method === "tools/call") call(id, tools, params?.name ?? "", params?.arguments ?? {});
  else send({ id, error: { code: -32_601, message: `no method ${method}` } });
}
if (start === "hang") setInterval(() => undefined, 1_000);
else process.exit(0);

function tellOfChange(): void {
  if (shown === "" || JSON.stringify(behaviour().tools ?? []) === shown) return;
  shown = "";
  send({ method: "notifications/tools/list_changed" });
}

function call(id: number, tools: readonly FakeTool[], name: string, args: object): void {
  note(`call ${name} ${JSON.stringify(args)}`);
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) return void send({ id, error: { code: -32_602, message: `no tool ${name}` } });
  const { does = "", says = JSON.stringify(args) } = tool;
  const text = (words: string): object => ({ content: [{ type: "text", text: words }] });
  if (does === "hang") return;
  if (does === "crash") process.exit(9);
  if (does === "error") return void send({ id, result: { ...text(says), isError: true } });
  if (does === "env") return void send({ id, result: text(JSON.stringify(process.env)) });
  if (does === "pid") return void send({ id, result: text(String(process.pid)) });
  if (does.startsWith("huge:"))
    return void send({ id, result: text("x".repeat(Number(does.slice("huge:".length)))) });
  if (does === "picture") {
    const data =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    return void send({ id, result: { content: [{ type: "image", data, mimeType: "image/png" }] } });
  }
  send({ id, result: text(says) });
}
