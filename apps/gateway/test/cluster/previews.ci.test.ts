// An answer that grows on a worker and is edited by the account's leader: one message, the last text stays.
import { lacks, program } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { fleet } from "./fleet.ts";

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  afterEach(cleanUp);

  test("a worker's growing answer is one message that the edge edits, and ends as the whole text", async () => {
    const f = await fleet({ streaming: "edit" });
    const w = f.world;
    await Promise.all([f.start("edge-1", "edge"), f.start("worker-1", "worker")]);
    const text = "This answer takes its time, word after word after word, until it has come to its very end.";
    w.models.reply({ text, betweenMs: 400 });
    w.telegram.as(7).says("go on");
    await eventually(() => w.answers(7)[0]?.text === text, 30_000, "the whole answer");
    expect(w.answers(7)).toHaveLength(1);
    expect(w.telegram.calls("sendMessage")).toHaveLength(1);
    expect(w.telegram.calls("editMessageText").length).toBeGreaterThan(1);
    await f.close();
  });
});
