// The gateway's program by its first word: what it answers on standard output, what it says of a refusal, and
// with which code it ends, by which a supervisor knows whether another start is worth it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isSealed, unsealFile } from "../../src/maintenance/sealed-file.ts";
import { cleanUp, freshHome, processEnv, programOf } from "./daemon.ts";

let home: string;
beforeEach(async () => void (home = await freshHome()));
afterEach(cleanUp);

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function run(words: readonly string[], config: object = {}, input = ""): Promise<Ended> {
  writeFileSync(join(home, "parley.json5"), JSON.stringify(config));
  const child = spawn(process.execPath, [programOf("gateway"), ...words], { env: processEnv(home) });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  child.stdin.end(input);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, err };
}

test("a helper of the database answers with one document; its passphrase is what stands on standard input", async () => {
  const path = join(home, "state.db");
  const onFatal = (error: unknown): void => expect.unreachable(String(error));
  await (await sqliteStore({ path, clock: virtualClock(), log: silentLog, bootId: "boot", onFatal })).close();
  const sealed = join(home, "sealed.db");
  const { code, out, err } = await run(["--database-job", "seal", path, sealed], {}, "correct horse");
  expect([code, JSON.parse(out), err]).toEqual([
    0,
    { ok: true, findings: [], bytes: statSync(sealed).size },
    "",
  ]);
  expect(isSealed(sealed)).toBe(true);
  unsealFile(sealed, join(home, "open.db"), "correct horse");
});

test("an import that cannot be is told in its document, and ends with 1", async () => {
  const { code, out } = await run(["--import", join(home, "nowhere"), "--apply"]);
  expect([code, JSON.parse(out)]).toEqual([
    1,
    { error: { code: "missing", message: expect.stringContaining(join(home, "nowhere")) as string } },
  ]);
});

test("what a person has to mend ends with 78, and is told in its words alone", async () => {
  expect(await run([], { gateway: { prot: 1 } })).toEqual({
    code: 78,
    out: "",
    err: `${join(home, "parley.json5")}:1:13 gateway.prot: unknown key "prot". Did you mean "port"?\n`,
  });
});
