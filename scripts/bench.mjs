// npm run bench [-- name...]: runs bench/<name>.ts one after the other, all of them when none is named. Each prints its own table.
// What follows a single name and is no name goes to that bench: npm run bench -- compare HEAD~5
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import { at, root } from "./bootstrap/places.mjs";
import { setUp } from "./bootstrap/set-up.mjs";

const known = readdirSync(at("bench"))
  .filter((file) => file.endsWith(".ts"))
  .map((file) => path.basename(file, ".ts"));
const [first = "", ...others] = process.argv.slice(2);
const isNames = others.every((name) => known.includes(name));
const asked = [first, ...(isNames ? others : [])].filter((name) => name !== "");
const passed = isNames ? [] : others;
const unknown = asked.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`no bench named ${unknown.join(", ")}; there are: ${known.join(", ")}`);
  process.exit(1);
}
// What is measured is what an operator's restart runs, not sources that changed since the last bundling.
setUp({ web: true, programs: "fresh" });
for (const name of asked.length > 0 ? asked : known) {
  console.log(`\n== ${name}`);
  const { status } = spawnSync(process.execPath, [`bench/${name}.ts`, ...passed], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) process.exitCode = 1;
}
