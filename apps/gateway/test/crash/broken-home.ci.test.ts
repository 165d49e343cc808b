// Homes that no daemon may work in: it refuses, says which step comes next, and leaves everything as it was.
// Exit code 78 tells a supervisor that starting again will not help.
import { once } from "node:events";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { controlClient } from "../e2e/control-client.ts";
import { cleanUp, freshHome, startDaemon, testToken } from "../e2e/daemon.ts";
import { stage, type Stage } from "./stage.ts";
import { usedHome, type UsedHome } from "./used-home.ts";

let used: UsedHome;
let at: Stage;
beforeAll(async () => {
  used = await usedHome();
});
afterAll(() => used.remove());
afterEach(async () => {
  await cleanUp();
  await at.close();
});

const pageBytes = 4_096;

function overwrite(file: string, offset: number, bytes: Buffer): void {
  const handle = openSync(file, "r+");
  writeSync(handle, bytes, 0, bytes.length, offset);
  closeSync(handle);
}

/** A stage on a home that was used; its state.db. */
async function answeredOnce(): Promise<string> {
  const home = await used.copy();
  at = await stage({ home });
  return join(home, "state.db");
}

/** How the next start fails: its exit code and what it said. */
async function refusal(): Promise<string> {
  const error = await at.start().then(
    () => "it started",
    (cause: unknown) => String(cause),
  );
  return error;
}

describe("a damaged state.db", () => {
  test("whose head is overwritten is refused with the next step, and not touched", async () => {
    const file = await answeredOnce();
    overwrite(file, 0, Buffer.from("this is no database".repeat(10)));
    const before = readFileSync(file);
    expect(await refusal()).toMatch(
      /exited with 78[\s\S]*state\.db is damaged or not a database[\s\S]*parley restore/,
    );
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("with bytes flipped in its pages is refused after a kill, before anything is written", async () => {
    const file = await answeredOnce();
    await at.start();
    await at.kill();
    const db = new DatabaseSync(file);
    db.exec("pragma wal_checkpoint(truncate)");
    const root = db.prepare("select rootpage from sqlite_schema where name = 'rows'").get()?.["rootpage"];
    db.close();
    overwrite(file, (Number(root) - 1) * pageBytes, Buffer.alloc(64, 0xa5));
    expect(await refusal()).toMatch(/exited with 78[\s\S]*is damaged[\s\S]*nothing was changed/);
  });

  test("of a newer Parley is refused, naming both versions", async () => {
    const file = await answeredOnce();
    const db = new DatabaseSync(file);
    db.exec("pragma user_version = 999");
    db.close();
    expect(await refusal()).toMatch(/exited with 78[\s\S]*state\.db[\s\S]*999/);
  });
});

test("a second daemon on one home is refused with the process id of the first, which goes on", async () => {
  at = await stage();
  const { pid } = await at.start();
  expect(await refusal()).toMatch(new RegExp(`exited with 78[\\s\\S]*process ${pid}\\b`));
  at.says("telegram");
  await at.quiet("telegram");
  await at.end();
});

test("starts that are refused because the port is taken are no crash loop", async () => {
  at = await stage();
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const gateway = { port: (other.address() as AddressInfo).port, auth: { token: testToken } };
  const home = await freshHome();
  for (let n = 1; n <= 3; n += 1)
    await expect(startDaemon({ home, config: { gateway } })).rejects.toThrow(
      /exited with 1 [\s\S]*cannot listen on .*set gateway\.port/,
    );
  other.close();
  const daemon = await startDaemon({ home, config: {} });
  expect(daemon.log()).not.toMatch(/did not end cleanly|safe mode/);
  const client = await controlClient(daemon);
  expect(await client.call("health")).toEqual({ ok: true, reasons: [] });
  client.close();
});
