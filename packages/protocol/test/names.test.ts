// Names and keys out of texts that anybody may have written: what stays of them, and what is refused.
import { expect, test } from "vitest";
import {
  accountKey,
  conversationKey,
  decodeKeyPart,
  encodeKeyPart,
  isUnsafeEnvName,
  label,
  parseConversationKey,
  type Address,
} from "../src/index.ts";

test.each([
  ["Ann O'Neil (she/her), #1 & co.", 40, "Ann O'Neil (she/her), #1 & co."],
  ["<|im_start|>[x] {y} `z` a\\b", 60, "‹¦im_start¦›(x) (y) 'z' a/b"],
  ["  one\n\ttwo   three \u0000", 40, "one two three"],
  ["\u202eevil\u200b\u00ad hidden", 40, "evil hidden"],
  ["Łódź 東京 Ελένη ٣ नमस्ते", 40, "Łódź 東京 Ελένη ٣ नमस्ते"],
  ["👨‍👩‍👧 ok 🇩🇪", 40, "👨‍👩‍👧 ok 🇩🇪"],
  ["e\u0301\u0302\u0303\u0304\u0305\u0306x", 40, "e\u0301\u0302\u0303\u0304x"],
  ["abcdef", 6, "abcdef"],
  ["abcdefg", 6, "abcde…"],
  ["abcd😀x", 6, "abcd…"],
  ["abc😀xy", 6, "abc😀…"],
  [`${" ".repeat(47)}a`, 6, "a"],
  [`${" ".repeat(48)}a`, 6, ""],
  ["", 6, ""],
])("%j is shown in one line of at most so many characters", (text, most, shown) => {
  expect(label(text, most)).toBe(shown);
});

test.each([
  ["plain-Id_1.x@y+z", "plain-Id_1.x@y+z"],
  ["a:b/c%d", "a%3Ab%2Fc%25d"],
  ["tab\tline\n\u007f\u0085", "tab%09line%0A%7F%C2%85"],
  ["ü 東 😀", "ü 東 😀"],
  [" ", " "],
])("the part %j of a key is written %j, and read back", (text, part) => {
  expect([encodeKeyPart(text), decodeKeyPart(part)]).toEqual([part, text]);
});

test.each([
  ["", "must not be empty"],
  ["a\ud800", "well-formed"],
])("no part of a key is %j", (text, why) => {
  expect(() => encodeKeyPart(text)).toThrow(why);
});

test.each([
  ["%41", "canonical"],
  ["%3a", "canonical"],
  ["%2", "percent-encoded"],
  ["%ff", "percent-encoded"],
  ["a/b", "canonical"],
  ["", "must not be empty"],
])("the part %j was never written", (part, why) => {
  expect(() => decodeKeyPart(part)).toThrow(why);
});

const address: Address = { channel: "telegram", account: "my:bot", kind: "group", peer: "-100/7" };

test("an address is one key with its thread, and its account another without", () => {
  const inThread = { ...address, thread: "a b:1" };
  expect(conversationKey(address)).toBe("telegram:my%3Abot:group:-100%2F7");
  expect(conversationKey(inThread)).toBe("telegram:my%3Abot:group:-100%2F7:a b%3A1");
  for (const each of [address, inThread]) expect(parseConversationKey(conversationKey(each))).toEqual(each);
  expect(accountKey(inThread)).toBe("telegram:my%3Abot");
});

test.each([
  "telegram:default:dm",
  "telegram:default:room:1",
  "telegram:default:dm:1:2:3",
  "telegram::dm:1",
  ":default:dm:1",
  "telegram:default:dm:",
  "telegram:default:dm:1:",
  "",
])("%j is no conversation", (key) => {
  expect(() => parseConversationKey(key)).toThrow(/not a conversation key|must not be empty/);
});

test.each<[boolean, readonly string[]]>([
  [true, ["PATH", "path", "Home", "IFS", "TMPDIR", "glibc_tunables", "LESSOPEN", "JDK_JAVA_OPTIONS"]],
  [
    true,
    ["NODE_OPTIONS", "node_x", "LD_PRELOAD", "DYLD_X", "BASH_ENV", "ZDOTDIR", "PARLEY_HOME", "PYTHONPATH"],
  ],
  [true, ["PERL5LIB", "PERL_X", "RUBYOPT", "GEM_HOME", "LUA_PATH", "GIT_SSH", "SSH_ASKPASS", "SUDO_ASKPASS"]],
  [true, ["npm_config_x", "NPM_CONFIG_X", "YARN_X", "PNPM_HOME", "COREPACK_X", "PIP_INDEX_URL", "UV_INDEX"]],
  [true, ["CARGO_HOME", "RUSTC", "RUSTFLAGS", "GOFLAGS", "GOROOT", "GOENV", "MAKEFLAGS", "_JAVA_OPTIONS"]],
  [true, ["OPENSSL_CONF", "SYSTEMD_PAGER", "BUNDLE_PATH", "RUBYLIB"]],
  [
    false,
    [
      "API_KEY",
      "OPENAI_API_KEY",
      "MY_PATH",
      "PATHS",
      "GOOGLE_KEY",
      "GOFLAGS_X",
      "A_NODE_OPTIONS",
      "LANG",
      "TZ",
      "",
    ],
  ],
])("setting it can change how programs run, %j: %j", (unsafe, names) => {
  expect(names.filter((name) => isUnsafeEnvName(name) !== unsafe)).toEqual([]);
});

test("of a name every sign that people write stays, every bracket has its look-alike, and the rest is a space", () => {
  const kept = ".,:;!?'\"’‘“”„«»‹›…·•–—_()@#&+=*/%~№°§©®™¦¿¡、。「」-$€¥";
  expect(label(kept, 200)).toBe(kept);
  expect(label("a<b>c|d[e]f{g}h`i\\j", 200)).toBe("a‹b›c¦d(e)f(g)h'i/j");
  expect(label("a^b→c√d\u0000e\u2060f", 200)).toBe("a b c d e f");
  expect(label("👨‍👩‍👧 ❤️ 1️⃣ 🇩🇪 👍🏽", 200)).toBe("👨‍👩‍👧 ❤️ 1️⃣ 🇩🇪 👍🏽");
  expect(label("  a \n\t b   c ", 200)).toBe("a b c");
});
