// gateway.*: where the control plane listens and who may use it.
import { isIP } from "node:net";
import { z } from "zod";
import { secretField } from "./fields.ts";

const hostForm = "a host name or IP address, without scheme and port";

export const gatewaySchema = z
  .strictObject({
    port: z
      .number()
      .int()
      .min(0)
      .max(65_535)
      .default(7275)
      .describe("Port of the web chat, the CLI and health checks; 0 takes any free one."),
    bind: z
      .string()
      .refine((value) => value === "loopback" || value === "lan" || isIP(value) !== 0, {
        error: '"loopback", "lan" (every interface) or an IP address',
      })
      .default("loopback")
      .describe(
        'Where to listen: "loopback", "lan" (every interface) or an IP address. Beyond loopback auth.token must be set, and random.',
      ),
    auth: z
      .strictObject({
        token: secretField(
          "The gateway's token. Without one, a random token is kept in the state folder.",
        ).exactOptional(),
      })
      .prefault({})
      .describe("Who may use the control plane."),
    publicUrl: z
      .url({ protocol: /^https?$/, error: "must be an http or https URL" })
      .refine((url) => !/[?#]/.test(url), {
        error: "links begin with it, so it has no query and no fragment",
      })
      .exactOptional()
      .describe(
        "Address under which people reach the gateway, for links in chats, such as https://parley.example.org/. Its host is allowed as one of allowedHosts. Without it chats get no links.",
      ),
    allowedHosts: z
      .array(
        z
          .string()
          .regex(/^[a-z0-9.:[\]-]+$/i, { error: hostForm, abort: true })
          .refine((host) => /^[a-z0-9.-]*$/i.test(host) || isIP(host.replace(/^\[(.+)\]$/, "$1")) === 6, {
            error: hostForm,
          }),
      )
      .default([])
      .describe(
        "Host names, besides loopback and the bound address, under which browsers may reach the gateway.",
      ),
    trustedProxies: z
      .array(
        z
          .string()
          .refine(isNetwork, { error: 'an IP address or a network such as "10.0.0.0/8", not all of them' }),
      )
      .default([])
      .describe(
        "Reverse proxies in front of the gateway. Of a request that one of them passes on, X-Forwarded-For says who asks; from anybody else it says nothing.",
      ),
    metrics: z
      .strictObject({
        enabled: z.boolean().default(true).describe("Whether /metrics answers."),
        openOnLoopback: z
          .boolean()
          .default(false)
          .describe(
            "Whether programs on this machine may read /metrics without a token. Not behind a proxy: there everybody comes from here.",
          ),
      })
      .prefault({})
      .describe("Numbers for Prometheus at /metrics, for holders of a token that may read."),
  })
  .prefault({})
  .describe("The control plane: web chat, CLI, health.");

/** A network of every address would let everybody say who he is. */
function isNetwork(text: string): boolean {
  const [address = "", prefix, ...more] = text.split("/");
  const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 && !address.includes("%") ? 128 : 0;
  if (bits === 0 || more.length > 0) return false;
  return prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits);
}
