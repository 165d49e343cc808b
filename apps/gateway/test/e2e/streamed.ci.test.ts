// Answers that grow by edits over the real daemon: what they quote, and what a model may have learnt and must
// not tell (I8), previews included.
import { refusalBody } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleanUp, eventually, testToken } from "./daemon.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world({ streaming: "edit" });
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

test("an answer that grows by edits quotes what its tag names: an edit could not add that later", async () => {
  await w.start();
  w.models.reply({
    text: "[[reply_to_current]]This answer takes its time, word after word after word.",
    betweenMs: 150,
  });
  const asked = w.telegram.as(7).says("quote me");
  await w.answered(7, 1);
  expect(w.answers(7)[0]).toMatchObject({ replyTo: asked.message_id });
});

test("replyToMode first: every answer quotes its question, with its first message", async () => {
  const { telegram } = w.config["channels"] as { readonly telegram: object };
  await w.start({ config: { channels: { telegram: { ...telegram, replyToMode: "first" } } } });
  w.models.reply("word ".repeat(1000));
  const asked = w.telegram.as(7).says("tell me much");
  await w.answered(7, 2);
  expect(w.answers(7).map((answer) => answer.replyTo)).toEqual([asked.message_id, undefined]);
});

test("no secret, state path, thought or control token reaches a chat or the log, in any piece of the stream", async () => {
  const daemon = await w.start();
  const botToken = w.telegram.bot().token;
  const secrets = [testToken, botToken, "test-key", `${daemon.home}/state.db`];
  w.models.reply({
    text: `<think>hidden thought</think>Keys: ${secrets.join(" and ")}; my notes are in ${daemon.home}/workspace/notes.md. NO_REPLY [[reply_to_current]]`,
    betweenMs: 120,
  });
  w.telegram.as(7).says("tell me everything");
  const [answer] = await w.answered(7, 1);
  const final = await (async () => {
    for (;;) {
      const text = w.answers(7)[0]?.text ?? "";
      if (text.includes("notes.md")) return text;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  expect(answer).toBeDefined();
  const said = [final, ...w.telegram.calls().map((call) => JSON.stringify(call.params))].join("\n");
  for (const secret of [...secrets, "hidden thought", "NO_REPLY", "[[reply"])
    expect(said).not.toContain(secret);
  expect(final).toContain(`${daemon.home}/workspace/notes.md`);
  await daemon.stop();
  for (const secret of [testToken, botToken, "test-key"]) expect(daemon.log()).not.toContain(secret);
});

test("an answer whose preview cannot be edited any more is sent whole, once, and the beginning is taken away", async () => {
  await w.start();
  const long = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
  w.models.reply({ text: long, betweenMs: 60 });
  const trouble = {
    kind: "answer",
    status: 400,
    body: refusalBody(400, "Bad Request: MESSAGE_TOO_LONG"),
  } as const;
  w.telegram.inject({ method: "editMessageText", times: null, trouble });
  w.telegram.as(7).says("go");
  await eventually(() => w.answers(7).some((answer) => answer.text === long) && w.answers(7).length === 1);
});
