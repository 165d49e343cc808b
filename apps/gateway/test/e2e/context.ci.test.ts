// A conversation that outgrows a small model, over the real daemon: refused by the provider, killed in the
// middle of a summary, compacted by hand; the person only ever gets answers.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ModelAnswer } from "@parley/testkit";
import { cleanUp, eventually } from "./daemon.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
});

const windowTokens = 12_000;
const modelId = "small";
const config = (url: string): object => ({
  models: {
    providers: {
      fake: {
        api: "openai-completions",
        baseUrl: `${url}/v1`,
        apiKey: "test-key",
        models: [{ id: modelId, contextWindow: windowTokens, maxTokens: 2_000 }],
      },
    },
  },
  agents: { defaults: { model: { primary: `fake/${modelId}` }, userTimezone: "UTC" } },
  // The notes of an owner's conversation are the agent's own; another's stay with that conversation.
  commands: { ownerAllowFrom: ["telegram:7"] },
});

test(
  "a small window, a provider that counts strictly, a kill in the middle of a summary, and /compact",
  { timeout: 300_000 },
  async () => {
    let slow = true;
    let summaries = 0;
    let noted = 0;
    w.models.reply((call): ModelAnswer => {
      const asks = (words: string): boolean => call.system.includes(words);
      // The provider's tokens are short, and it keeps room for the answer it was asked for.
      const answerTokens = Number(call.body["max_completion_tokens"] ?? call.body["max_tokens"] ?? 1_000);
      if (JSON.stringify(call.body).length / 3.4 + answerTokens > windowTokens) {
        return {
          status: 400,
          body: {
            error: {
              code: "context_length_exceeded",
              message: "This model's maximum context length is 12000 tokens",
            },
          },
        };
      }
      if (asks("You keep the memory of a conversation")) {
        summaries += 1;
        return slow ? { text: "too late", delayMs: 60_000 } : { text: `## Goal\nSummary ${summaries}` };
      }
      if (asks("You keep an assistant's own notes")) {
        if (call.lastToolResult !== null) return "NO_REPLY";
        noted += 1;
        return { toolCalls: [{ name: "append_note", args: { text: `- note ${noted}` } }] };
      }
      // A summary that stands right before the message reaches the provider as one text with it.
      return `ok ${call.lastUserText.match(/\bm\d\d\b/g)?.at(-1)}`;
    });
    const daemon = await w.start({ config: config(w.models.url) });
    const alice = w.telegram.as(7);
    let said = 0;
    const say = (): void => {
      said += 1;
      alice.says(`m${String(said).padStart(2, "0")} ${"word ".repeat(600)}`);
    };
    while (summaries === 0) {
      say();
      await eventually(() => summaries > 0 || w.answers(7).length === said);
    }
    daemon.kill("SIGKILL");
    await daemon.exited;
    slow = false;
    const again = await w.start({ home: daemon.home, config: config(w.models.url) });
    await w.answered(7, said);
    for (let more = 0; more < 7; more += 1) {
      say();
      await w.answered(7, said);
    }
    expect(w.answers(7).map((message) => message.text)).toEqual(
      Array.from({ length: said }, (_, n) => `ok m${String(n + 1).padStart(2, "0")}`.slice(0, 6)),
    );
    expect(summaries).toBeGreaterThan(1);
    // Flushed once in each stretch, also the one that was cut off by the kill.
    const notes = await readFile(
      join(again.home, "workspace/memory", `${new Date().toISOString().slice(0, 10)}.md`),
      "utf8",
    );
    expect(notes.split("\n").filter((line) => line.startsWith("- note"))).toHaveLength(noted);

    alice.says("/compact the recipe");
    const answers = await w.answered(7, said + 1);
    expect(answers.at(-1)).toMatch(/^Compacted: (?:1 message|\d+ messages) became a summary/);
    say();
    await w.answered(7, said + 1);
    expect(JSON.stringify(w.models.requests().at(-1)?.body)).toContain(`Summary ${summaries}`);
    expect(await again.stop()).toBe(0);
  },
);
