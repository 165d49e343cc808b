// Sockets that the guarded connector opens: to judged addresses alone, and none that ends somewhere else.
import { lookup } from "node:dns/promises";
import type { Socket } from "node:net";
import { Fault } from "@parley/protocol";
import type { buildConnector } from "undici";
import { expect, test } from "vitest";
import { addressGuard } from "../src/address-rules.ts";
import { guardedConnect, pinned, systemResolve, vetted } from "../src/guarded-connect.ts";
import { workedMs } from "../src/process-time.ts";

type Build = typeof buildConnector;

/** A connector whose sockets end at this address; what it was made with and asked for is noted. */
function connecting(remoteAddress: string | undefined, error: Error | null = null) {
  const seen: unknown[] = [];
  const destroyed: string[] = [];
  const refused: string[] = [];
  const build = ((options: { lookup: ReturnType<typeof pinned> }) => {
    const { lookup: look, ...rest } = options;
    look("any", { all: true }, (_error, found) => seen.push([rest, found]));
    return (asked: buildConnector.Options, callback: buildConnector.Callback) => {
      seen.push(asked.hostname);
      const socket = { remoteAddress, destroy: () => destroyed.push(remoteAddress ?? "") };
      if (error === null) callback(null, socket as unknown as Socket as never);
      else callback(error, null);
    };
  }) as unknown as Build;
  const connect = guardedConnect({
    guard: addressGuard({ allowedHosts: ["wiki.test:8080"] }),
    resolve: async (host) => (host === "none.test" ? [] : ["93.184.215.14", "2606:2800:21f:cb07::1"]),
    connectMs: 1_234,
    refuse: (host, { reason, says }) => (
      refused.push(`${host} ${reason}`),
      new Fault("denied", `${host} ${says}`)
    ),
    build,
  });
  const to = (hostname: string, port = "", protocol = "https:"): Promise<string> =>
    new Promise((done) => {
      connect({ hostname, port, protocol } as buildConnector.Options, (failed, socket) =>
        done(failed === null ? `connected to ${socket?.remoteAddress}` : String(failed.message)),
      );
    });
  return { to, seen, destroyed, refused };
}

test("a host is dialled at all of its addresses and under its name, an address at itself", async () => {
  const { to, seen, destroyed } = connecting("93.184.215.14");
  expect(await to("Open.test.")).toBe("connected to 93.184.215.14");
  const how = { timeout: 1_234, allowH2: false, maxCachedSessions: 0 };
  expect(seen).toEqual([
    [
      how,
      [
        { address: "93.184.215.14", family: 4 },
        { address: "2606:2800:21f:cb07::1", family: 6 },
      ],
    ],
    "Open.test.",
  ]);
  seen.length = 0;
  await to("[2606:2800:21f:cb07::1]");
  expect(seen).toEqual([[how, [{ address: "2606:2800:21f:cb07::1", family: 6 }]], "2606:2800:21f:cb07::1"]);
  expect(destroyed).toEqual([]);
});

test("a socket that ends at a closed address is closed again and refused, with its port as the scheme has it", async () => {
  const inside = connecting("127.0.0.1");
  expect(await inside.to("open.test")).toBe("open.test lies in a private network");
  expect([inside.destroyed, inside.refused]).toEqual([["127.0.0.1"], ["open.test private"]]);
  expect(await inside.to("wiki.test", "8080")).toBe("connected to 127.0.0.1");
  expect(await inside.to("wiki.test")).toBe("wiki.test lies in a private network");
  const nowhere = connecting(undefined);
  expect(await nowhere.to("open.test")).toBe("open.test has an address that is not of the public internet");
  const failing = connecting("93.184.215.14", new Error("ECONNREFUSED"));
  expect(await failing.to("open.test")).toBe("ECONNREFUSED");
  expect(await failing.to("none.test")).toBe("none.test has no address");
});

test("all addresses of a host are judged before any is dialled, at the port", async () => {
  const guard = addressGuard({ allowedHosts: ["wiki.test:80"] });
  const refuse = (host: string, { reason }: { reason: string }) => new Fault("denied", `${host} ${reason}`);
  const of = (host: string, port: number, addresses: readonly string[]) =>
    vetted({ guard, refuse, resolve: async () => addresses }, host, port).catch(
      ({ message }: Error) => message,
    );
  expect(await of("a.test", 80, ["8.8.8.8", "8.8.4.4"])).toEqual(["8.8.8.8", "8.8.4.4"]);
  expect(await of("a.test", 80, ["8.8.8.8", "169.254.169.254"])).toBe("a.test link-local");
  expect(await of("wiki.test", 80, ["10.0.0.1"])).toEqual(["10.0.0.1"]);
  expect(await of("wiki.test", 443, ["10.0.0.1"])).toBe("wiki.test private");
  expect(await of("8.8.8.8", 80, ["never asked"])).toEqual(["8.8.8.8"]);
});

test("what is pinned is all that is found, or the first of it", () => {
  const found: unknown[] = [];
  const look = pinned(["2606:2800::1", "8.8.8.8"]);
  const tell = (...answer: unknown[]): void => void found.push(answer);
  look("other.test", { all: true }, tell);
  look("other.test", {}, tell);
  pinned([])("other.test", {}, tell);
  expect(found).toEqual([
    [
      null,
      [
        { address: "2606:2800::1", family: 6 },
        { address: "8.8.8.8", family: 4 },
      ],
    ],
    [null, "2606:2800::1", 6],
    [null, "", 4],
  ]);
});

test("the system's resolver gives every address of a host", async () => {
  const all = (await lookup("localhost", { all: true })).map(({ address }) => address);
  expect(await systemResolve("localhost")).toEqual(all);
  expect(await systemResolve("127.0.0.1")).toEqual(["127.0.0.1"]);
});

test("how long a process has worked is known of one that is there, in hundredths of a second", () => {
  const before = workedMs(process.pid) ?? Number.NaN;
  const { user, system } = process.cpuUsage();
  expect(before % 10).toBe(0);
  // Both were asked at nearly the same time; the kernel's clock ticks a hundred times a second.
  expect(Math.abs(before - (user + system) / 1_000)).toBeLessThan(1_000);
  expect([workedMs(undefined), workedMs(2 ** 30)]).toEqual([null, null]);
});
