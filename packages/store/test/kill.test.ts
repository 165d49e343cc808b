// The embedded driver under kill -9. PARLEY_LONG=1 makes it long.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { silentLog, systemClock } from "@parley/protocol";
import { expect, test } from "vitest";
import { describeDatabase, sqliteStore } from "../src/index.ts";
import { judge, killLoop } from "./kill/loop.ts";
import { tempDir } from "./open-sqlite.ts";

const kills = process.env["PARLEY_LONG"] === "1" ? 60 : 3;

test(
  "killed processes lose nothing, answer once, in order, and flag what may show twice",
  { timeout: 300_000 },
  async () => {
    const dir = tempDir();
    const path = join(dir, "state.db");
    await killLoop({ dir, store: path, kills });
    const clock = systemClock();
    const store = await sqliteStore({
      path,
      clock,
      log: silentLog,
      bootId: "end",
      exclusive: true,
      onFatal: () => {},
    });
    await judge(dir, store);
    await store.close();
    expect(describeDatabase(path, { full: true }).findings).toEqual([]);
    rmSync(dir, { recursive: true });
  },
);
