// Thinking and models in a chat: directives alone and inside messages, what is shown of thoughts, which model
// answers.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Fault, sleep } from "@parley/protocol";
import { labConfig, labModels, type Lab } from "./lab-models.ts";
import { stage, type Stage, type StageOptions } from "./stage.ts";

let s: Stage;
let lab: Lab;
beforeEach(() => {
  lab = labModels();
});
afterEach(() => s.close());

const begin = async (more: StageOptions = {}): Promise<Stage> =>
  (s = await stage({ config: labConfig, models: lab.models, ...more }));
const levels = (): readonly string[] => lab.calls.map(({ thinking }) => thinking);

describe("a directive", () => {
  test("alone sets the session, in the order of the messages, and the prompt says so", async () => {
    await begin();
    const alice = s.person("alice");
    await alice.says("one").gets("re: one");
    await alice.says("/think harder").gets("Thinking: medium.");
    await alice.says("/t: HIGH").gets("Thinking: high.");
    await alice.says("two").gets("re: two");
    expect(levels()).toEqual(["medium", "high"]);
    expect(lab.calls[1]?.system).toContain("thinking=high");
    await alice
      .says("/think")
      .gets(
        /^Thinking: high \(set for this conversation\)\.\nLevels of `?lab\/plain`?: off, minimal, low, medium, high\./,
      );
    await alice.says("/think default").gets("Thinking: medium, the default.");
    await expect(await s.trace()).toMatchFileSnapshot("traces/think.txt");
  });

  test("inside a message holds for it alone and is not shown to the model", async () => {
    await begin();
    const alice = s.person("alice");
    await alice.says("what is /think off  2+2?\n  `/think high`").gets(/^re: what is/);
    expect(lab.calls[0]?.text).toBe("what is  2+2?\n  `/think high`");
    await alice.says("/t low and now?").gets("re: and now?");
    await alice.says("then").gets("re: then");
    expect(levels()).toEqual(["off", "low", "medium"]);
  });

  test("that the model does not take is answered with those that it takes, alone and inside", async () => {
    await begin();
    const alice = s.person("alice");
    await alice
      .says("/think xhigh")
      .gets(/does not take the thinking level "xhigh"\. Valid levels: off, minimal, low, medium, high\.$/);
    await alice
      .says("/think banana")
      .gets(/^"banana" is no level of thinking\. Valid levels of .*: off, minimal, low, medium, high\.$/);
    await alice
      .says("/think xhigh solve it")
      .gets(/^⚠️ .*does not take the thinking level "xhigh"\. Valid levels: off/);
    expect(lab.calls).toEqual([]);
    await alice.says("/model deep").gets(/for this conversation/);
    await alice.says("/think xhigh").gets("Thinking: xhigh.");
    await alice.says("go").gets("re: go");
    // A stored level follows the model to one that does not take it.
    await alice.says("/model default").gets(/lab\/plain/);
    await alice.says("go").gets("re: go");
    expect(levels()).toEqual(["xhigh", "high"]);
  });

  test("off is taken by a model that cannot stop thinking as the least it can, and is told so", async () => {
    await begin({ config: { ...labConfig, agents: { defaults: { model: "lab/restless" } } } });
    const alice = s.person("alice");
    await alice.says("what is /think off 2+2?").gets(/^re: what is/);
    await alice
      .says("/think off")
      .gets(
        /^Thinking: off\. `?lab\/restless`? cannot stop thinking: it thinks as little as it can \(low\)\.$/,
      );
    await alice.says("go").gets("re: go");
    await alice
      .says("/think minimal")
      .gets(/does not take the thinking level "minimal"\. Valid levels: low, medium, high\.$/);
    expect(levels()).toEqual(["low", "low"]);
  });

  test("beside a file is about the message with the file", async () => {
    await begin();
    const alice = s.person("alice");
    await alice
      .says("/think low", { attachments: [{ kind: "file", ref: "x", name: "a.txt" }] })
      .gets(/^re: /);
    expect(levels()).toEqual(["low"]);
  });

  test("of a model without thoughts of its own is told in tags, and an answer without the tags is an answer", async () => {
    await begin({
      config: { ...labConfig, agents: { defaults: { ...labConfig.agents.defaults, model: "lab/words" } } },
    });
    const alice = s.person("alice");
    lab.script = ({ text }) => ({
      says: text === "tags" ? "<think>secret plan</think><final>done</final>" : `re: ${text}`,
    });
    await alice.says("tags").gets("done");
    await alice.says("none").gets("re: none");
    expect(levels()).toEqual(["low", "low"]);
    expect(lab.calls[0]?.system).toContain("<think>");
    await alice.says("/think off").gets("Thinking: off.");
    await alice.says("plain").gets("re: plain");
    expect(lab.calls[2]?.system).not.toContain("<think>");
  });
});

