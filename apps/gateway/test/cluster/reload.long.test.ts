// A config that changes under several nodes: each takes up its own file, whoever leads an account makes its
// connection anew, and accounts come and go without a restart.
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { lacks, program } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { controlClient } from "../e2e/control-client.ts";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { fleet, type Node } from "./fleet.ts";

interface Telegram {
  botToken: string;
  accounts?: object;
}

async function change(node: Node, how: (telegram: Telegram) => void): Promise<unknown> {
  const file = join(node.home, "parley.json5");
  const config = JSON.parse(await readFile(file, "utf8")) as { channels: { telegram: Telegram } };
  how(config.channels.telegram);
  await writeFile(`${file}.new`, JSON.stringify(config));
  await rename(`${file}.new`, file);
  const client = await controlClient(node);
  const taken = await client.call("reload");
  client.close();
  return taken;
}

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  afterEach(cleanUp);

  test("a token rotates, an account comes and goes; a node that took up the change while it stood by leads with the new token", async () => {
    const f = await fleet();
    const { telegram } = f.world;
    const first = await f.start("one", "all");
    const second = await f.start("two", "all");
    telegram.as(1).says("hello");
    await f.world.answered(1, 1);

    const [rotated, more] = [
      telegram.bot("888:a-new-token-of-this-bot-0123456789", "new_bot"),
      telegram.bot("777:second-bot-0123456789", "second_bot"),
    ];
    const accounts = {
      second: { botToken: more.token, dmPolicy: "open", allowFrom: ["*"], pacing: "off", streaming: "off" },
    };
    for (const node of [first, second]) {
      const taken = await change(node, (block) =>
        Object.assign(block, { botToken: rotated.token, accounts }),
      );
      expect(taken).toMatchObject({ problems: [], restartNeeded: [] });
    }
    const answerTo = (text: string): Promise<unknown> =>
      eventually(
        () => telegram.calls("sendMessage").some(({ params }) => params["text"] === `echo: ${text}`),
        20_000,
        `the answer to ${text}`,
      );
    telegram.as(2, rotated.token).says("to the new token");
    await answerTo("to the new token");
    telegram.as(3, more.token).says("to the second account");
    await answerTo("to the second account");

    for (const node of [first, second]) await change(node, (block) => delete block.accounts);
    telegram.as(3, more.token).says("to nobody");
    expect(await first.stop()).toBe(0);
    telegram.as(2, rotated.token).says("to the other node");
    await answerTo("to the other node");
    expect(telegram.calls("sendMessage").some(({ params }) => params["text"] === "echo: to nobody")).toBe(
      false,
    );
    await f.close();
  });
});
