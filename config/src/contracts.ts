// Checks that every driver keeps its contract: each factory of a contract's type has a test that calls the
// suite on it, and each case that a suite leaves out for a driver has a reason.
import { relativeTarget, type SourceFile } from "./source.ts";
import type { Findings, Tree } from "./tree.ts";

interface Contract {
  readonly member: string;
  /** Folders below the member that hold drivers. */
  readonly drivers: readonly string[];
  /** The return type that a driver's factory declares. */
  readonly makes: RegExp;
  /** The suite's name; test/contract.ts or a file test/contract/*.ts of the member exports it. */
  readonly suite: string;
}

/**
 * A new kind of driver is a line here. A member whose suite is not written yet is reported and does not fail:
 * see `contractsMissing`.
 */
const contracts: readonly Contract[] = [
  { member: "packages/channels", drivers: ["src/"], makes: /^\w*Channel$/, suite: "channelContract" },
  { member: "packages/store", drivers: ["src/"], makes: /^\w*Store$/, suite: "storeContract" },
  { member: "packages/queue", drivers: ["src/"], makes: /^\w*WorkNotifier$/, suite: "workNotifierContract" },
  {
    member: "packages/models",
    drivers: ["src/providers/", "src/rehearsal/"],
    makes: /^Model$/,
    suite: "modelContract",
  },
  { member: "packages/memory", drivers: ["src/embed/"], makes: /^\w*Embedder$/, suite: "embedderContract" },
  // The suite runs over the catalogue by itself, and the lists' check finds a tool that is not in it.
  { member: "packages/tools", drivers: ["src/rehearsal/"], makes: /^Tool$/, suite: "toolContract" },
];

interface Driver {
  readonly path: string;
  readonly name: string;
}

function driversOf(tree: Tree, contract: Contract): Driver[] {
  return tree.files
    .filter((file) => contract.drivers.some((place) => file.path.startsWith(`${contract.member}/${place}`)))
    .flatMap((file) =>
      file.factories
        .filter((made) => contract.makes.test(made.makes))
        .map(({ name }) => ({ path: file.path, name })),
    );
}

/** A test file with the files it is built from, as far as relative imports lead. */
function withItsParts(tree: Tree, file: SourceFile, seen = new Set<SourceFile>()): Set<SourceFile> {
  if (seen.has(file) || file.area !== "test") return seen;
  seen.add(file);
  for (const { from } of file.imports) {
    const target = relativeTarget(file, from);
    const part = tree.files.find((it) => it.path === target);
    if (part !== undefined) withItsParts(tree, part, seen);
  }
  return seen;
}

const suiteExists = (tree: Tree, { member, suite }: Contract): boolean =>
  tree.files.some((file) => file.path.startsWith(`${member}/test/contract`) && file.exports.includes(suite));

export function contractFindings(tree: Tree): Findings {
  return contracts
    .filter((contract) => suiteExists(tree, contract))
    .flatMap((contract) => {
      const callers = tree.files.filter(
        (file) =>
          file.path.startsWith(`${contract.member}/test/`) &&
          file.uses.some((use) => use.name === contract.suite && use.args !== null),
      );
      const tested = callers.flatMap((file) => [...withItsParts(tree, file)]);
      const uncalled = driversOf(tree, contract)
        .filter(({ name }) => !tested.some((file) => file.mentions.has(name)))
        .map(({ path, name }) => `${path}: no test calls ${contract.suite} on ${name}`);
      const silent = callers.flatMap((file) =>
        file.skips
          .filter((skip) => !skip.reason)
          .map((skip) => `${file.path}:${skip.line} skips without a reason`),
      );
      return [...uncalled, ...silent];
    });
}

/** The gateway uses contracts; only its wiring may name drivers. */
export function wiringFindings(tree: Tree): Findings {
  const drivers = new Set(contracts.flatMap((contract) => driversOf(tree, contract).map(({ name }) => name)));
  return tree.files
    .filter(
      (file) =>
        file.member === "apps/gateway" &&
        file.area === "src" &&
        !file.path.startsWith("apps/gateway/src/wiring"),
    )
    .flatMap((file) => {
      const named = file.imports
        .filter((found) => found.from.startsWith("@parley/"))
        .flatMap((found) => found.names.filter((name) => drivers.has(name)));
      return named.map((name) => `${file.path} names the driver ${name}: let wiring.ts hand it in`);
    });
}

/** Members whose contract suite is not written yet; the house test prints them. */
export const contractsMissing = (tree: Tree): readonly string[] =>
  contracts
    .filter((contract) => !suiteExists(tree, contract) && driversOf(tree, contract).length > 0)
    .map((contract) => `${contract.member} has drivers but no ${contract.suite} in test/contract.ts`);
