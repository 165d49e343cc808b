// Leads a sandbox that has no network to the gateway's forward proxy: a small relay inside listens on the
// sandbox's own loopback, where programs expect a proxy, and passes every connection on through the one
// socket that is mounted. The relay has no right that the command lacks; the proxy judges what is dialled.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Fault } from "@parley/protocol";

export interface WayOut {
  /** On the host: where the proxy listens. */
  readonly socket: string;
  /** On the host: a Node that runs the relay. */
  readonly node: string;
}

const socketInside = "/run/parley/egress.sock";
const nodeInside = "/run/parley/node";
const port = 3_128;
/** Its threads count as processes. */
export const relayProcesses = 16;

/**
 * Closes its output when it listens; streams look at an output all the same. Signals from a terminal are
 * meant for the command.
 */
const relay = `
const net = require("node:net");
const fs = require("node:fs");
for (const name of ["SIGINT", "SIGQUIT", "SIGHUP"]) process.on(name, () => {});
net.createServer({ allowHalfOpen: true }, (near) => {
  const far = net.connect({ path: "${socketInside}", allowHalfOpen: true });
  near.pipe(far).pipe(near);
  near.on("error", () => far.destroy()).on("close", () => far.destroy());
  far.on("error", () => near.destroy()).on("close", () => near.destroy());
}).listen(${port}, "127.0.0.1", () => {
  fs.closeSync(1);
  fs.openSync("/dev/null", "w");
});
`;

/** The command takes this shell's place, so its signals, terminal and exit code are its own. */
const script = `
$(NODE_OPTIONS= exec ${nodeInside} -e "$0" </dev/null 2>/dev/null &)
exec "$@"`;

/** Mounts for bubblewrap, below a /run that is there. */
export const wayOutMounts = ({ socket, node }: WayOut): readonly string[] => [
  "--ro-bind",
  node,
  nodeInside,
  "--ro-bind",
  socket,
  socketInside,
];

/** What stands before the command. */
export const withRelay: readonly string[] = ["/bin/sh", "-c", script, relay];

const url = `http://127.0.0.1:${port}`;
/** In both spellings: curl reads http_proxy in small letters alone. Nothing goes around it. */
export const proxyVariables: { readonly [name: string]: string } = Object.fromEntries([
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [
    [name, url],
    [name.toLowerCase(), url],
  ]),
  ["NO_PROXY", ""],
  ["no_proxy", ""],
  // Node's own fetch reads those variables only then.
  ["NODE_USE_ENV_PROXY", "1"],
]);

const known = new Map<string, Promise<void>>();

/** Throws Fault("unsupported") where a sandbox with a network of its own, or Node in it, does not start. */
export function relays(bwrap: string, view: readonly string[], { node }: WayOut): Promise<void> {
  const key = `${bwrap} ${node}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const tried = promisify(execFile)(bwrap, [...view, "--", nodeInside, "-e", "0"]).then(
    () => undefined,
    (cause: unknown) => {
      known.delete(key); // The operator may have changed it by the next turn.
      throw new Fault(
        "unsupported",
        'sandbox.network "egress" needs network namespaces and a Node that starts in the sandbox, and this system has not both; ' +
          "allow unprivileged user namespaces, or set agents.defaults.sandbox.network to false",
        { cause },
      );
    },
  );
  known.set(key, tried);
  return tried;
}
