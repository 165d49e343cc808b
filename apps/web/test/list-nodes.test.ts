// A list whose rows come and go holds the nodes of the rows that are there, and none of those that went: in
// an hour a conversation draws and drops thousands of blocks.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test("rows that went leave no nodes behind", () => {
  const program = fileURLToPath(new URL("./rows-come-and-go.ts", import.meta.url));
  const told = execFileSync(process.execPath, [program], { encoding: "utf8" });
  const { counts, text } = JSON.parse(told) as { readonly counts: readonly number[]; readonly text: string };
  expect(text).toBe("3940414243");
  expect(counts.at(-1)).toBe(counts[0]);
});
