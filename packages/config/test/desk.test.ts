import { writeFileSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault, type JsonObject } from "@parley/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { configEditor, type ConfigEditor } from "../src/index.ts";

const text = `{
  // Mine.
  gateway: { port: 7275, auth: { token: "gateway-canary-7f3a91c05be24d68" } },
  channels: {
    telegram: {
      botToken: "12:bot-canary", // from BotFather
      allowFrom: ["1", "2"],
    },
  },
  models: { providers: { mine: { api: "openai-completions", baseUrl: "http://u:url-canary@h/v1", headers: { "X-Key": "header-canary" }, apiKey: { env: "KEY" }, models: [{ id: "m" }] } } },
  skills: { entries: { x: { env: { ANY_TOKEN: "skill-canary" } } } },
}
`;
let home: string;
let path: string;
let desk: ConfigEditor;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-desk-"));
  path = join(home, "parley.json5");
  await writeFile(path, text, { mode: 0o640 });
  desk = configEditor({ env: { KEY: "env-canary" }, home });
});

const now = (): Promise<string> => readFile(path, "utf8");

describe("reading", () => {
  test("shows what the file says and means, and no secret of it", async () => {
    const reading = await desk.read();
    expect(reading).toMatchObject({ path, exists: true, problems: [] });
    expect(JSON.stringify(reading)).not.toContain("canary");
    expect(reading.file).toMatchObject({
      gateway: { auth: { token: "[secret]" } },
      models: { providers: { mine: { apiKey: { env: "KEY" } } } },
    });
    expect(reading.config).toMatchObject({ gateway: { port: 7275, bind: "loopback" } });
  });

  test("a broken file is told by line, its secrets still masked", async () => {
    await writeFile(path, text.replace("port: 7275", "prot: 7275"));
    const reading = await desk.read();
    expect(reading.problems).toMatchObject([
      { path: "gateway.prot", line: 3, fix: expect.stringContaining("port") },
    ]);
    expect(JSON.stringify(reading)).not.toContain("canary");
  });

  test("there need be no file: the first change makes one that only its owner reads", async () => {
    const other = join(home, "other");
    await mkdir(other);
    desk = configEditor({ env: {}, home: other });
    const { hash, exists } = await desk.read();
    expect(exists).toBe(false);
    await desk.patch({ gateway: { port: 1 } }, hash);
    expect((await stat(join(other, "parley.json5"))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(other, "parley.json5"), "utf8")).toBe(
      "{\n  gateway: {\n    port: 1,\n  },\n}\n",
    );
  });
});

