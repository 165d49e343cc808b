// What of a text names one person: their ids, keys and places, and no longer id that only begins or ends like
// theirs. After a wanted change: `vitest run --project @parley/gateway people/marks -u`.
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { marksOf, personIn } from "../../src/people/person.ts";
import { cutSaidBy } from "../../src/people/said-by.ts";

const links = { ada: ["telegram:1234567", "discord:42", "api:main/app/u/1"], bob: ["telegram:7654321"] };

test("a person is an account, or a name of the links with all of its accounts", () => {
  expect(
    answerTable(["ada", " discord:42 ", "telegram:9", "", "telegram:", ":9", "nobody"], (text) =>
      personIn(text, links),
    ),
  ).toMatchInlineSnapshot(`
    ""ada"
      {"name":"ada","ids":[{"channel":"telegram","id":"1234567"},{"channel":"discord","id":"42"},{"channel":"api","id":"main/app/u/1"}],"link":"ada"}
    " discord:42 "
      {"name":"discord:42","ids":[{"channel":"telegram","id":"1234567"},{"channel":"discord","id":"42"},{"channel":"api","id":"main/app/u/1"}],"link":"ada"}
    "telegram:9"
      {"name":"telegram:9","ids":[{"channel":"telegram","id":"9"}],"link":null}
    ""
      throws invalid: "" names nobody: a person is <channel>:<id>, as telegram:123456789, or a name of session.identityLinks; \`parley usage --by person\` and \`parley pair list\` show them
    "telegram:"
      throws invalid: "telegram:" names nobody: a person is <channel>:<id>, as telegram:123456789, or a name of session.identityLinks; \`parley usage --by person\` and \`parley pair list\` show them
    ":9"
      throws invalid: ":9" names nobody: a person is <channel>:<id>, as telegram:123456789, or a name of session.identityLinks; \`parley usage --by person\` and \`parley pair list\` show them
    "nobody"
      throws invalid: "nobody" names nobody: a person is <channel>:<id>, as telegram:123456789, or a name of session.identityLinks; \`parley usage --by person\` and \`parley pair list\` show them
    "
  `);
});

test("a person's marks are found whole, in every form, and nobody else's", async () => {
  const texts = [
    "telegram:1234567",
    "telegram:12345678",
    "xtelegram:1234567",
    "discord:1234567",
    "1234567",
    "12345678",
    "a 1234567, b",
    "line\\n1234567",
    "42",
    "discord:42",
    "discord:421",
    "agent:main:main",
    "agent:main:telegram:dm:1234567",
    "agent:main:telegram:default:dm:1234567",
    "agent:main:telegram:direct:1234567:thread:t",
    "agent:main:telegram:dm:12345678",
    "agent:main:discord:dm:1234567",
    "agent:main:dm:42",
    "agent:main:dm:ada",
    "agent:main:dm:adam",
    "agent:main:telegram:group:1234567",
    "telegram:default:dm:1234567",
    "telegram:default:dm:1234567:9",
    "telegram:default:group:1234567",
    "agent:main:api:app:u%2F1",
    "agent:main:api:app:u",
    "agent:main:api:app:u%2F12",
    "agent:main:api:other:u%2F1",
    "see telegram:default:dm:1234567 and 1234567 and discord:42.",
  ];
  const ask = (name: string) => {
    const marks = marksOf(personIn(name, links));
    return (text: string) => [
      marks.ownsSession(text) ? "session" : "",
      marks.ownsPlace(text) ? "place" : "",
      marks.namesPlace(text) ? "names place" : "",
      marks.names(text) ? "names" : "",
      marks.without(text),
    ];
  };
  const table = ["ada", "telegram:7654321"].map((name) => answerTable(texts, ask(name)));
  await expect(table.join("\n")).toMatchFileSnapshot("../tables/marks.txt");
  const marks = marksOf(personIn("ada", links));
  const wrote = (channel: string, id: string) =>
    marks.wrote({ channel, sender: { id, name: "", isBot: false } });
  expect([
    wrote("telegram", "1234567"),
    wrote("discord", "42"),
    wrote("telegram", "42"),
    wrote("web", "1234567"),
  ]).toEqual([true, true, false, false]);
  expect([
    marks.isId("telegram", "1234567"),
    marks.isId("", "42"),
    marks.isId("telegram", "42"),
    marks.isId("", "4"),
  ]).toEqual([true, true, false, false]);
});

test("of a message of several people one person's words are cut, and what belongs to them", async () => {
  const from = (name: string, id: string, ...lines: string[]) => [
    `[from ${JSON.stringify(name)} id ${id}]`,
    ...lines,
  ];
  const fence = (kind: string, mark: string, ...lines: string[]) => [
    `<<<BEGIN_PARLEY_${kind} ${mark}>>>`,
    ...lines,
    `<<<END_PARLEY_${kind} ${mark}>>>`,
  ];
  const texts = [
    from("Ada", "1", "hello", "", "second line"),
    from("Bob", "2", "hello"),
    [
      ...from("Bob", "2", "b1"),
      ...from("Ada", "1", "a1"),
      ...from("Bob", "2", "b2"),
      ...from("Ada L", "1", "a2"),
    ],
    [...from("Ada", "1", "a1"), "[Parley: a note]", "[System Message] x"],
    fence(
      "HISTORY",
      "ab",
      ...from("Bob", "2", "b"),
      '- "Ada": "earlier \\" words"',
      '- "Bob": "his"',
      ...from("Ada", "1", "a"),
    ),
    [...fence("HISTORY", "ab", ...from("Ada", "1", "a")), ...from("Bob", "2", "b")],
    [
      ...fence("QUOTE", "ab", 'replies to a message of "Ada"', "a's words", "<<<END_PARLEY_QUOTE cd>>>"),
      ...from("Bob", "2", "b"),
    ],
    [...fence("QUOTE", "ab", 'replies to a message of "Cy"', "c's words"), ...from("Bob", "2", "b")],
    [...fence("QUOTE", "ab", 'replies to a message of "Bob"', "b's words"), ...from("Ada", "1", "a")],
    ['[reply to the message above of "Ada"]', ...from("Bob", "2", "b")],
    [...from("Bob", "2", "b"), '[reply to the message above of "Bob"]'],
    [
      ...from("Ada", "1", '[attached file: "a.txt"]'),
      ...fence("DOCUMENT", "ab", 'file "a.txt"', "its text"),
      ...fence("DOCUMENT", "cd", 'file "b.txt"', "other text"),
    ],
    [
      ...from("Ada", "1", '[attached file: "a.txt"]'),
      "<<<BEGIN_PARLEY_DOCUMENT ab>>>",
      'file "a.txt"',
      "cut off",
    ],
    ["no label", ...fence("MEMORY", "ab", "notes")],
  ].map((lines) => lines.join("\n"));
  const table = answerTable(texts, (text) => cutSaidBy(text, (id) => id === "1", new Set(["Ada"])));
  await expect(table).toMatchFileSnapshot("../tables/said-by.txt");
});
