// I8: a secret is hidden however it is spelled. What is expected is computed from the whole text's own
// encoding, not from the spellings.
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { hideSecrets, sanitizeOutbound } from "../../src/index.ts";
import { redactStage, noRedaction } from "../../src/reply/redact.ts";

vi.setConfig({ testTimeout: 60_000 });

const secrets = fc.oneof(
  fc.string({ minLength: 8, maxLength: 60, unit: "binary-ascii" }),
  fc.string({ minLength: 6, maxLength: 40 }),
  fc.string({ minLength: 6, maxLength: 20, unit: "grapheme" }),
  fc.base64String({ minLength: 8, maxLength: 80 }),
);
const around = fc.uint8Array({ maxLength: 70 });
/** Between two lines of base64, as a file, a log line and a log line that quotes another have it. */
const lineEnds = ["\n", "\r\n", String.raw`\n`, String.raw`\r\n`, String.raw`\\n`, String.raw`\\r\\n`];

interface Encoded {
  readonly text: string;
  /** What must not be there any more, without line ends: the characters that tell nothing but the secret. */
  readonly inner: string;
}

const encoded: fc.Arbitrary<Encoded & { readonly secret: string }> = fc
  .record({
    secret: secrets,
    before: around,
    after: around,
    alphabet: fc.constantFrom("base64" as const, "base64url" as const),
    padded: fc.boolean(),
    lineChars: fc.constantFrom(Infinity, 76, 64, 19),
    lineEnd: fc.constantFrom(...lineEnds),
  })
  .map(({ secret, before, after, alphabet, padded, lineChars, lineEnd }) => {
    const bytes = Buffer.from(secret);
    const whole = Buffer.concat([before, bytes, after]);
    const plain = whole.toString("base64");
    const kept = padded ? plain : plain.replace(/=+$/, "");
    const text = alphabet === "base64" ? kept : kept.replaceAll("+", "-").replaceAll("/", "_");
    const inner = text.slice(
      Math.ceil((before.length * 8) / 6),
      Math.floor(((before.length + bytes.length) * 8) / 6),
    );
    const lines = lineChars === Infinity ? [text] : (text.match(new RegExp(`.{1,${lineChars}}`, "g")) ?? []);
    return { secret, text: lines.join(lineEnd), inner };
  });

function withoutLineEnds(text: string): string {
  return text.replaceAll(/(?:\\+r)?\\+n|\r?\n/g, "");
}

describe("a secret in base64", () => {
  test("is hidden wherever it stands in more of it, in both alphabets, padded or not, over wrapped lines", () => {
    fc.assert(
      fc.property(encoded, ({ secret, text, inner }) => {
        expect(withoutLineEnds(hideSecrets(`x ${text} y`, [secret]))).not.toContain(inner);
      }),
      { numRuns: 2_000 },
    );
  });

  test("is hidden alike however the stream is cut, and no part of it is shown before", () => {
    fc.assert(
      fc.property(encoded, fc.array(fc.nat(), { maxLength: 6 }), ({ secret, text, inner }, cuts) => {
        const stage = redactStage({ ...noRedaction, secrets: [secret] });
        const marks = [...new Set(cuts.map((each) => each % (text.length + 1)))].toSorted((a, b) => a - b);
        const shown = [0, ...marks].map((from, index) =>
          stage.push(text.slice(from, marks[index] ?? text.length)),
        );
        const all = [...shown, stage.end()].join("");
        expect(all).toBe(hideSecrets(text, [secret]));
        expect(withoutLineEnds(all)).not.toContain(inner);
      }),
      { numRuns: 1_000 },
    );
  });

  test("is hidden with a line end between any two of its characters", () => {
    const secret = "sk-canary-1234";
    const text = Buffer.from(secret).toString("base64").replace(/=+$/, "");
    for (let at = 1; at < text.length; at += 1)
      for (const end of lineEnds) {
        const [head, tail] = [text.slice(0, at), text.slice(at)];
        expect([at, end, hideSecrets(`x ${head}${end}${tail} y`, [secret])]).toEqual([
          at,
          end,
          "x [secret] y",
        ]);
      }
  });

  test("is one from six characters on", () => {
    expect(hideSecrets("a-12345-b", ["12345"])).toBe("a-12345-b");
    expect(hideSecrets("a-123456-b", ["123456"])).toBe("a-[secret]-b");
  });

  test("leaves what stands around it", () => {
    const secret = "sk-canary-1234";
    const at = (before: string, after: string): string =>
      hideSecrets(Buffer.from(before + secret + after).toString("base64"), [secret]);
    expect(at("", "")).toBe("[secret]");
    expect(at("abc", "")).toMatch(/^YWJj\[secret\]/);
    expect(at("a", "bcd")).toBe("YX[secret]YmNk");
    expect(hideSecrets("nothing of it here, c2VjcmV0 and a\nline", [secret])).toBe(
      "nothing of it here, c2VjcmV0 and a\nline",
    );
  });
});

test("a secret is hidden inside JSON, JSON in JSON, a URL and hex", () => {
  const secret = 'canary "01/23"\\+sécret';
  const quoted = JSON.stringify(secret);
  for (const text of [
    secret,
    quoted,
    JSON.stringify({ body: quoted }),
    `https://host/?q=${encodeURIComponent(secret)}`,
    `https://host/?q=${encodeURIComponent(secret).toLowerCase()}`,
    new URLSearchParams({ q: "x" }).toString() + encodeURIComponent(secret).replaceAll("%20", "+"),
    Buffer.from(`before ${secret} after`).toString("hex"),
    Buffer.from(secret).toString("hex").toUpperCase(),
  ]) {
    const shown = hideSecrets(text, [secret]);
    expect(shown).toContain("[secret]");
    expect(shown.toLowerCase()).not.toMatch(/canary|63616e617279|cr(?:é|%c3)/u);
  }
});

