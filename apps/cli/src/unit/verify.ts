// Has systemd itself read a unit before it is put in place.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Console } from "../console.ts";
import type { UnitPlan } from "./plan.ts";

/** What is wrong with it; null when nothing is, or when systemd-analyze is not there. */
export async function verified(
  { env }: Pick<Console, "env">,
  { manager, scope, name }: UnitPlan,
  text: string,
): Promise<string | null> {
  if (manager !== "systemd") return null;
  const folder = await mkdtemp(join(tmpdir(), "parley-unit-"));
  const file = join(folder, `${name}.service`);
  try {
    await writeFile(file, text);
    return await analyze(
      [...(scope === "user" ? ["--user"] : []), "--recursive-errors=no", "verify", file],
      { ...env },
      file,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

function analyze(args: readonly string[], env: NodeJS.ProcessEnv, file: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn("systemd-analyze", args, { env, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
    child.once("error", () => resolve(null));
    child.once("close", () => {
      // It also tells of other units and of a manager that it cannot reach; what is about this file names it.
      const own = said.split("\n").filter((each) => each.includes(file) || each.includes("parley"));
      resolve(own.length === 0 ? null : own.join("\n"));
    });
  });
}
