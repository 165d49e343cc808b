// Holds Kubernetes manifests against the types and schemas that are made from Kubernetes' own API: unknown
// and missing fields by the compiler, forms and bounds by the validators.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import { Ingress } from "kubernetes-models/networking.k8s.io/v1/Ingress";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { PersistentVolumeClaim } from "kubernetes-models/v1/PersistentVolumeClaim";
import { Secret } from "kubernetes-models/v1/Secret";
import { Service } from "kubernetes-models/v1/Service";
import { parseAllDocuments } from "yaml";

/** Kinds that we deploy; another one is a finding. */
const kinds = [
  ConfigMap,
  Deployment,
  Ingress,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  Secret,
  Service,
  StatefulSet,
];

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [key: string]: unknown };
  readonly [key: string]: unknown;
}

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const moduleOf = ({ apiVersion, kind }: Manifest): string => `kubernetes-models/${apiVersion}/${kind}`;

export function manifestsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.contents === null ? [] : [document.toJS() as Manifest];
  });
}

/** What is wrong with them; empty for sound ones. */
export function manifestFindings(manifests: readonly Manifest[]): readonly string[] {
  const found: string[] = [];
  for (const manifest of manifests) {
    const Kind = kinds.find(
      ({ kind, apiVersion }) => kind === manifest.kind && apiVersion === manifest.apiVersion,
    );
    try {
      if (Kind === undefined) throw new Error(`${manifest.apiVersion} has no such kind`);
      new (Kind as new (data: Manifest) => { validate(): void })(manifest).validate();
    } catch (error) {
      found.push(`${manifest.kind} ${manifest.metadata.name}: ${(error as Error).message}`);
    }
  }
  return found.length > 0 ? found : unknownFields(manifests);
}

/** A literal with a field that its type does not have is an error to the compiler. */
function unknownFields(manifests: readonly Manifest[]): readonly string[] {
  // Below this package, whose dependencies the imports name.
  const folder = mkdtempSync(join(root, "apps/gateway/node_modules/.manifests-"));
  try {
    const lines = manifests.flatMap((manifest, n) => [
      `import type { I${manifest.kind} as Type${n} } from ${JSON.stringify(moduleOf(manifest))};`,
      `export const manifest${n}: Type${n} = ${JSON.stringify(manifest)};`,
    ]);
    writeFileSync(join(folder, "all.mts"), lines.join("\n"));
    const options = "--noEmit --strict --skipLibCheck --ignoreConfig --module nodenext --types".split(" ");
    const { status, stdout, stderr, error } = spawnSync(
      join(root, "node_modules/.bin/tsc"),
      [...options, "", "all.mts"],
      { cwd: folder, encoding: "utf8" },
    );
    if (error !== undefined) throw error;
    return status === 0 ? [] : [stdout + stderr];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
