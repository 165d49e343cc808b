// Pictures that were sent together are one message to the agent: in order, with their words, in every queue
// mode, in a group where only the caption calls it, and over a kill between the parts.
import type { Inbound } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const picture = (name: string): Inbound["attachments"][number] => ({ kind: "image", ref: name, name });
const group: Inbound["address"] = { channel: "telegram", account: "default", kind: "group", peer: "-100" };

function part(who: Person, nth: number, caption = "", more: Partial<Inbound> = {}): void {
  who.says(caption, { groupId: "album-1", attachments: [picture(`p${nth}.jpg`)], ...more });
}
/** The pictures of each question, in their order. */
const asked = (): readonly (readonly string[])[] =>
  s.model.asked.map(({ users }) => [...users.join("\n").matchAll(/p\d\.jpg/g)].map(([name]) => name));
const three = ["p1.jpg", "p2.jpg", "p3.jpg"];

describe.each(["steer", "followup", "collect", "interrupt"])("in the mode %s", (mode) => {
  test("an album is one question", async () => {
    s = await stage({ config: { messages: { queue: { mode } } } });
    s.model.answers(() => "seen");
    const olga = s.person("olga");
    part(olga, 1, "my garden");
    await s.pass(300);
    part(olga, 2);
    part(olga, 3);
    await olga.gets("seen");
    await s.pass(5_000);
    expect(asked()).toEqual([three]);
    expect(s.model.asked[0]?.text).toMatch(/^my garden/);
  });
});

test("its parts come over a kill between them", async () => {
  s = await stage();
  s.model.answers(() => "seen");
  const olga = s.person("olga");
  part(olga, 1, "my garden");
  await s.pass(300);
  await s.kill();
  await s.pass(5_000);
  await s.start();
  await s.pass(400);
  part(olga, 2);
  part(olga, 3);
  await olga.gets("seen");
  await s.pass(5_000);
  expect(asked()).toEqual([three]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/album-over-kill.txt");
});

test("in a group whose caption alone calls the agent, all of it is seen, and nothing else", async () => {
  s = await stage({ telegram: { groups: { "-100": { requireMention: true } }, groupPolicy: "open" } });
  s.model.answers(() => "seen");
  const olga = s.person("olga", { chat: "-100" });
  const paul = s.person("paul", { chat: "-100" });
  const here = { address: group, addressed: false };
  part(olga, 1, "@parley my garden", { ...here, addressed: true });
  part(olga, 2, "", here);
  await s.kill();
  await s.start();
  // Another's album, which happens to come between.
  part(paul, 7, "", { ...here, groupId: "album-2" });
  part(olga, 3, "", here);
  await olga.gets("seen");
  await s.pass(5_000);
  expect(asked()).toHaveLength(1);
  expect(s.model.asked[0]?.users.join("\n")).toMatch(/my garden[^]*p1\.jpg[^]*p2\.jpg[^]*p3\.jpg/);
});

test.each([50, 0])(
  "a caption on the last part brings the parts before it (%i kept as context)",
  async (keep) => {
    s = await stage({
      config: { messages: { groupChat: { historyLimit: keep } } },
      telegram: { groups: { "-100": { requireMention: true } }, groupPolicy: "open" },
    });
    s.model.answers(() => "seen");
    const olga = s.person("olga", { chat: "-100" });
    const paul = s.person("paul", { chat: "-100" });
    const here = { address: group, addressed: false };
    part(olga, 1, "", here);
    part(paul, 7, "", { ...here, groupId: "album-2" });
    if (keep > 0) {
      await s.pass(300);
      await s.kill();
      await s.start();
    }
    part(olga, 2, "", here);
    part(olga, 3, "@parley my garden", { ...here, addressed: true });
    part(olga, 4, "", here);
    await olga.gets("seen");
    await s.pass(5_000);
    expect(asked()).toHaveLength(1);
    const words = s.model.asked[0]?.users.join("\n") ?? "";
    expect(words).toMatch(/my garden[^]*p1\.jpg[^]*p2\.jpg[^]*p3\.jpg[^]*p4\.jpg/);
    for (const nth of [1, 2, 3, 4]) expect(words.split(`p${nth}.jpg`)).toHaveLength(2);
    expect(words.split("my garden")[1]).not.toContain("p7.jpg");
  },
);
