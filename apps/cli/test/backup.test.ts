// A copy's passphrase comes from where nobody else on the machine sees it; the audit is written out whole.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { fakeGateway, parley } from "./fake-gateway.ts";

test("a passphrase is read from a variable, a file or the input, without the end of its line", async () => {
  const fake = await fakeGateway(() => ({ path: "/b.db", bytes: 1 }));
  const file = join(fake.home, "pass:word");
  writeFileSync(file, " two words \r\n");
  const asked = async (where: string, text = ""): Promise<unknown> => {
    const input = new PassThrough();
    input.end(text);
    const { out } = await parley(fake.home, ["backup", "/b.db", "--passphrase", where], {
      input,
      env: { PASS: "of a variable\n" },
    });
    expect(out).toBe("Wrote /b.db (1 bytes), checked whole and encrypted.\n");
    return ((fake.requests.at(-1)?.params ?? {}) as { readonly passphrase?: string }).passphrase;
  };
  expect([await asked("env:PASS"), await asked(`file:${file}`), await asked("-", "typed\n\n")]).toEqual([
    "of a variable\n",
    " two words ",
    "typed\n",
  ]);
});

test("a passphrase that is empty, cannot be read or stands on the command line itself is refused, and nothing is asked", async () => {
  const fake = await fakeGateway(() => ({}));
  const told = async (command: string, where: string): Promise<string> => {
    const { exitCode, err } = await parley(fake.home, [command, "/b.db", "--passphrase", where]);
    expect([where, exitCode]).toEqual([where, 2]);
    return err.replace(fake.home, "HOME");
  };
  writeFileSync(join(fake.home, "empty"), "\n");
  for (const where of ["env:NOT_SET", "-", `file:${join(fake.home, "empty")}`])
    expect(await told("backup", where)).toBe("the passphrase is empty\n");
  expect(await told("restore", `file:${join(fake.home, "gone")}`)).toMatch(
    /^HOME\/gone cannot be read: Error: ENOENT/,
  );
  for (const where of ["secret words", "files:x", "ENV:PASS"])
    expect(await told("restore", where)).toBe(
      "--passphrase takes env:NAME, file:PATH or -, not the words themselves\n",
    );
  expect(fake.requests).toEqual([]);
});

test("the audit is written out over its pages, the oldest first, to a new file that its owner alone reads", async () => {
  const pages = [
    [5, 6],
    [3, 4],
    [1, 2],
  ].map((page) => page.map((atMs) => ({ atMs })));
  const fake = await fakeGateway(({ method, params }) => {
    expect(method).toBe("audit.list");
    const at = (params as { readonly skip: number }).skip / 2;
    return { records: pages[at], more: at < 2 };
  });
  const path = join(fake.home, "audit.jsonl");
  const run = await parley(fake.home, ["audit", "--export", path, "--method", "config", "-n", "1"]);
  expect([run.exitCode, run.out]).toEqual([0, `Wrote 6 records to ${path}.\n`]);
  expect(readFileSync(path, "utf8")).toBe([1, 2, 3, 4, 5, 6].map((atMs) => `{"atMs":${atMs}}\n`).join(""));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(fake.requests.filter(({ method }) => method !== "connect").map(({ params }) => params)).toEqual(
    [0, 2, 4].map((skip) => ({ method: "config", limit: 5_000, skip })),
  );
  const again = await parley(fake.home, ["audit", "--export", path]);
  expect([again.exitCode, again.err]).toEqual([1, expect.stringContaining(`${path} cannot be written: `)]);
});

test("a time of the audit counts back from now in minutes, hours and days", async () => {
  const fake = await fakeGateway(() => ({ records: [], more: false }));
  const back = async (since: string): Promise<number> => {
    await parley(fake.home, ["audit", "--since", since]);
    const { sinceMs } = (fake.requests.at(-1)?.params ?? {}) as { readonly sinceMs: number };
    return Math.round((Date.now() - sinceMs) / 60_000);
  };
  expect([await back("30m"), await back("2h"), await back("7d")]).toEqual([30, 120, 10_080]);
});