describe("reasoning", () => {
  test("stays hidden unless somebody asks for it; then it comes before the answer, secrets taken out", async () => {
    await begin();
    const alice = s.person("alice");
    lab.script = ({ text }) => ({
      thinks: ["first thought\n", "NO_REPLY then [[reply_to:5]] <think>x</think>"],
      says: `re: ${text}`,
    });
    await alice.says("a").gets("re: a");
    await alice.says("/reasoning on").gets(/^Reasoning: on\./);
    await alice.says("b").gets(/^Thinking\n+(?:> )?first thought\n(?:> )?\s*then/, "re: b");
    await alice.says("/reasoning").gets(/^Reasoning: on \(set for this conversation\)/);
    await alice.says("c /reasoning off").gets("re: c");
    await alice.says("/reasoning default").gets(/^Reasoning: off/);
    await alice.says("/reasoning loud").gets(/Valid ones: off, on, stream/);
    expect(lab.calls.map(({ showThoughts }) => showThoughts)).toEqual([false, true, false]);
    expect(alice.sees().join("\n")).not.toMatch(/<think>|\[\[reply/);
  });

  test.each(["stream", "on", "off"] as const)("while the answer grows: %s", async (how) => {
    await begin({ telegram: { streaming: "edit" } });
    s.telegram.can({ edits: true });
    await s.kill();
    await s.start();
    const alice = s.person("alice");
    await alice.says(`/reasoning ${how}`).gets(/^Reasoning/);
    lab.pause = () => sleep(s.clock, 3_000);
    lab.script = ({ text }) => ({ thinks: ["one ", "two ", "three "], says: `re: ${text}` });
    alice.says("a");
    const seen = new Set<string>();
    await s.until(() => {
      for (const text of alice.sees()) seen.add(text);
      return s.pools().turnsRunning() === 0 && alice.sees().at(-1) === "re: a";
    }, "the answer");
    const thoughts = [...seen].filter((text) => text.startsWith("Thinking"));
    if (how === "off") expect(thoughts).toEqual([]);
    else expect(thoughts.length).toBeGreaterThan(1);
    // What stays: the thoughts only with "on", before the answer.
    const stays = alice.sees().slice(1);
    expect(stays.map((text) => text.split("\n")[0])).toEqual(
      how === "on" ? ["Thinking", "re: a"] : ["re: a"],
    );
  });

  test("both directives in one message", async () => {
    await begin();
    await s
      .person("alice")
      .says("/think high /reasoning stream")
      .gets(/^Thinking: high\. Reasoning: stream\./);
  });
});

describe("/new with a model", () => {
  test("begins anew with it, by alias or in full; what follows it is the first message", async () => {
    await begin();
    const alice = s.person("alice");
    await alice.says("before").gets("re: before");
    await alice.says("/new DEEP").gets(/^A new conversation with `?lab\/deep`?\./);
    await alice.says("hello").gets("re: hello");
    await alice.says("/reset lab/words how are you?").gets("re: how are you?");
    await alice.says("/model").gets(/^Model: `?lab\/words`? \(chosen/);
    expect(lab.calls.map(({ model, text }) => [model, text])).toEqual([
      ["lab/plain", "before"],
      ["lab/deep", "hello"],
      ["lab/words", "how are you?"],
    ]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/new-with-model.txt");
  });

  test("takes any other word for the first message: numbers and bare names are no models here", async () => {
    await begin();
    const alice = s.person("alice");
    for (const text of ["3 ideas for dinner", "plain", "other/thing", "depe"])
      await alice.says(`/new ${text}`).gets(`re: ${text}`);
    expect(new Set(lab.calls.map(({ model }) => model))).toEqual(new Set(["lab/plain"]));
  });

  test("knows any model of a provider that declares none, and no word that merely looks like one", async () => {
    const open = {
      models: { providers: { lab: { ...labConfig.models.providers.lab, models: [] } } },
      agents: { defaults: { model: "lab/plain" } },
    };
    await begin({ config: open });
    const alice = s.person("alice");
    await alice.says("/new lab/deep hello").gets("re: hello");
    expect(lab.calls.at(-1)?.model).toBe("lab/deep");
    for (const text of ["labs", "lab/", "constructor/x", "/x"])
      await alice.says(`/new ${text}`).gets(`re: ${text}`);
    await alice.says("/model constructor/x").gets(/^I know no model "constructor\/x"/);
  });

  test("says so when the model cannot be called, and goes on with the one before", async () => {
    await begin({
      models: () => ({
        ...lab.models(),
        get: async (id) =>
          id === "lab/deep" ? Promise.reject(new Fault("invalid", "no key")) : lab.models().get(id),
      }),
    });
    const alice = s.person("alice");
    await alice
      .says("/new deep")
      .gets(/^A new conversation\. .*`?lab\/deep`? cannot be used now: the model stays as it was\.$/);
    await alice.says("/new deep hello").gets(/cannot be used now/, "re: hello");
    expect(lab.calls.map(({ model }) => model)).toEqual(["lab/plain"]);
  });
});

describe("/model", () => {
  test("lists, shows, chooses by alias, id, bare id and number, and goes back", async () => {
    await begin();
    const alice = s.person("alice");
    await alice
      .says("/model")
      .gets(/^Model: `?lab\/plain`? \(the default\)\.\nWhen it fails: `?lab\/words`?\./);
    await alice
      .says("/model list")
      .gets(/1\. `?lab\/plain`? - in use\n2\. `?lab\/words`? \(words\)\n3\. `?lab\/deep`? \(deep\)/);
    for (const name of ["DEEP", "lab/deep", "deep", "3"]) {
      await alice.says(`/model ${name}`).gets(/^Model: `?lab\/deep`? for this conversation\.$/);
    }
    await alice.says("hello").gets("re: hello");
    expect(lab.calls.at(-1)?.model).toBe("lab/deep");
    await alice.says("/model depe").gets(/^I know no model "depe"\. Did you mean `?deep`?/);
    await alice.says("/model default").gets(/lab\/plain.*default/);
    await alice.says("/model words and tell me").gets("re: and tell me");
    expect(lab.calls.at(-1)?.model).toBe("lab/words");
    await alice.says("/model other/thing").gets(/^I know no model "other\/thing"/);
  });

  test("is named after /new by the words of the agent that the conversation belongs to", async () => {
    const list = [{ id: "main" }, { id: "helper", model: "lab/restless" }];
    const bound = { channel: "telegram", peer: { kind: "direct", id: "7" } };
    await begin({
      config: {
        ...labConfig,
        agents: { ...labConfig.agents, list },
        bindings: [{ agentId: "helper", match: bound }],
      },
    });
    await s.person("7").says("/new lab/restless hello").gets("re: hello");
    await s.person("alice").says("/new lab/restless hello").gets("re: lab/restless hello");
    expect(lab.calls.map(({ model }) => model)).toEqual(["lab/restless", "lab/plain"]);
  });

  test("that somebody chose is strict: no fallback answers in its place", async () => {
    await begin();
    const alice = s.person("alice");
    lab.script = ({ model, text }) =>
      model === "lab/words" ? { says: `words: ${text}` } : { fails: "auth" };
    await alice.says("a").gets("words: a");
    await alice.says("/model lab/plain").gets(/lab\/plain/);
    await alice.says("b").gets(/refuses our key/);
    expect(lab.calls.filter(({ model }) => model === "lab/words")).toHaveLength(1);
  });
});
