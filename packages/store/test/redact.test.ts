// Forgetting in the database: every place that holds words, and no byte of them left in the files.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog, type SessionKey } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { sqliteStore } from "../src/index.ts";

test("rewrites what is stored, counts it, and leaves the rest as it was", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-redact-"));
  const store = await sqliteStore({
    path: join(folder, "state.db"),
    clock: virtualClock(),
    log: silentLog,
    bootId: "boot",
    onFatal: () => {},
  });
  try {
    for (let n = 0; n < 450; n += 1)
      await store.cells.put(`cell-${n}`, n % 3 === 0 ? `zanzibar ${n}` : `plain ${n}`, {});
    const key = "agent:main:main" as SessionKey;
    await store.sessions.patch(key, { note: "zanzibar too", other: 1 });
    await store.events.append("s", "e1", '{"text":"zanzibar"}');
    const change = (text: string): string | null =>
      text.includes("zanzibar") ? text.replaceAll("zanzibar", "[gone]") : null;
    expect(await store.redact?.(change)).toBe(152);
    expect((await store.cells.get("cell-3"))?.value).toBe("[gone] 3");
    expect((await store.cells.get("cell-4"))?.value).toBe("plain 4");
    expect((await store.sessions.open(key)).fields).toEqual({ note: "[gone] too", other: 1 });
    expect(await store.redact?.(change)).toBe(0);
    for (const name of readdirSync(folder))
      expect([name, readFileSync(join(folder, name)).includes("zanzibar")]).toEqual([name, false]);
    await store.cells.put("after", "works", {});
    expect((await store.cells.get("after"))?.value).toBe("works");
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
});
