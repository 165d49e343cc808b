// The skills that Parley brings are read without a remark, raise no suspicion, and keep the rules that they
// teach.
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { readingOf } from "../../src/skills/skill-file.ts";
import { riskSignsIn } from "../../src/skills/risk-signs.ts";

const folder = fileURLToPath(new URL("../../../../config/skills", import.meta.url));

describe.each(await readdir(folder))("the bundled skill %s", (name) => {
  test("is in order", async () => {
    const text = await readFile(`${folder}/${name}/SKILL.md`, "utf8");
    const reading = readingOf(text, name);
    expect(reading).toMatchObject({ ok: true, notes: [] });
    if (!reading.ok) return;
    expect(reading.manifest.name).toBe(name);
    expect(reading.manifest.description).toMatch(/Use when/);
    expect(riskSignsIn(text)).toEqual([]);
    expect(text.split("\n").length).toBeLessThan(200);
  });
});
