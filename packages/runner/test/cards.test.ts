// Whole cards as a chat gets them: requests for approval, questions, proposed changes of notes, and what
// stands there when they are over. After a wanted change: `vitest run --project @parley/runner cards -u`.
import { parseContent } from "@parley/protocol";
import { answerTable } from "@parley/testkit";
import type { NewDelivery } from "@parley/store";
import { expect, test } from "vitest";
import { cardDeliveries, settledCard, toldElsewhere } from "../src/approvals/approval-card.ts";
import { askedByLines } from "../src/approvals/asked-by.ts";
import { proposalCard, settledProposal } from "../src/memory/proposal-card.ts";
import { endedCards, questionCard } from "../src/questions/question-card.ts";

const group = { channel: "telegram", account: "default", kind: "group", peer: "-5" } as const;
const web = { channel: "web", account: "default", kind: "dm", peer: "web-1" } as const;
const times = { createdAtMs: 0, expiresAtMs: 600_000 };
const shown = (deliveries: readonly NewDelivery[]): unknown =>
  deliveries.map(({ parts, ...delivery }) => ({
    ...delivery,
    parts: parts.map(({ content, into }) => [into, parseContent(content)]),
  }));

const approval = (more: object = {}) =>
  ({
    id: "a1",
    turn: "agent:main:main#1",
    session: "agent:main:main",
    conversation: "telegram:default:group:-5",
    agent: "main",
    tool: "exec",
    args: {},
    shown: "rm x",
    reason: "it *asks*",
    grant: null,
    askedBy: ["telegram:1"],
    ...times,
    ...more,
  }) as never;
const grant = (files: number) => ({
  argv: [],
  cwd: "/",
  sandbox: "",
  files: Array(files).fill({ path: "f", sha256: "" }),
});

test("requests for approval, short and long, with and without always, for some and for all who read", async () => {
  const asks = [
    {},
    { grant: grant(0) },
    { grant: grant(1), reason: "r".repeat(301) },
    { shown: "`".repeat(4), expiresAtMs: 1 },
    { shown: "s".repeat(1_200), reason: "r".repeat(300) },
    { shown: "s".repeat(1_201), expiresAtMs: 89_999 },
    { expiresAtMs: 90_000 },
    { tool: "nodes", args: { command: "run" } },
    { tool: "nodes", args: { command: "notify" } },
    { tool: "web_`fetch`", agent: "other" },
  ];
  const table = [
    answerTable(asks, (more) => {
      const { deliveries, cells } = cardDeliveries(
        approval(more),
        { address: group, approvers: ["1", "2"] },
        "d0",
      );
      return [shown(deliveries), cells];
    }),
    answerTable(asks.slice(0, 2), (more) =>
      shown(cardDeliveries(approval(more), { address: web, approvers: null }, null).deliveries),
    ),
    answerTable(asks, (more) => shown([toldElsewhere(approval(more), null)])),
    shown([toldElsewhere(approval(), "d0")]),
    answerTable(asks, (more) => shown([settledCard(approval(more), group, "✅ Ada allowed it")])),
  ];
  await expect(JSON.stringify(table, null, 1)).toMatchFileSnapshot("tables/approval-cards.txt");
});

test("who asks, in which chat, is named with the id, cut and without what misleads", async () => {
  const asks = [
    {},
    { askedBy: [] },
    { askedBy: ["telegram:1", "telegram:2", "telegram:3"], names: { "telegram:2": 'A"da' } },
    {
      askedBy: ["1", "2", "3", "4", "5"],
      names: { "1": "n".repeat(40), "2": "n".repeat(41), "3": "\u202eadA", "5": "hidden" },
    },
    { askedBy: ["toString"] },
    { conversation: "discord:work:channel:7" },
    { conversation: "telegram:default:dm:7" },
    { conversation: "telegram:work:group:-7:topic:9" },
  ];
  const table = answerTable(asks, (more) => askedByLines(approval(more)).split("\n"));
  await expect(table).toMatchFileSnapshot("tables/asked-by.txt");
});