describe("a merge patch", () => {
  test("changes what it names, removes what is null, keeps every comment, the mode and the last good file", async () => {
    const { hash } = await desk.read();
    const written = await desk.patch({ gateway: { port: 1, bind: "lan" }, skills: null }, hash);
    expect(written).toMatchObject({
      changed: ["gateway.port", "gateway.bind", "skills"],
      backup: `${path}.bak`,
    });
    expect(await now()).toBe(
      text
        .replace(
          'port: 7275, auth: { token: "gateway-canary-7f3a91c05be24d68" }',
          'port: 1, auth: { token: "gateway-canary-7f3a91c05be24d68" }, bind: "lan"',
        )
        .replace(/ {2}skills.*\n/, ""),
    );
    expect(await readFile(`${path}.bak`, "utf8")).toBe(text);
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    expect((await desk.read()).hash).toBe(written.hash);
  });

  test("what would be wrong is not written: every problem by line, the file as it was", async () => {
    const { hash } = await desk.read();
    await expect(desk.patch({ gateway: { port: 99_999_999, nonsense: 1 } }, hash)).rejects.toThrow(
      /gateway\.port.*\n.*gateway\.nonsense/s,
    );
    expect(await now()).toBe(text);
    expect(await readdir(home)).toEqual(["parley.json5"]);
  });

  test("an old base is refused, and of two at once on one base the second", async () => {
    const { hash } = await desk.read();
    const both = await Promise.allSettled([
      desk.patch({ gateway: { port: 1 } }, hash),
      desk.patch({ gateway: { port: 2 } }, hash),
    ]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await expect(desk.patch({ gateway: { port: 3 } }, hash)).rejects.toThrow(/changed since/);
    expect((await desk.read()).file).toMatchObject({ gateway: { port: 1 } });
  });

  test("a masked secret that comes back stays what it was; a mask elsewhere is refused", async () => {
    const { hash, file } = await desk.read();
    const same = await desk.patch(file as JsonObject, hash);
    expect(same).toMatchObject({ changed: [], backup: null });
    await expect(desk.patch({ channels: { discord: { token: "[secret]" } } }, hash)).rejects.toThrow(
      /channels\.discord\.token/,
    );
    expect(await now()).toBe(text);
  });

  test("a list loses entries only where that is said", async () => {
    const { hash } = await desk.read();
    const patch = { channels: { telegram: { allowFrom: ["2", "3"] } } };
    await expect(desk.patch(patch, hash)).rejects.toThrow(/allowFrom would lose 1 of its 2 entries/);
    await desk.patch(patch, hash, ["channels.telegram.allowFrom"]);
    expect(await now()).toBe(text.replace('["1", "2"]', '["2", "3"]'));
  });

  test("a key of a prototype changes nothing but the file's own text, and that is refused", async () => {
    const { hash } = await desk.read();
    const patch = JSON.parse('{ "__proto__": { "polluted": true } }') as JsonObject;
    await expect(desk.patch(patch, hash)).rejects.toThrow(Fault);
    expect({}).not.toHaveProperty("polluted");
  });
});

describe("the whole", () => {
  test("as a value: what is absent goes, the rest keeps its comments and secrets", async () => {
    const { hash, file } = await desk.read();
    const { models: _models, ...rest } = file as JsonObject;
    await desk.apply(rest, hash);
    expect(await now()).toBe(text.replace(/ {2}models.*\n/, ""));
  });

  test("as a text: its own comments, the secrets of the file where it has masks", async () => {
    const { hash } = await desk.read();
    await desk.apply('{ // new\n gateway: { auth: { token: "[secret]" } } }', hash);
    expect(await now()).toBe('{ // new\n gateway: { auth: { token: "gateway-canary-7f3a91c05be24d68" } } }');
  });
});

test("single places are set and removed in one step", async () => {
  await desk.change([{ set: ["channels", "telegram", "allowFrom", 2], to: "3" }, { remove: ["skills"] }]);
  expect(await now()).toBe(text.replace('"2"]', '"2", "3"]').replace(/ {2}skills.*\n/, ""));
});

test("a link stays a link, the file behind it is changed", async () => {
  const link = join(home, "link.json5");
  await symlink(path, link);
  const linked = configEditor({ env: { KEY: "k", PARLEY_CONFIG: link }, home });
  await linked.change([{ set: ["gateway", "port"], to: 1 }]);
  expect(await now()).toContain("port: 1,");
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
});

describe("a change that a running gateway takes up", () => {
  let refusals: string[][];
  let taken: string[];
  beforeEach(() => {
    refusals = [];
    taken = [];
    desk = configEditor({
      env: { KEY: "env-canary" },
      home,
      async takeUp() {
        taken.push(await readFile(path, "utf8").catch(() => "no file"));
        return refusals.shift() ?? [];
      },
    });
  });

  test("is in the file when it is asked to, and stays there", async () => {
    await desk.change([{ set: ["gateway", "port"], to: 8000 }]);
    expect(taken).toEqual([await now()]);
    expect(await now()).toContain("port: 8000");
  });

  test("is taken back to the letter when it cannot be brought into force, and the old file is taken up again", async () => {
    refusals = [["gateway.port: no"]];
    const failure = await desk
      .change([{ set: ["gateway", "port"], to: 8000 }])
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Fault);
    expect(failure).toMatchObject({
      code: "invalid",
      message: expect.stringMatching(/not in the file.*gateway\.port: no/),
    });
    expect(await now()).toBe(text);
    expect(taken).toHaveLength(2);
    expect(taken[1]).toBe(text);
    expect((await stat(path)).mode & 0o777).toBe(0o640);
  });

  test("leaves no file where there was none", async () => {
    const other = join(home, "other");
    await mkdir(other);
    desk = configEditor({
      env: {},
      home: other,
      takeUp: async () => (refusals.length === 0 ? [] : (refusals.shift() ?? [])),
    });
    refusals = [["no"]];
    await expect(desk.change([{ set: ["gateway", "port"], to: 8000 }])).rejects.toThrow(/not in the file/);
    expect(await readdir(other)).toEqual([]);
  });

  test("does not take back what an editor saved meanwhile", async () => {
    desk = configEditor({
      env: {},
      home,
      async takeUp() {
        await writeFile(path, "{ /* theirs */ }");
        return ["no"];
      },
    });
    await expect(desk.apply({ gateway: { port: 1 } }, (await desk.read()).hash)).rejects.toThrow(
      /not in the file/,
    );
    expect(await now()).toBe("{ /* theirs */ }");
  });

  test("is taken back too when nobody could be asked", async () => {
    desk = configEditor({
      env: { KEY: "k" },
      home,
      takeUp: () => Promise.reject(new Fault("unavailable", "just starting")),
    });
    await expect(desk.change([{ set: ["gateway", "port"], to: 8000 }])).rejects.toThrow("just starting");
    expect(await now()).toBe(text);
  });

  test("keeps the last good file for its owner's eyes only", async () => {
    await writeFile(`${path}.bak`, "old", { mode: 0o644 });
    await desk.change([{ set: ["gateway", "port"], to: 8000 }]);
    expect(await readFile(`${path}.bak`, "utf8")).toBe(text);
    expect((await stat(`${path}.bak`)).mode & 0o777).toBe(0o600);
  });

  test("is refused before anything is written when no gateway would start with it", async () => {
    await writeFile(join(home, "file"), "");
    await expect(desk.change([{ set: ["agents", "defaults", "workspace"], to: "file" }])).rejects.toThrow(
      /not a folder/,
    );
    await expect(
      desk.change([{ set: ["messages", "audio", "transcribe"], to: "nobody/whisper" }]),
    ).rejects.toThrow(/does not exist/);
    expect([await now(), taken]).toEqual([text, []]);
  });
});

