// deploy/kubernetes.yaml and the chart, rendered by Helm itself, are what Kubernetes' schemas say; their
// parts find each other, and their config is one that a gateway takes. No cluster runs here.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadConfig } from "@parley/config";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { helm } from "./helm.ts";
import { manifestFindings, manifestsOf, type Manifest } from "./manifests.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const chart = join(root, "deploy/helm/parley");

/** What of a manifest the checks below look at. */
interface Pod {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly containers: readonly [
      {
        readonly args: readonly string[];
        readonly image: string;
        readonly env: readonly { readonly name: string; readonly value?: string }[];
        readonly envFrom: readonly { readonly secretRef: { readonly name: string } }[];
        readonly volumeMounts: readonly { readonly name: string }[];
      },
    ];
    readonly volumes: readonly {
      readonly name: string;
      readonly persistentVolumeClaim?: { readonly claimName: string };
      readonly configMap?: { readonly name: string };
    }[];
  };
}
interface Labels {
  readonly [name: string]: string;
}
interface Workload extends Manifest {
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: Labels };
    readonly template: Pod;
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  };
}

const ofKind = (all: readonly Manifest[], kind: string): readonly Manifest[] =>
  all.filter((each) => each.kind === kind);
const workloads = (all: readonly Manifest[]): readonly Workload[] =>
  all.filter((each): each is Workload => each.kind === "StatefulSet" || each.kind === "Deployment");
const chooses = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

/** Names that lead nowhere, and selectors that choose no pod. */
function looseEnds(all: readonly Manifest[], given: readonly string[]): readonly string[] {
  const there = new Set([...given, ...all.map(({ kind, metadata }) => `${kind} ${metadata.name}`)]);
  const pods = workloads(all).map(({ spec }) => spec.template);
  const wanted = workloads(all).flatMap(({ spec: { template, volumeClaimTemplates = [] } }) => {
    const [container] = template.spec.containers;
    const volumes = [...template.spec.volumes, ...volumeClaimTemplates.map(({ metadata }) => metadata)];
    return [
      ...container.envFrom.map(({ secretRef }) => `Secret ${secretRef.name}`),
      ...template.spec.volumes.flatMap(({ persistentVolumeClaim: claim, configMap }) => [
        ...(claim === undefined ? [] : [`PersistentVolumeClaim ${claim.claimName}`]),
        ...(configMap === undefined ? [] : [`ConfigMap ${configMap.name}`]),
      ]),
      ...container.volumeMounts
        .filter(({ name }) => !volumes.some((volume) => volume.name === name))
        .map(({ name }) => `volume ${name}`),
    ];
  });
  const selectors = [
    ...workloads(all).map(({ spec }) => spec.selector.matchLabels),
    ...ofKind(all, "Service").map(({ spec }) => (spec as { readonly selector: Labels }).selector),
    ...ofKind(all, "PodDisruptionBudget").map((each) => (each as Workload).spec.selector.matchLabels),
  ];
  return [
    ...wanted.filter((name) => !there.has(name)),
    ...selectors
      .filter((selector) => !pods.some(({ metadata }) => chooses(selector, metadata.labels)))
      .map((selector) => JSON.stringify(selector)),
  ];
}

/** The config of the ConfigMap, taken as a gateway in the pod would. */
async function configOf(all: readonly Manifest[], env: Labels) {
  const [{ data }] = ofKind(all, "ConfigMap") as unknown as readonly [{ readonly data: Labels }];
  const home = "/var/lib/parley";
  const readFile = async (path: string): Promise<string | null> =>
    path === `${home}/parley.json5` ? (data["parley.json5"] ?? null) : null;
  return loadConfig({ env: { PARLEY_HOME: home, ...env }, home, readFile });
}

const secrets = {
  PARLEY_TOKEN: "a-token-of-forty-characters-or-so-0123456",
  REDIS_URL: "redis://redis:6379/0",
  TELEGRAM_BOT_TOKEN: "4242:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
};

test("deploy/kubernetes.yaml is what Kubernetes takes, and its config what a gateway takes", async () => {
  const all = manifestsOf(readFileSync(join(root, "deploy/kubernetes.yaml"), "utf8"));
  expect(manifestFindings(all)).toEqual([]);
  expect(looseEnds(all, ["Secret parley"])).toEqual([]);
  expect((await configOf(all, secrets)).config.store.driver).toBe("redis");
});

