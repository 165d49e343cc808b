// No section of any prompt claims what is not so: twenty installations, always the same, their prompts made
// by the real set-up, every line of them held against what is there. A claim that no check knows fails too.
// prompt-claims.ci.test.ts draws eighty others.
import { readFileSync } from "node:fs";
import { lacks, program } from "@parley/testkit";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { claims, falseClaims } from "./claims/check.ts";
import { draws, ownersOnHost, type Draw } from "./claims/draw.ts";
import { inSituation } from "./claims/situation.ts";

test("docs/prompt.md lists every claim with its check", () => {
  const page = readFileSync(new URL("../../../../docs/prompt.md", import.meta.url), "utf8");
  const rows = claims.map(
    ({ id, section, says }) => `| \`${id}\` | ${section} | ${says.replaceAll("|", "\\|")} |`,
  );
  expect(rows.filter((row) => !page.includes(`${row}\n`))).toEqual([]);
  expect(page.match(/^\| `[a-z_.]+` \| [A-Z]/gm)).toHaveLength(rows.length);
});

/** What prompts once said, or might: each is noticed in a prompt in which it is not so. */
const planted: readonly (readonly [says: string, plant: (prompt: string) => string])[] = [
  [
    "config.drop drops a key",
    (p) => p.replace("config.apply replaces all,", "config.apply replaces all, config.drop drops a key,"),
  ],
  [
    "a command that does not exist",
    (p) => p.replace("- `parley status`", "- `parley upgrade`: fetch the newest\n- `parley status`"),
  ],
  [
    "polls and voice without a tool",
    (p) =>
      p.replace(
        "\nLonger replies",
        "\nCurrent channel supports: send, polls, voice notes, pins.\nLonger replies",
      ),
  ],
  [
    "spoken replies",
    (p) => p.replace("\n## Channel\n", "\n## Voice (TTS)\n\nYour replies are spoken.\n\n## Channel\n"),
  ],
  [
    "reactions without a tool",
    (p) =>
      p.replace(
        "\n## Runtime\n",
        "\n## Reactions\n\nReactions are enabled in EXTENSIVE mode. Feel free to react liberally:\n\n## Runtime\n",
      ),
  ],
  [
    "capabilities without a tool",
    (p) => p.replace("capabilities=replyTags", "capabilities=inlineButtons,polls,replyTags"),
  ],
  [
    "docs that are not there",
    (p) => p.replace(/^Parley docs: .*$/m, "Parley docs: https://parley.example/docs"),
  ],
  [
    "a working directory that is not there",
    (p) => p.replace(/^(Your working directory is: ).*$/m, "$1/home/nobody/workspace"),
  ],
  [
    "a skill that cannot be read",
    (p) => p.replace(/<location>.*<\/location>/, "<location>skills/none/SKILL.md</location>"),
  ],
  [
    "somebody else as an owner",
    (p) => p.replace("Authorized senders: ", "Authorized senders: telegram:666, "),
  ],
  [
    "a tool that is not there",
    (p) =>
      p.replace(
        "\n## Messaging\n\n",
        "\n## Messaging\n\n- Cross-session messaging → use `sessions_post`(sessionKey, message).\n",
      ),
  ],
  [
    "a sentence that nobody has looked at",
    (p) => p.replace("\n## Safety\n\n", "\n## Safety\n\nThe moon is full tonight.\n"),
  ],
];

/**
 * Of fifty draws those in which each claim is met, and each planted one noticed, twice where the fifty do so
 * twice. A claim that is met in none of them wants another draw here.
 */
const chosen: readonly number[] = [0, 1, 2, 3, 5, 9, 10, 15, 17, 18, 20, 25, 31, 33, 34, 35, 44, 45, 47, 49];

describe("in twenty prompts that are always the same", () => {
  const met = new Set<string>();
  const noticed = new Set<string>();
  beforeAll(async () => {
    const fifty = [
      ...fc.sample<Draw>(ownersOnHost, { numRuns: 1, seed: 7 }),
      ...fc.sample<Draw>(draws, { numRuns: 49, seed: 7 }),
    ];
    for (const draw of fifty.filter((_, at) => chosen.includes(at))) {
      await inSituation(draw, async (s) => {
        expect(await falseClaims(s.prompt, s, (id) => met.add(id))).toEqual([]);
        for (const [says, plant] of planted) {
          if (noticed.has(says)) continue;
          const prompt = plant(s.prompt);
          if (prompt !== s.prompt && (await falseClaims(prompt, s)).length > 0) noticed.add(says);
        }
      });
    }
  }, 300_000);

  test.skipIf(lacks(program("bwrap")))("every claim is met, those of a sandbox too", () => {
    expect(claims.map(({ id }) => id).filter((id) => !met.has(id))).toEqual([]);
  });

  test.each(planted)("a planted claim is noticed: %s", (says) => {
    expect(noticed).toContain(says);
  });
});
