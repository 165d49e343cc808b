// A job that went away after its last run is asked for by its id, for as long as its history is kept.
import { expect, test } from "vitest";
import { Fault } from "@parley/protocol";
import { scheduleMethods } from "../../src/operator/schedules.ts";

const run = { v: 1, job: "gone", slot: "cron:gone:1", outcome: "ok" };
const { "cron.runs": runs } = scheduleMethods({
  config: { agents: { list: [] } },
  schedules: {
    get: () => Promise.reject(new Fault("missing", "there is no such job")),
    log: { list: async (id: string) => (id === "gone" ? [run] : []) },
    runs: async () => ({ now: [], ended: [run] }),
  },
} as never);

test("its runs are shown, and an id that never was is refused", async () => {
  expect((await runs({ id: "gone" })).runs).toEqual([{ slot: "cron:gone:1", outcome: "ok" }]);
  await expect(runs({ id: "other" })).rejects.toThrow("there is no such job");
});
