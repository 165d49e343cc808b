// The config file's text goes out without its secrets and comes back with them, byte for byte where nobody
// changed it.
import fc from "fast-check";
import { expect, test } from "vitest";
import { maskedText, unmaskedText } from "../src/file/masked-text.ts";

const file = `// My bots.
{
  channels: {
    telegram: {
      botToken: '123456:AAFsecretsecretsecretsecretsecret', // from @BotFather
      // botToken: "987654:AAGformerformerformerformerformer",
      proxy: "http://me:hunter2@proxy:8080",
    },
    discord: { token: { env: "DISCORD_TOKEN" } },
  },
  /* password = hunter3 */
  gateway: { auth: { token: "${"x".repeat(32)}" }, port: 7_275e0 },
}
`.replace("7_275e0", "7275");

test("the text keeps its comments and its form, and shows no secret, also none that was commented out", () => {
  const shown = maskedText(file) ?? "";
  expect(shown).not.toMatch(/AAF|AAG|hunter|x{8}/);
  expect(shown).toContain(`botToken: '[secret]', // from @BotFather`);
  expect(shown).toContain('discord: { token: { env: "DISCORD_TOKEN" } },');
  expect(shown.split("\n")).toHaveLength(file.split("\n").length);
  expect(unmaskedText(shown, file)).toBe(file);
});

test("of what was commented out keys go by how they begin, or by what they are called, and words stay", () => {
  const shown = (comment: string): string => (maskedText(`// ${comment}\n{}`) ?? "").slice(3, -3);
  const letters = "abcdefgh01234567";
  for (const start of ["sk-", "sk_", "xoxa-", "xoxb-", "xoxp-", "ghp_"]) {
    expect(shown(`now ${start}${letters} later`)).toBe("now [secret] later");
    expect(shown(`now ${start}${letters.slice(1)} later`)).toBe(`now ${start}${letters.slice(1)} later`);
  }
  expect(shown(`bot 123456:${"a".repeat(20)}`)).toBe("bot [secret]");
  for (const kept of [
    `bot 12345:${"a".repeat(20)}`,
    `bot 123456:${"a".repeat(19)}`,
    "ask for it",
    "a token is here",
  ])
    expect(shown(kept)).toBe(kept);
  for (const name of ["token", "botToken", "clientSecret", "PASSWORD", "passwd", "apiKey", "api_key"]) {
    expect(shown(`${name}: 'a b', other: 1`)).toBe(`${name}: "[secret]", other: 1`);
    expect(shown(`"${name}" = a; b`)).toBe(`"${name}" = "[secret]"; b`);
  }
  expect(shown("see http://me:hunter2@proxy:80/x")).toBe("see http://me:[secret]@proxy:80/x");
});

test("comments that look alike once they are masked come back each with its own secret, in their order", () => {
  const text = "// token: one\n// token: two\n{\n// token: three\n}\n";
  const shown = maskedText(text) ?? "";
  expect(shown).toBe('// token: "[secret]"\n// token: "[secret]"\n{\n// token: "[secret]"\n}\n');
  expect(unmaskedText(shown, text)).toBe(text);
});

test("what was changed stays changed, and secrets stay where they were", () => {
  const next = (maskedText(file) ?? "")
    .replace("port: 7275", "port: 80 /* other */")
    .replace("// My bots.\n", "");
  expect(unmaskedText(next, file)).toBe(
    file.replace("port: 7275", "port: 80 /* other */").replace("// My bots.\n", ""),
  );
});

test("a mask where the file has no secret is refused with its place", () => {
  expect(() => unmaskedText('{ channels: { discord: { token: "[secret]" } } }', file)).toThrow(
    /^channels\.discord\.token: "\[secret\]" stands for a secret/,
  );
  expect(() => unmaskedText('{ gateway: { auth: { token: "[secret]" } } }', "{")).toThrow(
    "gateway.auth.token",
  );
});

test("a text that cannot be read is not shown, because nobody knows where its secrets are", () => {
  expect(maskedText(file.replace("},", ""))).toBe(null);
  expect(unmaskedText("{ a: ", file)).toBe("{ a: ");
});

test("any file comes back as it was", () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
  const files = fc.dictionary(
    fc.constantFrom("token", "apiKey", "name", "password", "a b", "x"),
    fc.oneof(value, fc.array(value), fc.dictionary(fc.constantFrom("token", "env", "y"), value)),
  );
  fc.assert(
    fc.property(files, (made) => {
      const text = `// token: "abc"\n${JSON.stringify(made, null, 2)}\n`;
      expect(unmaskedText(maskedText(text) ?? "", text)).toBe(text);
    }),
  );
});
