// A server's refusal in the form of the SDKs' own errors, which classify.ts reads.
import { isObject, jsonIn } from "../sdk/json.ts";
import type { Head } from "./post.ts";

export class Refused extends Error {
  override readonly name = "Refused";
  readonly statusCode: number;
  readonly responseBody: string;
  readonly responseHeaders: { readonly [name: string]: string };

  constructor({ status, statusText, headers }: Head, body: string) {
    super(messageIn(body) ?? (statusText || `HTTP ${status}`));
    this.statusCode = status;
    this.responseBody = body;
    this.responseHeaders = headers;
  }
}

/** All these APIs put their words at the same place; Ollama's have no object around them. */
function messageIn(body: string): string | undefined {
  const value = jsonIn(body);
  const error = isObject(value) ? value["error"] : undefined;
  const message = isObject(error) ? error["message"] : error;
  return typeof message === "string" && message !== "" ? message : undefined;
}
