// Applies a patch of three files in a process that dies at the n-th change it makes to the disk:
// patch-and-die.ts WORKSPACE N
import { syncBuiltinESMExports } from "node:module";
import promises from "node:fs/promises";
import { kill, pid } from "node:process";

const [, , workspace = "", dieAt = "0"] = process.argv;
let calls = 0;
const counted = ["rename", "unlink", "mkdir"] as const;
for (const name of counted) {
  const real = promises[name] as (...args: unknown[]) => Promise<unknown>;
  Object.assign(promises, {
    [name]: async (...args: unknown[]) => {
      if ((calls += 1) === Number(dieAt)) kill(pid, "SIGKILL");
      return real(...args);
    },
  });
}
syncBuiltinESMExports();

const { workspaceFiles } = await import("../src/files/workspace-files.ts");
const { applyChanges } = await import("../src/files/change-set.ts");
const files = await workspaceFiles({ root: workspace }).writable();
const old = Buffer.from("old\n");
const fresh = Buffer.from("new\n");
await applyChanges(files, [
  { path: "a", before: old, after: fresh },
  { path: "b", before: old, after: null },
  { path: "c", before: old, after: fresh },
  { path: "d", before: null, after: fresh },
]);