test("a field that Kubernetes does not have, and one of another form, are found", () => {
  const [claim] = ofKind(
    manifestsOf(readFileSync(join(root, "deploy/kubernetes.yaml"), "utf8")),
    "PersistentVolumeClaim",
  );
  const spec = claim?.["spec"] as object;
  const wrong = { ...(claim as Manifest), spec: { ...spec, acessModes: [] } };
  expect(manifestFindings([wrong]).join()).toMatch(/"acessModes"' does not exist/);
  const worse = { ...(claim as Manifest), spec: { ...spec, resources: { requests: { storage: "much" } } } };
  expect(manifestFindings([worse]).join()).toContain("storage");
});

describe("the chart", () => {
  let program = "";
  let folder = "";
  beforeAll(async () => {
    program = await helm();
    folder = await mkdtemp(join(tmpdir(), "parley-chart-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function run(
    command: string,
    values: object,
  ): Promise<{ status: number | null; out: string; err: string }> {
    const file = join(folder, "values.yaml");
    await writeFile(file, stringify(values));
    const name = command === "lint" ? ["--strict"] : ["my", "--namespace", "chat"];
    const args = [...command.split(" "), ...name, chart, "--values", file];
    const env = { PATH: "/usr/bin:/bin", HOME: folder };
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", env });
    return { status, out: stdout, err: stderr };
  }

  async function rendered(values: object): Promise<readonly Manifest[]> {
    expect(await run("lint", values)).toMatchObject({ status: 0 });
    const { status, out, err } = await run("template", values);
    expect([status, err]).toEqual([0, ""]);
    return manifestsOf(out);
  }

  const names = (all: readonly Manifest[]): readonly string[] =>
    all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted();

  test("as it comes, is one gateway on a volume of its own, with a token of its own", async () => {
    const all = await rendered({});
    expect(manifestFindings(all)).toEqual([]);
    expect(looseEnds(all, [])).toEqual([]);
    expect(names(all)).toEqual([
      "ConfigMap my-parley",
      "Secret my-parley",
      "Service my-parley",
      "StatefulSet my-parley",
    ]);
    const [{ stringData }] = ofKind(all, "Secret") as unknown as readonly [{ readonly stringData: Labels }];
    expect(stringData).toEqual({ PARLEY_TOKEN: expect.stringMatching(/^\w{40}$/) });
    const { config } = await configOf(all, stringData);
    expect([config.gateway.bind, config.store.driver]).toEqual(["lan", "sqlite"]);
    expect(config.gateway.allowedHosts).toContain("my-parley.chat.svc");
    const [{ spec }] = workloads(all) as readonly [Workload];
    const version = (
      JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string }
    ).version;
    expect([spec.replicas, spec.template.spec.containers[0].image]).toEqual([1, `parley:${version}`]);
    expect((await run("install --dry-run=client", {})).out).toContain(
      "exec statefulset/my-parley -- parley status",
    );
  });

  test("takes what is there: a secret, a claim, hosts, pods beside it; and every key of the config", async () => {
    const all = await rendered({
      fullnameOverride: "gate",
      imagePullSecrets: [{ name: "registry" }],
      image: { repository: "mine/parley", tag: "7" },
      secret: { existing: "keys" },
      persistence: { existingClaim: "old-home" },
      config: {
        gateway: { allowedHosts: ["localhost", "chat.example.org"] },
        models: {
          providers: {
            lab: {
              api: "openai-completions",
              baseUrl: "http://lab/v1",
              apiKey: { env: "LAB_KEY" },
              models: [{ id: "m1" }],
            },
          },
        },
        agents: { defaults: { model: { primary: "lab/m1" } } },
        channels: { telegram: { botToken: { env: "TELEGRAM_BOT_TOKEN" } } },
      },
      ingress: { enabled: true, className: "nginx", hosts: ["chat.example.org"], tlsSecret: "chat-tls" },
      networkPolicy: { enabled: true, from: [{ namespaceSelector: { matchLabels: { name: "ingress" } } }] },
      service: { type: "NodePort", port: 80, annotations: { a: "b" } },
      extraEnv: [{ name: "TZ", value: "Europe/Berlin" }],
      podLabels: { team: "a" },
      podAnnotations: { note: "b" },
      nodeSelector: { disk: "fast" },
      tolerations: [{ key: "only", operator: "Exists", effect: "NoSchedule" }],
      affinity: { nodeAffinity: {} },
    });
    expect(manifestFindings(all)).toEqual([]);
    expect(looseEnds(all, ["Secret keys", "PersistentVolumeClaim old-home"])).toEqual([]);
    expect(names(all)).toEqual([
      "ConfigMap gate",
      "Ingress gate",
      "NetworkPolicy gate",
      "Service gate",
      "StatefulSet gate",
    ]);
    const { config } = await configOf(all, { ...secrets, LAB_KEY: "k" });
    expect(config.gateway.allowedHosts).toEqual(["localhost", "chat.example.org"]);
    expect(config.gateway.bind).toBe("lan");
  });

  test.each([
    { redis: { enabled: true, url: "rediss://redis:6379/0" }, persistence: { storageClass: "shared" } },
    { redis: { enabled: true }, secret: { values: { REDIS_URL: secrets.REDIS_URL } }, edge: { replicas: 1 } },
  ])("with Redis is edges and workers on one volume: %j", async (values) => {
    const all = await rendered(values);
    expect(manifestFindings(all)).toEqual([]);
    expect(looseEnds(all, [])).toEqual([]);
    expect(workloads(all).map(({ kind, metadata, spec }) => [kind, metadata.name, spec.replicas])).toEqual([
      ["Deployment", "my-parley-edge", values.edge?.replicas ?? 2],
      ["Deployment", "my-parley-worker", 2],
    ]);
    for (const { spec } of workloads(all)) expect(spec.template.spec.containers[0].args).toContain("--role");
    expect(ofKind(all, "PodDisruptionBudget").map(({ metadata }) => metadata.name)).toEqual([
      ...(values.edge === undefined ? ["my-parley-edge"] : []),
      "my-parley-worker",
    ]);
    expect((await configOf(all, secrets)).config).toMatchObject({
      store: { driver: "redis" },
      logging: { file: { enabled: false } },
    });
  });

  test.each([
    [{ replicas: 3 }, "replicas"],
    [{ image: { tagg: "1" } }, "tagg"],
    [{ edge: { replicas: 0 } }, "/edge/replicas"],
    [{ ingress: { enabled: true } }, "/ingress/hosts"],
    [{ secret: { values: { PARLEY_TOKEN: "short" } } }, "PARLEY_TOKEN"],
    [{ secret: { values: { "A KEY": "x" } } }, "A KEY"],
    [{ redis: { enabled: true } }, "redis.url"],
    [{ redis: { enabled: true, url: "http://redis" } }, "/redis/url"],
  ])("refuses %j and names it", async (values, words) => {
    const { status, err } = await run("template", values);
    expect([status, err]).toEqual([1, expect.stringContaining(words)]);
  });
});
