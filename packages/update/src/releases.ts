// Reads which releases a source has: a folder, or an address. Nothing is read before somebody asks.
import { createPublicKey, verify } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { deadline, Fault, systemClock } from "@parley/protocol";
import { z } from "zod";
import { compareVersions, isVersion } from "./release-version.ts";

/** Below the folder or address of the release: no part of it may be `..`. */
const name = z.string().regex(/^(?!\.\.(?:\/|$))[\w.+-]+(?:\/(?!\.\.(?:\/|$))[\w.+-]+)*$/);
const release = z.object({
  format: z.literal(1),
  product: z.literal("parley"),
  version: z.string().refine(isVersion),
  commit: z.string(),
  time: z.string(),
  schema: z.number().int(),
  files: z.array(
    z.object({
      name,
      kind: z.string(),
      platform: z.string().optional(),
      bytes: z.number().int().nonnegative(),
      sha256: z.string().regex(/^[a-f0-9]{64}$/),
    }),
  ),
});
const list = z.object({
  releases: z.array(z.object({ version: z.string().refine(isVersion), path: name })).max(10_000),
});

export interface Release extends z.infer<typeof release> {
  /** The folder or address below which its files are. */
  readonly at: string;
}

export type ReleaseFile = Release["files"][number];

const most = 4_000_000;
const withinMs = 30_000;

export function isAddress(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

/** Throws Fault("invalid") for what is neither a folder nor an address that may be trusted with programs. */
export function checkedSource(source: string): string {
  if (!isAddress(source)) {
    if (!isAbsolute(source)) throw new Fault("invalid", `${source} is no absolute path and no https address`);
    return source;
  }
  const url = new URL(source);
  const isHere = ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  if (url.protocol !== "https:" && !isHere)
    throw new Fault("invalid", `${source} is not encrypted: releases are taken by https`);
  if (url.search !== "" || url.hash !== "")
    throw new Fault("invalid", `${source} has a query; name the folder of the releases alone`);
  return source.replace(/\/+$/, "");
}

/**
 * The releases of a source, the newest first. With `publicKey` (PEM) each has to be signed by it. Throws
 * Fault("missing" | "unavailable" | "invalid" | "denied").
 */
export async function releasesAt(source: string, publicKey: string | null): Promise<readonly Release[]> {
  const places = isAddress(source) ? await placesAtAddress(source) : placesInFolder(source);
  const found = await Promise.all(places.map((at) => releaseAt(at, publicKey)));
  return found.toSorted((a, b) => compareVersions(b.version, a.version));
}

/** The named one alone is read where the source has a list. */
export function chosen(releases: readonly Release[], version: string | undefined): Release {
  const found =
    version === undefined
      ? // A version with a suffix is for those who name it.
        (releases.find((each) => !each.version.includes("-")) ?? releases[0])
      : releases.find((each) => each.version === version);
  if (found !== undefined) return found;
  const there = releases.map((each) => each.version).join(", ");
  throw new Fault(
    "missing",
    version === undefined || there === ""
      ? "there is no release there"
      : `there is no version ${version} there: ${there}`,
  );
}

function placesInFolder(folder: string): readonly string[] {
  if (!existsSync(folder)) throw new Fault("missing", `there is no folder ${folder}`);
  const hasOne = (path: string): boolean => existsSync(join(path, "release.json"));
  const below = readdirSync(folder, { withFileTypes: true })
    .filter((each) => each.isDirectory() && !each.name.startsWith("."))
    .map((each) => join(folder, each.name))
    .filter(hasOne);
  const places = [...(hasOne(folder) ? [folder] : []), ...below];
  if (places.length === 0)
    throw new Fault("missing", `${folder} has no release (release.json, or folders with one)`);
  return places;
}

async function placesAtAddress(address: string): Promise<readonly string[]> {
  const text = await fetched(`${address}/releases.json`);
  if (text === null) return [address];
  const { releases } = parsed(list, text, `${address}/releases.json`);
  // What is old is no target without being named, and twenty are enough to choose from.
  return releases
    .toSorted((a, b) => compareVersions(b.version, a.version))
    .slice(0, 20)
    .map(({ path }) => `${address}/${path}`);
}

async function releaseAt(at: string, publicKey: string | null): Promise<Release> {
  const [text, signature] = await Promise.all([
    textAt(at, "release.json"),
    publicKey === null ? null : textAt(at, "release.json.sig"),
  ]);
  if (text === null) throw new Fault("missing", `${at} has no release.json`);
  if (publicKey !== null) {
    if (signature === null) throw new Fault("denied", `${at} is not signed (release.json.sig is missing)`);
    if (!isSigned(text, signature, publicKey))
      throw new Fault("denied", `${at}/release.json is not signed by the key of update.publicKey`);
  }
  return { ...parsed(release, text, `${at}/release.json`), at };
}

function isSigned(text: string, signature: string, publicKey: string): boolean {
  try {
    return verify(
      null,
      Buffer.from(text),
      createPublicKey(publicKey),
      Buffer.from(signature.trim(), "base64"),
    );
  } catch (cause) {
    throw new Fault("invalid", "update.publicKey is no key in PEM", { cause });
  }
}

function parsed<T>(form: z.ZodType<T>, text: string, where: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Fault("invalid", `${where} is no JSON`, { cause });
  }
  const read = form.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Fault("invalid", `${where} is not what a release has at ${issue?.path.join(".") || "its root"}`);
}

async function textAt(at: string, file: string): Promise<string | null> {
  if (isAddress(at)) return fetched(`${at}/${file}`);
  const path = join(at, file);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

/** Null when it is not there. */
async function fetched(address: string): Promise<string | null> {
  const text = await answered(address, withinMs, (response) => response.text());
  if (text !== null && text.length > most) throw new Fault("invalid", `${address} is too long`);
  return text;
}

/**
 * What `use` makes of the answer; null when it is not there. Follows no redirect to another origin: a release
 * comes from where the operator said.
 */
export async function answered<T>(
  address: string,
  limitMs: number,
  use: (response: Response) => Promise<T>,
): Promise<T | null> {
  const { signal, cancel } = deadline(systemClock(), limitMs, address);
  try {
    let url = address;
    for (let hop = 0; hop < 5; hop += 1) {
      const response = await fetch(url, { redirect: "manual", signal });
      if (response.ok) return await use(response);
      await response.body?.cancel();
      if (response.status === 404 || response.status === 410) return null;
      const to = response.headers.get("location");
      if (response.status < 300 || response.status >= 400 || to === null)
        throw new Fault("unavailable", `${address} answered ${response.status}`);
      const next = new URL(to, url);
      if (next.origin !== new URL(address).origin)
        throw new Fault("denied", `${address} leads to another server (${next.origin})`);
      url = next.href;
    }
    throw new Fault("unavailable", `${address} leads in circles`);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("unavailable", `${address} cannot be reached: ${reasonOf(error)}`, { cause: error });
  } finally {
    cancel();
  }
}

function reasonOf(cause: unknown): string {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error ? inner.message : String(inner);
}
