// The strict vendors behind one port. The first request to a vendor is answered with a thought and two calls
// side by side, the next ones with words.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "@parley/protocol";
import { vendors, type Vendor } from "./strict-vendors.ts";

export interface StrictServer {
  readonly url: string;
  /** Requests by the vendor that they were made to, in order. */
  readonly bodies: Map<string, JsonObject[]>;
  close(): Promise<void>;
}

/** Every vendor under a path of its own: `<url>/<name>`. */
export async function strictServer(): Promise<StrictServer> {
  const bodies = new Map<string, JsonObject[]>();
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      const name = decodeURIComponent((request.url ?? "").split("/")[1] ?? "") as keyof typeof vendors;
      const vendor: Vendor = vendors[name];
      const body = JSON.parse(text) as JsonObject;
      bodies.set(name, [...(bodies.get(name) ?? []), body]);
      const reason = vendor.refuses(body);
      if (reason !== null) {
        response
          .writeHead(400, { "content-type": "application/json" })
          .end(JSON.stringify({ error: { message: reason, type: "invalid_request_error" } }));
        return;
      }
      const isJson = name.startsWith("ollama");
      response.writeHead(200, { "content-type": isJson ? "application/x-ndjson" : "text/event-stream" });
      response.end(bodies.get(name)?.length === 1 ? vendor.thinksAndCalls : vendor.says);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