const question = (more: object = {}) =>
  ({
    id: "q1",
    question: "Which one?",
    options: [],
    fields: [],
    conversation: "discord:default:channel:7",
    people: ["discord:1", "telegram:2", "discord:3"],
    turn: "t",
    state: "open",
    ...times,
    ...more,
  }) as never;
const options = (count: number, chars = 3) =>
  Array.from({ length: count }, (_, n) => `${n}`.padEnd(chars, "x"));

test("questions: buttons, rows, a menu, a form, words alone; each with how to answer", async () => {
  const asks = [
    {},
    { conversation: "discord:default:dm:1" },
    { options: options(1), conversation: "discord:default:dm:1" },
    { options: options(5, 16) },
    { options: options(5, 17) },
    { options: [...options(2), "x".repeat(17)] },
    { options: options(6) },
    { fields: [{ label: "Name", long: false }] },
    {
      fields: [
        { label: "Name", long: false },
        { label: "Why", long: true },
      ],
      expiresAtMs: 29_999,
    },
    { expiresAtMs: 89_999 },
    { expiresAtMs: 90_000 },
    { options: options(2), conversation: "web:default:dm:web-1", people: ["web:web-1"] },
  ];
  const table = [true, false].map((forms) =>
    answerTable(asks, (more) => {
      const { delivery, cells } = questionCard(question(more), { forms }, forms ? "d0" : null);
      return [shown([delivery]), cells];
    }),
  );
  const answer = (by: string, name: string) => ({ text: "the second", by, name });
  const ends = [
    { state: "answered", answer: answer("discord:1", "Ada") },
    { state: "answered", answer: answer("discord:1", "") },
    { state: "answered", answer: answer("discord:1", "n".repeat(41)) },
    { state: "expired", followed: ["web:default:dm:web-1", "telegram:default:dm:2"] },
    { state: "written" },
    { state: "stopped" },
  ];
  table.push(answerTable(ends, (more) => shown(endedCards(question(more)))));
  await expect(table.join("\n")).toMatchFileSnapshot("tables/question-cards.txt");
});

const change = (more: object = {}) => ({
  kind: "merge",
  lines: [
    { path: "MEMORY.md", line: 3, text: " one " },
    { path: "memory/a.md", line: 1, text: "two" },
  ],
  text: "both",
  why: "",
  ...more,
});
const proposal = (more: object = {}) =>
  ({
    id: "p1",
    agent: "main",
    turn: "t",
    state: "open",
    changes: [change()],
    shownIn: ["telegram:default:dm:1", "web:default:dm:web-1"],
    createdAtMs: 0,
    expiresAtMs: 7 * 86_400_000,
    ...more,
  }) as never;

test("proposed changes of notes: one, several, a long one, and every end", async () => {
  const asks = [
    {},
    { changes: [change(), change({ kind: "conflict", text: null, why: "a ``` b", untrusted: "web" })] },
    { changes: [change({ text: "x".repeat(1_600) })], expiresAtMs: 1 },
    { expiresAtMs: 129_600_000 },
  ];
  const by = { person: "telegram:1", name: "Ada" };
  const ends = [
    {},
    { state: "accepting", by },
    { state: "accepting", by: { person: "telegram:1", name: "" } },
    { state: "accepted", by, chosen: [0], plan: { refused: [null] } },
    {
      state: "accepted",
      by,
      chosen: [0, 1],
      changes: [change(), change()],
      plan: { refused: [null, "changed"] },
      left: ["1: changed", "2: gone"],
    },
    { state: "accepted" },
    { state: "refused", by: { ...by, name: "n".repeat(41) } },
    { state: "expired" },
  ];
  const table = [
    answerTable(asks, (more) =>
      shown(proposalCard(proposal(more), group, ["telegram:1", "discord:2", "telegram:3"]).deliveries),
    ),
    answerTable(ends, (more) => shown(settledProposal(proposal(more)))),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("tables/proposal-cards.txt");
});
