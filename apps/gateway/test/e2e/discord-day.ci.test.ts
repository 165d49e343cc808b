// A day in the life of one Parley on Discord, over the real daemon: what people did and what they saw. The
// transcript is docs/discord-day.txt.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Address, Part } from "@parley/protocol";
import type { DiscordPerson, DiscordVisible } from "@parley/testkit";
import { plant } from "../media/plant.ts";
import { cleanUp, eventually, freshHome, type Daemon } from "./daemon.ts";
import { discordWorld, type DiscordWorld } from "./discord-world.ts";

const ann = { id: "100000000000000007", name: "Ann" };
const bob = { id: "100000000000000008", name: "Bob" };
const png = {
  name: "garden.png",
  mediaType: "image/png",
  bytes: Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
};
const patientMs = 60_000;

let w: DiscordWorld;
beforeAll(async () => {
  w = await discordWorld({ dmPolicy: "allowlist", allowFrom: [ann.id], groupPolicy: "allowlist" });
});
afterAll(async () => {
  await cleanUp();
  expect(w.discord.violations()).toEqual([]);
  await w.close();
});

/** What the model answers to what it read; null lets it think until it is released. */
const answers: readonly (readonly [RegExp, string | null])[] = [
  [/what is oolong/, null],
  [/wake everybody/, "@everyone @here wake up, says <@&STAFF>."],
  [/which one first/, "The green one: it is best fresh."],
  [/how hot for sencha/i, "Seventy degrees."],
  [/garden\.png/, "A garden in spring."],
  [/callback_data: book/, "Booked: a table at nine."],
  [/callback_data: note\n {2}what: milk/, "Noted: milk."],
  [/callback_data: green/, "Green tea it is."],
  [/reacted 🎉 to your message "Booked/, "I saw that it pleased you."],
  [/long story/, null],
  [/for (?:ten|two) people/, "A table for two, then."],
];

test("roles, a slash command, a thread, a forum, files, a kill, a button, a form, a menu, a reaction, an edit, a deletion", async () => {
  const { discord } = w;
  const bot = discord.bot();
  const guild = discord.guild({ name: "Tea House" });
  const staff = discord.role(guild, "Staff");
  const general = discord.channel({ guild, name: "general" });
  const questions = discord.channel({ guild, name: "questions", kind: "forum" });
  const annie = discord.as(ann);
  const bobby = discord.as(bob);
  annie.joins(guild, { roles: [staff] });
  bobby.joins(guild);
  const home = await freshHome();
  const transcript: string[] = [];
  const seen = new Map<string, number>();
  const endings: (() => void)[] = [];
  w.models.reply(async ({ lastUserText }) => {
    const [, answer] = answers.find(([asked]) => asked.test(lastUserText)) ?? [null, `? ${lastUserText}`];
    if (answer !== null) return answer.replace("STAFF", staff);
    await new Promise<void>((resolve) => endings.push(resolve));
    return /oolong/.test(lastUserText) ? "A tea between green and black." : "The end of the story.";
  });
  const rules = {
    [guild]: { roles: [staff], channels: { [general]: {}, [questions]: { requireMention: false } } },
  };
  const start = async (): Promise<Daemon> => {
    const { discord: account } = w.config["channels"] as { readonly discord: object };
    const daemon = await w.start({ home, config: { channels: { discord: { ...account, guilds: rules } } } });
    await w.live();
    return daemon;
  };
  const kill = async (): Promise<void> => {
    daemon.kill("SIGKILL");
    await daemon.exited;
    endings.length = 0;
  };
  const say = (line: string): void => void transcript.push(line);
  const told = ({ text, buttons, files, onlyFor, thread }: DiscordVisible): string => {
    const keys = buttons.flat().map((label) => ` (${label})`);
    const extra = files.map((name) => ` <${name}>`);
    const whom = onlyFor === undefined ? "" : ` [only ${onlyFor === bob.id ? "Bob" : "Ann"} sees it]`;
    const title = thread === undefined ? "" : `"${thread.title}": `;
    return `  Parley${whom}: ${title}${text.replaceAll(staff, "role").replaceAll("\u200b", "").split(/\n+/).join(" / ")}${[...keys, ...extra].join("")}`;
  };
  const sees = async (channel: string, messages = 1): Promise<void> => {
    const from = seen.get(channel) ?? 0;
    await w.answered(channel, from + messages, patientMs);
    seen.set(channel, from + messages);
    for (const message of w.answers(channel).slice(from, from + messages)) say(told(message));
  };
  const happens = async (what: string, channel: string, act: () => unknown, messages = 1): Promise<void> => {
    say(what);
    act();
    await sees(channel, messages);
  };
  const idOf = (channel: string, label: string): { readonly message: string; readonly button: string } => {
    const call = discord
      .calls("POST /channels/:channel/messages")
      .findLast(({ body }) => JSON.stringify(body).includes(`"label":"${label}"`));
    const rows = call?.body.components as {
      readonly components: readonly { readonly label?: string; readonly custom_id: string }[];
    }[];
    const parts = rows.flatMap(({ components }) => components);
    const button = parts.find((part) => part.label === label || part.label === undefined)?.custom_id ?? "";
    return {
      message: w.answers(channel).findLast((message) => message.buttons.flat().includes(label))?.id ?? "",
      button,
    };
  };
  const to = (peer: string, kind: Address["kind"]): Address => ({
    channel: "discord",
    account: "default",
    kind,
    peer,
  });
  const press = (who: DiscordPerson, label: string): string => {
    const { message, button } = idOf(general, label);
    return who.presses(message, button, { channel: general });
  };

  let daemon = await start();
  await eventually(() => bot.commands().length > 0, patientMs);

  say("-- Who is heard: the server lets only the role Staff in. Ann has it, Bob does not.");
  say("Bob, in #general: @Parley hello?\n  Parley says nothing.");
  bobby.says(`<@${bot.id}> hello?`, { channel: general });
  const refused = bobby.runs("whoami", { channel: general });
  await eventually(() => discord.interaction(refused).state === "answered", patientMs);
  await happens("Bob, in #general, runs /whoami", general, () => {});

  say("-- A slash command, a word to everybody, a thread, a forum");
  say("Ann, in #general, runs /new what is oolong?");
  annie.runs("new", { channel: general, values: { text: "what is oolong?" } });
  await eventually(
    () => endings.length > 0 && discord.visible(general).some((message) => message.isLoading),
    patientMs,
  );
  say("  Parley is thinking ...");
  endings.shift()?.();
  await sees(general);
  await happens("Ann, in #general: @Parley wake everybody", general, () =>
    annie.says(`<@${bot.id}> wake everybody`, { channel: general }),
  );
  const thread = annie.opensThread("Two teas", { channel: general });
  say("Ann opens a thread, Two teas, and says: a green one and a black one came");
  annie.says("a green one and a black one came", { channel: thread });
  await happens("Ann, in the thread: @Parley which one first?", thread, () =>
    annie.says(`<@${bot.id}> which one first?`, { channel: thread }),
  );
  const post = annie.posts("Sencha", "How hot for sencha?", { channel: questions });
  await happens("Ann writes a post in the forum #questions, Sencha: How hot for sencha?", post.id, () => {});

  say("-- In private: a picture comes, a document goes");
  await happens("Ann sends garden.png.", annie.dm(), () => annie.says("", { files: [png] }));

  say("-- The machine loses its power. Meanwhile a job has left something to say.");
  await kill();
  await mkdir(join(home, "media"), { recursive: true });
  await writeFile(join(home, "media", "menu.pdf"), "%PDF-1.4");
  const menu = { path: "menu.pdf", name: "menu.pdf", mediaType: "application/pdf", bytes: 8 };
  const offer = (
    markdown: string,
    buttons: NonNullable<Extract<Part, { kind: "text" }>["buttons"]>[number],
  ): Part[] => [{ kind: "text", markdown, buttons: [buttons] }];
  await plant(home, to(ann.id, "dm"), [
    [{ kind: "media", media: "file", files: [menu], caption: "The menu of today." }],
  ]);
  await plant(home, to(questions, "channel"), [
    [{ kind: "text", markdown: "Opening hours\n\nNine to five, every day." }],
  ]);
  await plant(home, to(general, "channel"), [
    offer("Shall I book a table?", [
      { label: "Yes", value: "book", allowed: [ann.id] },
      { label: "No", value: "leave", allowed: [ann.id] },
    ]),
    offer("Last call for breakfast.", [{ label: "Eggs", value: "eggs", untilMs: Date.now() }]),
    offer("Is anything missing?", [
      { label: "Note it", value: "note", form: [{ name: "what", label: "What is missing?" }] },
    ]),
    offer("Which tea?", [
      {
        label: "Choose a tea",
        choices: [
          { label: "Green", value: "green" },
          { label: "Black", value: "black" },
        ],
      },
    ]),
  ]);
  daemon = await start();
  await sees(annie.dm());
  say("In the forum #questions:");
  await sees(questions);
  say("In #general:");
  await sees(general, 4);

  say("-- Buttons, a form and a menu, pressed after another loss of power");
  await kill();
  daemon = await start();
  await happens("Bob presses Yes.", general, () => press(bobby, "Yes"));
  await happens("Ann presses Yes.", general, () => press(annie, "Yes"));
  await happens("Ann presses Yes once more.", general, () => press(annie, "Yes"));
  await happens("Ann presses Eggs.", general, () => press(annie, "Eggs"));
  const opened = press(annie, "Note it");
  const form = await eventually(() => discord.interaction(opened).response ?? undefined, patientMs);
  const { title, components } = (
    form as unknown as {
      readonly data: { readonly title: string; readonly components: readonly { readonly label: string }[] };
    }
  ).data;
  say(`Ann presses Note it.\n  A form opens: ${title}, ${components.map(({ label }) => label).join(", ")}`);
  await happens("Ann writes: milk", general, () => annie.submits(opened, { what: "milk" }));
  const tea = idOf(general, "Green");
  const green =
    /"label":"Green","value":"([^"]+)"/.exec(
      JSON.stringify(discord.calls("POST /channels/:channel/messages")),
    )?.[1] ?? "";
  await happens("Ann chooses Green.", general, () =>
    annie.selects(tea.message, tea.button, [green], { channel: general }),
  );

  say("-- A reaction, second thoughts");
  const booked = w.answers(general).find(({ text }) => text.startsWith("Booked"))?.id ?? "";
  annie.reacts(booked, "🎉", { channel: general });
  await happens("Ann reacts with 🎉 to the booking.\nAnn, in #general: @Parley did you see?", general, () =>
    annie.says(`<@${bot.id}> did you see?`, { channel: general }),
  );
  say("Ann, in private: tell me a long story");
  annie.says("tell me a long story");
  await eventually(() => endings.length > 0, patientMs);
  say("Ann, in private: a table for ten people\nAnn, in private: and your tea is terrible");
  const table = annie.says("a table for ten people");
  const regretted = annie.says("and your tea is terrible");
  say("Ann edits the first to: a table for two people\nAnn deletes the second.");
  annie.edits(table.id, "a table for two people");
  annie.deletes(regretted.id);
  await eventually(() => daemon.log().includes('"taken back"'), patientMs, "the deletion");
  endings.shift()?.();
  await sees(annie.dm(), 2);
  expect(w.models.requests().some((request) => JSON.stringify(request.body).includes("terrible"))).toBe(
    false,
  );
  expect(await daemon.stop()).toBe(0);
  const places = [general, thread, post.id, annie.dm(), ...discord.visible(questions).map(({ id }) => id)];
  const rung = places
    .flatMap((place) => discord.visible(place).filter(({ byBot }) => byBot))
    .flatMap(({ pings }) => pings);
  expect(rung, "whom Parley rang").toEqual([]);
  const text = `${transcript.join("\n")}\n`;
  await expect(text).toMatchFileSnapshot("../../../../docs/discord-day.txt");
}, 300_000);
