// What a press, a choice, a form or a slash command says as text, and which channels a gap is read from, as
// whole tables.
import type { APIInteraction } from "discord-api-types/v10";
import { expect, test } from "vitest";
import type { Dispatch } from "../../src/discord/connection.ts";
import { commandText, customIdOf, formText } from "../../src/discord/interactions/interaction-text.ts";
import { gapAfter, gapBefore, writtenIn } from "../../src/discord/missed-channels.ts";

const saying = (data: unknown): APIInteraction => ({ data }) as APIInteraction;

test("a slash command is its name, its subcommands and the values, in their order", () => {
  expect([
    commandText(saying({ name: "new" })),
    commandText(saying({ name: "new", options: [] })),
    commandText(
      saying({
        name: "model",
        options: [
          { name: "name", value: "a b" },
          { name: "n", value: 5 },
          { name: "on", value: false },
        ],
      }),
    ),
    commandText(
      saying({
        name: "jobs",
        options: [{ name: "edit", options: [{ name: "one", options: [{ name: "id", value: "j1" }] }] }],
      }),
    ),
    commandText(saying({ name: "jobs", options: [{ name: "list" }] })),
  ]).toEqual(["/new", "/new", "/model a b 5 false", "/jobs edit one j1", "/jobs list"]);
  for (const data of [undefined, {}, { name: 5 }])
    expect(() => commandText(saying(data))).toThrow("it names no command");
});

test("a form is its id and a line for each field that says something; a menu is its choices", () => {
  expect([
    formText(saying({ custom_id: "ok" })),
    formText(saying({ custom_id: "ok", values: ["a", "b", 3] })),
    formText(saying({ custom_id: "ok", values: [] })),
    formText(
      saying({
        custom_id: "f",
        components: [
          {
            components: [
              { custom_id: "one", value: "1" },
              { custom_id: "two", value: "" },
            ],
          },
          { component: { custom_id: "three", values: ["x", "y"] } },
          { custom_id: "four" },
          { value: "nameless" },
        ],
      }),
    ),
  ]).toEqual(["ok", "a, b, 3", "", "f\none: 1\ntwo: \nthree: x, y"]);
  for (const data of [undefined, {}, { custom_id: 5 }])
    expect(() => formText(saying(data))).toThrow("it names no component");
  expect([
    customIdOf(saying({ custom_id: "x" })),
    customIdOf(saying({ custom_id: 5 })),
    customIdOf(saying(undefined)),
  ]).toEqual(["x", "", ""]);
});

const id = (number: number): string => String(100_000_000_000_000_000n + BigInt(number));
const [guild, other, since] = [id(1), id(2), id(50)];
const create = (body: unknown, session = "s"): Dispatch =>
  ({ event: "GUILD_CREATE", body, session: { id: session } }) as unknown as Dispatch;
const gap = { session: "s", since, guilds: [guild, other] };

test("a gap begins with a session after something was seen, and is over when every server has reported", () => {
  const guilds = [{ id: guild }, null, {}, { id: "x" }, { id: other }];
  expect([
    gapBefore({ session_id: "s", guilds }, since),
    gapBefore({ session_id: "s", guilds }, null),
    gapBefore({ session_id: 5, guilds }, since),
    gapBefore({ session_id: "s" }, since),
    gapBefore(null, since),
  ]).toEqual([gap, undefined, undefined, undefined, undefined]);
  const told = create({ id: guild });
  expect([
    gapAfter([], gap),
    gapAfter([create({ id: id(3) }), create({ id: guild }, "older")], gap),
    gapAfter([told], gap),
    gapAfter([told, told, create({ id: other })], gap),
    gapAfter([told], undefined),
  ]).toEqual([gap, gap, { ...gap, guilds: [other] }, { ...gap, guilds: [] }, undefined]);
});

test("of a server the fifty channels with the newest words since the gap are read, the newest first", () => {
  const channel = (number: number, last: number, type: unknown = 0) => ({
    id: id(number),
    type,
    last_message_id: id(last),
  });
  const found = (body: object) => writtenIn(create({ id: guild, ...body }), gap)?.channels;
  expect(
    found({
      channels: [
        channel(10, 49),
        channel(11, 50),
        channel(12, 51),
        channel(13, 99),
        channel(14, 99, 4),
        channel(15, 99, 15),
        channel(16, 99, "0"),
        { id: id(17), type: 0, last_message_id: null },
        { id: "x", type: 0, last_message_id: id(99) },
        null,
      ],
      threads: [channel(20, 60, 11), channel(21, 40, 11)],
    }),
  ).toEqual([id(13), id(20), id(12)]);
  expect(found({})).toEqual([]);
  const many = found({ channels: Array.from({ length: 51 }, (_, at) => channel(100 + at, 200 + at)) });
  expect([many?.length, many?.[0], many?.at(-1)]).toEqual([50, id(150), id(101)]);
  expect([
    writtenIn({ ...create({ id: guild }), event: "GUILD_UPDATE" }, gap),
    writtenIn(create({ id: guild }, "older"), gap),
    writtenIn(create({ id: id(3) }), gap),
    writtenIn(create({}), gap),
    writtenIn(create({ id: guild }), undefined),
  ]).toEqual([null, null, null, null, null]);
});