test("what somebody saves while a change is looked at is not overwritten", async () => {
  const theirs = "{ /* theirs */ }";
  const env = {
    get KEY() {
      writeFileSync(path, theirs);
      return "env-canary";
    },
  };
  let taken = 0;
  desk = configEditor({ env, home, takeUp: async () => ((taken += 1), []) });
  await expect(desk.change([{ set: ["gateway", "port"], to: 1 }])).rejects.toMatchObject({
    code: "conflict",
    message: `${path} changed since it was read. Read it again (config.get) and repeat the change on top of it`,
  });
  expect([await now(), taken]).toEqual([theirs, 0]);
});

describe("a file with several mistakes", () => {
  const wrong = `{
  // Mine.
  gateway: { port: "x", nonsense: 1 },
  logging: { level: "loud" },
}
`;
  let taken: number;
  beforeEach(async () => {
    taken = 0;
    await writeFile(path, wrong);
    await writeFile(`${path}.bak`, "the last good one");
    desk = configEditor({ env: {}, home, takeUp: async () => ((taken += 1), []) });
  });
  const paths = (problems: readonly { readonly path: string }[]): readonly string[] =>
    problems.map((each) => each.path);
  const backup = (): Promise<string> => readFile(`${path}.bak`, "utf8");

  test("is mended place by place: what is left is told, and the last good file stays", async () => {
    const one = await desk.change([{ remove: ["gateway", "nonsense"] }]);
    const { hash } = await desk.read();
    expect({ ...one, problems: paths(one.problems) }).toEqual({
      path,
      hash,
      changed: ["gateway.nonsense"],
      backup: null,
      warnings: [],
      problems: ["gateway.port", "logging.level"],
    });
    expect([await now(), await backup(), taken]).toEqual([
      wrong.replace(", nonsense: 1", ""),
      "the last good one",
      1,
    ]);
    const all = await desk.change(
      [
        { set: ["gateway", "port"], to: 7 },
        { set: ["logging", "level"], to: "warn" },
      ],
      hash,
    );
    expect([all.changed, all.backup, all.problems]).toEqual([["gateway.port", "logging.level"], null, []]);
    expect([await backup(), taken]).toEqual(["the last good one", 2]);
    // From here on the file is a good one.
    expect(await desk.change([{ set: ["gateway", "port"], to: 8 }])).toMatchObject({
      backup: `${path}.bak`,
      problems: [],
    });
    expect(await backup()).toContain("port: 7");
  });

  test("takes no change that mends nothing, makes another mistake, or is of the whole", async () => {
    const { hash } = await desk.read();
    await expect(desk.change([{ set: ["gateway", "bind"], to: "lan" }])).rejects.toThrow("gateway.port");
    await expect(
      desk.change([{ remove: ["gateway", "nonsense"] }, { set: ["logging", "other"], to: 1 }]),
    ).rejects.toThrow("logging.other");
    // Another mistake at the same place is none that was there before.
    await expect(
      desk.change([{ remove: ["gateway", "nonsense"] }, { set: ["gateway", "port"], to: -1 }]),
    ).rejects.toThrow("gateway.port");
    await expect(desk.patch({ gateway: { nonsense: null } }, hash)).rejects.toThrow("gateway.port");
    await expect(desk.apply({ logging: { level: "loud" } }, hash)).rejects.toThrow("logging.level");
    expect([await now(), await backup(), taken]).toEqual([wrong, "the last good one", 0]);
  });

  test("is shown as it is, by its lines, and means nothing; one that is no JSON5 says nothing either", async () => {
    const { config, file, exists, problems } = await desk.read();
    expect([config, exists, problems.map((each) => `${each.line}:${each.column} ${each.path}`)]).toEqual([
      null,
      true,
      ["3:14 gateway.port", "3:25 gateway.nonsense", "4:14 logging.level"],
    ]);
    expect(file).toEqual({ gateway: { port: "x", nonsense: 1 }, logging: { level: "loud" } });
    await writeFile(path, "{ oops");
    expect(await desk.read()).toMatchObject({ file: null, config: null, exists: true, warnings: [] });
    expect(await desk.text({})).toMatchObject({ text: null, file: null });
  });

  test("that cannot be read is told, and not taken for one that is not there", async () => {
    const other = join(home, "other");
    await mkdir(join(other, "parley.json5"), { recursive: true });
    desk = configEditor({ env: {}, home: other });
    const refused = { code: "invalid", message: expect.stringMatching(/json5 cannot be read: EISDIR/) };
    expect(await desk.read()).toMatchObject({
      exists: true,
      file: null,
      config: null,
      problems: [{ path: "", message: expect.stringMatching(/^cannot be read: EISDIR/) as string }],
    });
    await expect(desk.change([{ set: ["gateway", "port"], to: 1 }])).rejects.toMatchObject(refused);
    expect((await stat(join(other, "parley.json5"))).isDirectory()).toBe(true);
  });
});

