// The config says here whether traces of messages go to an OpenTelemetry collector, and to which.
import { z } from "zod";
import { secretField } from "./fields.ts";

export const telemetrySchema = z
  .strictObject({
    traces: z
      .strictObject({
        endpoint: z
          .url({ protocol: /^https?$/, error: "not an address that begins with http:// or https://" })
          .max(2_048)
          .describe(
            "The collector's address for OTLP over HTTP, for example http://127.0.0.1:4318; without a path, /v1/traces is asked.",
          ),
        headers: z
          .record(
            z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, { error: "not the name of a header" }),
            secretField("Its value."),
          )
          .default({})
          .describe('Headers of every request to it, for example { Authorization: { env: "COLLECTOR" } }.'),
        sampleRatio: z
          .number()
          .min(0)
          .max(1)
          .default(1)
          .describe(
            "The part of all messages that is traced, from 0 to 1; a message is traced whole or not.",
          ),
        serviceName: z.string().min(1).max(255).default("parley").describe("The service.name of the spans."),
        includeContent: z
          .boolean()
          .default(false)
          .describe("Whether spans also have what people, models and tools said. Off: no word of them."),
      })
      .exactOptional()
      .describe("Traces by OpenTelemetry: one of each message. Absent: none."),
  })
  .prefault({})
  .describe("What the gateway tells others of its work.");
