// What an import leaves to the operator, in whole sentences; which secrets and variables it writes; and what
// it remembers of whom it carried, also once that person is forgotten.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { restOf, todoOf } from "../../src/import/left-behind.ts";
import { forgetImported, importedOf, importLedger } from "../../src/import/ledger.ts";
import { secretsToWrite, variablesToWrite } from "../../src/import/secrets.ts";

function folder(): string {
  const home = mkdtempSync(join(tmpdir(), "parley-left-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

test("what else lies in the home is told with its reason, and neither what was carried nor a workspace is", () => {
  const names = [
    "agents",
    ".env",
    "openclaw.json.bak",
    "moltbot.json",
    "state",
    "notes",
    "media",
    "hooks",
    "x.log",
  ];
  const source = {
    isHome: true,
    folder: "/claw",
    files: { names: () => names },
    agents: [{ workspace: "/other/hooks" }, { workspace: "/claw/notes" }],
  };
  expect(restOf(source as never)).toEqual([
    {
      what: "other",
      name: "/claw/media",
      fate: "refused",
      why: "files of old messages stay where they are",
    },
    {
      what: "other",
      name: "/claw/hooks",
      fate: "refused",
      why: "hooks.internal.handlers runs code of your own here",
    },
    { what: "other", name: "/claw/x.log", fate: "refused", why: "Parley has no use for it" },
  ]);
  expect(restOf({ ...source, isHome: false } as never)).toEqual([]);
});

test("what is left to do stands in the order in which it is to be done, and nothing of it where there is nothing", () => {
  const given = {
    source: { isHome: true },
    fit: { unset: ["ONE", "TWO"], config: { session: { dmScope: "per-peer" } } },
    translated: { file: { session: { dmScope: "main" }, channels: { telegram: {} } } },
    secrets: ["secrets/a", "secrets/b"],
    isRunning: true,
    hasOwner: false,
  };
  const scope = (wanted: string): string =>
    `session.dmScope is per-peer here and ${wanted} there: private chats begin anew unless it is set so.`;
  expect(todoOf(given as never)).toEqual([
    "Stop OpenClaw's gateway: one bot cannot be served by two (openclaw gateway stop).",
    "Set ONE, for example as ONE=value in the file env of the state folder.",
    "Set TWO, for example as TWO=value in the file env of the state folder.",
    "Look at secrets/a: it holds another secret than the source.",
    "Look at secrets/b: it holds another secret than the source.",
    scope('"main"'),
    "Name the owners in commands.ownerAllowFrom, for example telegram:123456789.",
  ]);
  const nothing = { fit: { ...given.fit, unset: [] }, secrets: [], isRunning: false, hasOwner: true };
  expect(todoOf({ ...given, ...nothing } as never)).toEqual([scope('"main"')]);
  expect(todoOf({ ...given, ...nothing, source: { isHome: false } } as never)).toEqual([]);
  // Whoever speaks on no channel needs no owner there.
  const quiet = { file: { session: { dmScope: "per-peer" } } };
  expect(todoOf({ ...given, ...nothing, translated: quiet, hasOwner: false } as never)).toEqual([]);
});

test("a secret is written where the config names it and none is there; one that says something else stays and is told", () => {
  const home = folder();
  mkdirSync(join(home, "secrets"));
  writeFileSync(join(home, "secrets/same"), "sk-same\n");
  writeFileSync(join(home, "secrets/other"), "sk-mine");
  const names = ["new", "same", "other", "unnamed"].map((name) => `secrets/${name}`);
  const secrets = new Map(names.map((name) => [name, `sk-${name.slice(8)}`]));
  const text = JSON.stringify({
    a: { apiKey: { file: "secrets/new" } },
    b: [{ file: "secrets/same" }, { file: "secrets/other" }, { path: "secrets/unnamed" }],
  });
  expect(secretsToWrite({ text } as never, "{}", { secrets } as never, home)).toEqual({
    fresh: new Map([["secrets/new", "sk-new"]]),
    other: ["secrets/other"],
  });
  // A config that stays as it is names what it named before.
  expect(secretsToWrite({ text: null } as never, text, { secrets } as never, home).fresh.size).toBe(1);
  expect(secretsToWrite({ text: "{}" } as never, text, { secrets } as never, home).fresh.size).toBe(0);
});

test("variables come behind those that are there, each as it was, whatever signs it has", () => {
  const home = folder();
  const written = (variables: object): string | null =>
    variablesToWrite(home, { variables: new Map(Object.entries(variables)) } as never);
  expect(written({})).toBeNull();
  const odd = { A: "plain/x:1@y+z=", B: "two words", C: "it's", D: `"both" it's`, E: "" };
  expect(parseEnv(written(odd) ?? "")).toEqual(odd);
  writeFileSync(join(home, "env"), "# mine\nA=1");
  expect(written({ A: "2", B: "3" })).toBe("# mine\nA=1\nB=3\n");
  expect(written({ A: "2" })).toBeNull();
  writeFileSync(join(home, "env"), "A=1\n");
  expect(written({ B: "#3", C: "4" })).toBe("A=1\nB='#3'\nC=4\n");
});

test("an import knows whom it carried, after that person was forgotten as well, and names them nowhere", async () => {
  const home = folder();
  const path = join(home, "imported.json");
  const ids = { uuid: () => "salt-1" };
  const first = importLedger(home);
  await first.add("person", ["telegram:default:7", "telegram:default:8"]);
  await first.add("person", ["telegram:default:7"]);
  await first.add("session", ["agent:main:telegram:dm:7"]);
  await first.add("job", []);
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
    v: 1,
    carried: ["person telegram:default:7", "person telegram:default:8", "session agent:main:telegram:dm:7"],
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect([first.has("person", "telegram:default:7"), first.has("job", "telegram:default:7")]).toEqual([
    true,
    false,
  ]);
  const isSeven = (_kind: string, name: string): boolean => name.endsWith(":7");
  const asked: string[] = [];
  expect(importedOf(home, (kind, name) => (asked.push(`${kind}|${name}`), isSeven(kind, name)))).toBe(2);
  expect(asked).toEqual([
    "person|telegram:default:7",
    "person|telegram:default:8",
    "session|agent:main:telegram:dm:7",
  ]);
  await forgetImported(home, isSeven, ids);
  const text = readFileSync(path, "utf8");
  expect(text).not.toContain(":7");
  // Nobody else: nothing is written.
  await forgetImported(home, isSeven, { uuid: () => "salt-2" });
  expect(readFileSync(path, "utf8")).toBe(text);
  await forgetImported(home, (_kind, name) => name.endsWith(":8"), { uuid: () => "salt-2" });
  const again = importLedger(home);
  expect(["7", "8", "9"].map((id) => again.has("person", `telegram:default:${id}`))).toEqual([
    true,
    true,
    false,
  ]);
  expect(again.has("session", "agent:main:telegram:dm:7")).toBe(true);
  await again.add("person", ["telegram:default:7", "telegram:default:9"]);
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
    carried: ["person telegram:default:9"],
    forgotten: { salt: "salt-1", marks: { length: 3 } },
  });
  expect(importLedger(home).has("person", "telegram:default:8")).toBe(true);
  writeFileSync(path, "{");
  expect(() => importLedger(home)).toThrow(/imported\.json cannot be read/);
});
