import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configJsonSchema } from "../src/index.ts";
import { configReference } from "../src/reference.ts";

const text = configReference(configJsonSchema());

test("docs/configuration.md is what the schema says now", () => {
  const written = readFileSync(new URL("../../../docs/configuration.md", import.meta.url), "utf8");
  expect(written, "run `pnpm --filter @parley/config schema` and commit the result").toBe(text);
});

test("each key has one row with what it takes, its default and its words; secrets are called so", () => {
  const row = (key: string): string[] | undefined =>
    text
      .split("\n")
      .filter((line) => line.startsWith(`| \`${key}\` |`))
      .map((line) =>
        line
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .map((cell) => cell.trim()),
      )[0];
  expect(row("gateway.port")?.slice(1, 3)).toEqual(["integer, 0 to 65535", "`7275`"]);
  expect(row("messages.queue.mode")?.slice(1, 3)).toEqual([
    '`"steer"`, `"followup"`, `"collect"`, `"interrupt"`',
    '`"steer"`',
  ]);
  expect(row("channels.telegram.botToken")?.[1]).toBe("secret");
  expect(row("channels.telegram.accounts.NAME.botToken")?.[1]).toBe("secret");
  expect(row("agents.list[].id")).toBeDefined();
  const keys = [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, key]) => key);
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.length).toBeGreaterThan(150);
});
