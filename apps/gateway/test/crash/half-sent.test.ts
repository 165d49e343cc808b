// A reply of several messages that was half sent when the process died: it goes on where it stopped, it never starts again.
import { afterEach, expect, test } from "vitest";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { stage } from "./stage.ts";

afterEach(cleanUp);

/** More than one Telegram message of 4,096 units holds. */
const paragraph = (name: string): string => `${name} ${"words and ".repeat(350)}end.`;

test("killed when the second of three messages was shown but not answered: only that one repeats, flagged", async () => {
  const at = await stage();
  try {
    at.onModel(() => ["re m1 One", "Two", "Three"].map(paragraph).join("\n\n"));
    await at.start();
    at.w.telegram.inject({ method: "sendMessage", skip: 1, when: "after", trouble: { kind: "hang" } });
    at.says("telegram");
    const second = await at.called("sendMessage", 2);
    await eventually(() => second.acted);
    await at.kill();
    at.says("telegram");
    await at.start();
    await at.quiet("telegram");
    const starts = at.texts("telegram").map((text) => /^(?:re m1 )?(\w+(?: m2)?)/.exec(text)?.[1]);
    expect(starts).toEqual(["One", "Two", "Two", "Three", "re m2"]);
    const { flagged, ...left } = await at.end();
    expect(left).toEqual({ ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] });
    expect(flagged).toEqual([expect.stringContaining("Two words")]);
  } finally {
    await at.close();
  }
});
