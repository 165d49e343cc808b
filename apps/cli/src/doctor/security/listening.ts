// Checks who reaches the gateway itself: its tokens, its address, the names and proxies that it believes.
import { isLoopbackBind, tokenWeakness, type Config } from "@parley/config";
import { error, warn, type Finding } from "../finding.ts";
import { isNear } from "./near.ts";

export function listeningFindings({ gateway, hooks }: Config): readonly Finding[] {
  const token = gateway.auth.token?.reveal();
  // Beyond loopback such a config is refused.
  const weakness = token === undefined ? null : tokenWeakness(token);
  const wide = gateway.trustedProxies.filter((network) => /\/[0-7]$/.test(network));
  return [
    ...(weakness === null
      ? []
      : [
          error(
            "gateway.token.weak",
            `gateway.auth.token gives full control and can be guessed: ${weakness}`,
            "Run `parley config unset gateway.auth.token`: a random one is then made",
          ),
        ]),
    ...hookTokenFindings(gateway, hooks),
    ...(!isLoopbackBind(gateway.bind)
      ? [
          warn(
            "gateway.bind",
            `gateway.bind "${gateway.bind}" lets other machines reach the control plane, without encryption`,
            'Use "loopback" behind a reverse proxy with TLS, or a VPN',
          ),
        ]
      : []),
    ...(gateway.allowedHosts.includes("*")
      ? [
          error(
            "gateway.allowed-hosts",
            'gateway.allowedHosts has "*": any web page may then reach the gateway by another name',
            "List the names of your proxy instead",
          ),
        ]
      : []),
    ...(wide.length > 0
      ? [
          error(
            "gateway.trusted-proxies",
            `gateway.trustedProxies has ${wide.join(", ")}: strangers may then say that they are anybody`,
            "List the addresses of your proxies",
          ),
        ]
      : []),
    ...(gateway.metrics.openOnLoopback && gateway.trustedProxies.length > 0
      ? [
          warn(
            "gateway.metrics-open",
            "gateway.metrics.openOnLoopback is set behind a proxy: one that does not say for whom it asks shows everybody the metrics",
            "Run `parley config unset gateway.metrics.openOnLoopback`, and give the scraper a token",
          ),
        ]
      : []),
    ...(gateway.publicUrl?.startsWith("http://") === true && !isNear(gateway.publicUrl)
      ? [
          warn(
            "gateway.public-plain",
            `gateway.publicUrl ${gateway.publicUrl} is not encrypted: codes and tokens travel readable`,
            "Put TLS before the gateway, and write https",
          ),
        ]
      : []),
  ];
}

/** Where only this machine reaches the port, the config's own warning about a weak one is enough. */
function hookTokenFindings(
  gateway: Config["gateway"],
  { token, endpoints, mappings }: Config["hooks"],
): Finding[] {
  const isReached =
    !isLoopbackBind(gateway.bind) || gateway.trustedProxies.length > 0 || gateway.publicUrl !== undefined;
  const control = gateway.auth.token?.reveal();
  const callers = [
    ...Object.entries(endpoints).map(([name, each]) => [`hooks.endpoints.${name}`, each] as const),
    ...mappings.map((each, index) => [`hooks.mappings[${index}]`, each] as const),
  ];
  const held = [
    { at: "hooks.token", secret: token?.reveal() },
    ...callers.flatMap(([at, each]) =>
      (["token", "secret"] as const).map((key) => ({ at: `${at}.${key}`, secret: each[key]?.reveal() })),
    ),
  ];
  const fix = "Write what `openssl rand -hex 32` prints";
  return held.flatMap(({ at, secret }): Finding[] => {
    if (secret === undefined) return [];
    if (secret === control)
      return [
        error(
          "hooks.token.reused",
          `${at} is gateway.auth.token: who may call a webhook may do everything`,
          fix,
        ),
      ];
    const weakness = isReached ? tokenWeakness(secret) : null;
    return weakness === null
      ? []
      : [
          error(
            "hooks.token.weak",
            `${at} lets other machines make the agent work, and can be guessed: ${weakness}`,
            fix,
          ),
        ];
  });
}
