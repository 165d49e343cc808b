// store.*: where what must not be lost is kept.
import { z } from "zod";
import { secretField } from "./fields.ts";

const pemFile = (what: string) => z.string().min(1).exactOptional().describe(`File with ${what}, PEM.`);

const redisSchema = z
  .strictObject({
    url: secretField(
      'Address of the one primary: "redis://user:password@host:6379/0", "rediss://…" for TLS, or the path of a Unix socket. No cluster.',
    ),
    keyPrefix: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, { error: 'a prefix has letters, digits, "_" and "-", at most 64' })
      .default("parley")
      .describe(
        "Begins the name of every key; gateways that work together have the same, strangers on one Redis have different ones.",
      ),
    tls: z
      .strictObject({
        caFile: pemFile(
          "the authority that signed the server's certificate, when it is none of the public ones",
        ),
        certFile: pemFile("our certificate, when the server asks for one"),
        keyFile: pemFile("the key of our certificate"),
      })
      .exactOptional()
      .describe("Certificates of an encrypted connection."),
    acceptDataLoss: z
      .boolean()
      .default(false)
      .describe(
        "Whether to start on a Redis that may forget messages, because it evicts keys or has no append-only file. For trying things out.",
      ),
  })
  .exactOptional()
  .describe('The Redis of the driver "redis".');

export const storeSchema = z
  .strictObject({
    driver: z
      .enum(["sqlite", "redis"])
      .default("sqlite")
      .describe(
        'Where messages are kept: "sqlite" in state.db in the state folder, "redis" in a Redis that several gateways may share.',
      ),
    redis: redisSchema,
  })
  .prefault({})
  .describe("The durable store.");
