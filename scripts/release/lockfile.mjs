// Reads from pnpm's lockfile what a release needs: which packages the two programs are made of, their versions and integrity.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const depKinds = ["dependencies", "optionalDependencies"];

/**
 * @returns {{ packages: { name: string, version: string, integrity: string, optional: boolean, needs: string[] }[],
 *   integrityOf: (name: string, version: string) => string | undefined, versionOf: (member: string, name: string) => string }}
 */
export function readLockfile(root) {
  const lock = parse(readFileSync(join(root, "pnpm-lock.yaml"), "utf8"));
  const found = new Map();
  const queue = [];
  const seenMembers = new Set();
  const visitMember = (member) => {
    if (seenMembers.has(member)) return;
    seenMembers.add(member);
    for (const kind of depKinds)
      for (const [name, { version }] of Object.entries(lock.importers[member]?.[kind] ?? {})) {
        if (version.startsWith("link:")) visitMember(memberAt(member, version.slice(5)));
        else queue.push(`${name}@${version}`);
      }
  };
  for (const app of ["apps/gateway", "apps/cli", "apps/web"]) visitMember(app);
  while (queue.length > 0) {
    const id = queue.pop();
    if (found.has(id)) continue;
    const bare = id.replace(/\(.*$/, "");
    const at = bare.lastIndexOf("@");
    const snapshot = lock.snapshots[id] ?? {};
    const needs = depKinds.flatMap((kind) =>
      Object.entries(snapshot[kind] ?? {}).map(([name, version]) => `${name}@${version}`),
    );
    found.set(id, {
      id: bare,
      name: bare.slice(0, at),
      version: bare.slice(at + 1),
      integrity: lock.packages[bare]?.resolution?.integrity,
      optional: snapshot.optional === true,
      needs: needs.map((need) => need.replace(/\(.*$/, "")),
    });
    queue.push(...needs);
  }
  const packages = [...new Map([...found.values()].map((each) => [each.id, each])).values()].sort((a, b) =>
    a.id < b.id ? -1 : 1,
  );
  return {
    packages,
    integrityOf: (name, version) => lock.packages[`${name}@${version}`]?.resolution?.integrity,
    versionOf: (member, name) => lock.importers[member].dependencies[name].version.replace(/\(.*$/, ""),
  };
}

function memberAt(from, link) {
  const words = from.split("/");
  for (const word of link.split("/"))
    if (word === "..") words.pop();
    else if (word !== ".") words.push(word);
  return words.join("/");
}