describe("a draft", () => {
  const masked = text
    .replace("gateway-canary-7f3a91c05be24d68", "[secret]")
    .replace("12:bot-canary", "[secret]")
    .replace("url-canary", "[secret]")
    .replace("header-canary", "[secret]")
    .replace("skill-canary", "[secret]");

  test("begins as the file with its comments and masks, and has a value in place of what it says", async () => {
    const { hash, file } = await desk.read();
    const own = await desk.text({});
    expect([own.hash, own.file, own.text]).toEqual([hash, file, masked]);
    const changed = await desk.text({ config: { gateway: { port: 1 } } });
    expect(changed).toEqual({
      text: "{\n  // Mine.\n  gateway: { port: 1 },\n}\n",
      hash,
      file: { gateway: { port: 1 } },
    });
    expect(await desk.text({ text: "{ // theirs\n a: 1, b: 2 }", config: { a: 3 } })).toEqual({
      text: "{ // theirs\n a: 3 }",
      hash,
      file: { a: 3 },
    });
    expect(await desk.text({ text: "{ oops" })).toEqual({ text: "{ oops", hash, file: null });
    expect(await now()).toBe(text);
  });

  test("is judged with the secrets that its masks stand for, and what it changes is named", async () => {
    expect(await desk.validate(masked)).toEqual({ problems: [], warnings: [], changed: [] });
    const next = masked.replace("port: 7275", "port: 1").replace('"1", "2"', '"1"');
    expect(await desk.validate(next)).toEqual({
      problems: [],
      warnings: [],
      changed: ["gateway.port", "channels.telegram.allowFrom"],
    });
    const wrong = await desk.validate("{ gateway: { port: -1 } }");
    expect(wrong.problems).toMatchObject([{ path: "gateway.port", line: 1 }]);
    expect(wrong.changed).toEqual(["gateway.port", "gateway.auth", "channels", "models", "skills"]);
    expect(await desk.validate("{ oops")).toMatchObject({ problems: [{ path: "", line: 1 }], changed: [] });
    expect(await now()).toBe(text);
  });
});
