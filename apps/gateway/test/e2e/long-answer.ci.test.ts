// An answer far too long for a chat, over the wire: a beginning and one file, and nothing else waits for it.
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleanUp, eventually } from "./daemon.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world({ streaming: "edit" });
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

test("a hundred thousand characters are a message and a file, and others are answered meanwhile", async () => {
  await w.start();
  const long = "Some words of an answer that goes on, with **bold** ones and `code`.\n\n".repeat(1_500);
  w.models.reply(({ lastUserText }) => (lastUserText === "tell me much" ? long : `re: ${lastUserText}`));
  w.telegram.as(7).says("tell me much");
  w.telegram.as(8).says("hello");
  await w.answered(8, 1, 60_000);
  await eventually(
    () => w.telegram.calls().some(({ method }) => method === "sendDocument"),
    60_000,
    "the file",
  );
  const texts = w.answers(7).map(({ text }) => text);
  expect(texts.filter((text) => text !== "")).toEqual([
    expect.stringContaining("The whole of it is in the file."),
  ]);
  expect(w.answers(7)).toHaveLength(2);
});
