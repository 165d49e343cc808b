// The config file's text goes out without its secrets and comes back with them, byte for byte where nobody changed it.
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