test("each of several secrets is hidden wherever it stands, also side by side and again on another line", () => {
  const secrets = ["sk-canary-1234", "sk-canary-1234-long", "other-key-99"];
  const text = secrets.concat(secrets, secrets.toReversed()).join(" and ");
  expect(hideSecrets(`${text}\n${text}`, secrets)).toBe(
    Array.from({ length: 2 }, () => Array.from({ length: 9 }, () => "[secret]").join(" and ")).join("\n"),
  );
  expect(hideSecrets(`other-key-99other-key-99`, secrets)).toBe("[secret][secret]");
});

describe("a path of the state directory", () => {
  const redaction = {
    secrets: ["sk-canary-1234"],
    stateDirs: ["/home/ann/.parley//", "~/.parley", "/srv/state"],
    workspaces: ["/home/ann/.parley/agents/main", "~/.parley/agents/main"],
  };
  const shown = (text: string): string => {
    const stage = redactStage(redaction);
    return stage.push(text) + stage.end();
  };

  test.each([
    ["see /home/ann/.parley/logs/a.txt.", "see [path]"],
    ["see /home/ann/.parley", "see [path]"],
    ["see /home/ann/.parley: it is there", "see [path]: it is there"],
    ["~/.parley/config.json, and /srv/state/x", "[path], and [path]"],
    ["/home/ann/.parley-old/a /home/ann/.parleyx /home/bob/.parley", null],
    ["/srv/states /srv/state_2 /srv/other", null],
    // What the agent works on may be seen, and nothing beside it.
    ["/home/ann/.parley/agents/main/a.md and ~/.parley/agents/main", null],
    ["/home/ann/.parley/agents/main2/a.md", "[path]"],
    ["/home/ann/.parley/agents/main/../other/a.md", "[path]"],
    ["/home/ann/.parley/agents/main/./a.md", null],
    ["/home/ann/.parley/agents/main/sk-canary-1234/a", "/home/ann/.parley/agents/main/[secret]/a"],
    ["(/srv/state/a) '/srv/state/b' </srv/state/c>", "([path]) '[path]' <[path]>"],
  ])("%j is shown as %j", (text, told) => {
    expect(shown(text)).toBe(told ?? text);
    const stage = redactStage(redaction);
    expect(Array.from(text, (char) => stage.push(char)).join("") + stage.end()).toBe(told ?? text);
  });

  test("ends at what ends a path in a text, and after 4,096 characters", () => {
    for (const end of " \t\n\"'`<>()[]{}|*,;")
      expect([end, shown(`/srv/state/a.b:c${end}d`)]).toEqual([end, `[path]${end}d`]);
    for (const within of "!#$%&+./:=?@\\^_~-é")
      expect([within, shown(`/srv/state/a${within}b`)]).toEqual([within, "[path]"]);
    expect(shown(`/srv/state/${"x".repeat(4_096)} y`)).toBe("[path] y");
    expect(shown(`/srv/state/${"x".repeat(4_097)} y`)).toBe("[path]x y");
  });
});

test("what is held back where text turns into code is still text, and what was code is still code", () => {
  const redaction = { ...noRedaction, secrets: ["NO_REPLY-and-more", "`NO_REPLY-and-more"] };
  expect(sanitizeOutbound("a NO_REPLY`b`", redaction)).toBe("a `b`");
  expect(sanitizeOutbound("a `NO_REPLY` b", redaction)).toBe("a `NO_REPLY` b");
  expect(sanitizeOutbound("```\nNO_REPLY", redaction)).toBe("```\nNO_REPLY");
  expect(sanitizeOutbound("```\nNO_REPLY\n```\nNO_REPLY", redaction)).toBe("```\nNO_REPLY\n```\n");
});

test("a secret that is learnt later is hidden from then on, by the same way out", () => {
  const redaction = { ...noRedaction, secrets: ["first-secret"] };
  const told = (): string => sanitizeOutbound("first-secret second-secret", redaction);
  expect(told()).toBe("[secret] second-secret");
  redaction.secrets = ["first-secret", "second-secret"];
  expect(told()).toBe("[secret] [secret]");
  redaction.secrets = ["second-secret"];
  expect(told()).toBe("first-secret [secret]");
});

test("a line may end within base64 as quotes within quotes write it, four deep, once between two characters", () => {
  const secret = "sk-canary-1234";
  const [head, tail] = [
    Buffer.from(secret).toString("base64").slice(0, 9),
    Buffer.from(secret).toString("base64").slice(9),
  ];
  const isHidden = (end: string): boolean => {
    const text = `x ${head}${end}${tail} y`;
    const stage = redactStage({ ...noRedaction, secrets: [secret] });
    const whole = hideSecrets(text, [secret]);
    expect(Array.from(text, (char) => stage.push(char)).join("") + stage.end()).toBe(whole);
    expect([end, "x [secret] y", text]).toContain(whole);
    return whole === "x [secret] y";
  };
  const slashes = (many: number): string => "\\".repeat(many);
  for (const many of [1, 2, 3, 4])
    for (const end of [`${slashes(many)}n`, `${slashes(many)}r${slashes(many)}n`])
      expect([end, isHidden(end)]).toEqual([end, true]);
  for (const end of [
    `${slashes(5)}n`,
    `${slashes(5)}r${slashes(5)}n`,
    "\r",
    "\n\n",
    "\n\r",
    `${slashes(1)}r`,
    "n",
    " ",
  ])
    expect([end, isHidden(end)]).toEqual([end, false]);
});
