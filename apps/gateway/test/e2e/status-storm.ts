// Many operators ask a daemon for its state at one instant, while people write to it: every one is answered,
// nothing is locked (the daemon owns the database alone), and each person gets every answer once and in
// order.
import type { MethodResult } from "@parley/protocol";
import { expect } from "vitest";
import { controlClient } from "./control-client.ts";
import { findableGateway, parley } from "./operator.ts";
import type { World } from "./world.ts";

export interface Storm {
  /** `parley status`, each a process of its own. */
  readonly processes: number;
  /** Connections of their own, each of which asks once. */
  readonly sockets: number;
}

const people = 8;
/** Of one person: below the cap of what may wait in a session. */
const messagesEach = 12;

type Status = MethodResult<"status">;

/**
 * Starts a daemon of this world and stops it; throws when anybody went without an answer, or got one twice or
 * out of turn.
 */
export async function statusStorm(world: World, { processes, sockets }: Storm): Promise<void> {
  const daemon = await world.start({
    config: { ...(await findableGateway()), messages: { queue: { mode: "followup" } } },
  });
  const chats = Array.from({ length: people }, (_, at) => at + 1);
  for (let n = 0; n < messagesEach; n += 1)
    for (const chat of chats) world.telegram.as(chat).says(`${chat}: message ${n}`);

  const [ran, asked] = await Promise.all([
    Promise.all(Array.from({ length: processes }, () => parley(daemon.home, "--json", "status"))),
    Promise.all(
      Array.from({ length: sockets }, async () => {
        const client = await controlClient(daemon);
        const found = (await client.call("status")) as Status;
        client.close();
        return found;
      }),
    ),
  ]);
  for (const { exitCode, out, err } of ran) {
    const found = JSON.parse(out) as Status;
    expect(found.pid).toBe(daemon.pid);
    // A machine with all hands full may keep the daemon from answering in 5 s: the command says so, and shows
    // what was written down.
    const isAnswered = err === "";
    if (!isAnswered)
      expect(err).toMatch(/said nothing within 5 s.*Its process \d+ runs\. This is what it wrote down/s);
    // A poll may have failed by then for the same reason, and the answer says so.
    expect(exitCode).toBe(isAnswered && found.state === "ok" ? 0 : 1);
  }
  for (const found of asked) expect(found.pid).toBe(daemon.pid);
  expect([ran.length, asked.length]).toEqual([processes, sockets]);

  for (const chat of chats) {
    const expected = Array.from({ length: messagesEach }, (_, n) => `echo: ${chat}: message ${n}`);
    expect(await world.answered(chat, messagesEach, 60_000)).toEqual(expected);
  }
  expect(await daemon.stop()).toBe(0);
  // Settled: nothing came after the last one.
  for (const chat of chats) expect(world.answers(chat)).toHaveLength(messagesEach);
  expect(daemon.log()).not.toMatch(/locked|SQLITE_BUSY/i);
  expect(world.telegram.violations()).toEqual([]);
}
