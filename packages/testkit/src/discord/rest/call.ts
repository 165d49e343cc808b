// Defines one REST call: what a route receives, what it may answer, and what the record keeps of it.
import type { UploadedFile } from "../../telegram/body.ts";
import type { Bot } from "../model.ts";
import type { World } from "../world.ts";
import type { FormName } from "./form.ts";

/** One call that reached the server. */
export interface DiscordCall {
  /** As `POST /channels/:channel/messages`; the path itself when no route fits. */
  readonly route: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly token: string;
  readonly body: any;
  /** Names of uploaded files by field. */
  readonly files: Readonly<Record<string, string>>;
  /** Tells connections apart: calls over one keep-alive socket share it. */
  readonly connection: number;
  readonly atMs: number;
  /**
   * Whether the server acted, and what it answered; absent while it works or when a fault swallowed the
   * answer.
   */
  acted: boolean;
  status?: number;
  answer?: any;
}

export interface RouteCall<Body = any> {
  readonly state: World;
  /** Of interaction callbacks and webhooks: the bot that the token stands for. */
  readonly bot: Bot;
  readonly params: { readonly [name: string]: string };
  readonly query: URLSearchParams;
  /** Checked against the route's form. */
  readonly body: Body;
  readonly files: readonly { readonly index: number; readonly file: UploadedFile }[];
  readonly options: RestOptions;
  readonly violations: string[];
  /** Returns a bot's answer of /gateway/bot. */
  readonly gatewayBot: (bot: Bot) => unknown;
}

export interface RestOptions {
  /**
   * How long a nonce is remembered; 0 as a server that does not know nonces. Discord says "the past few
   * minutes".
   */
  readonly nonceWindowMs: number;
  /** Bytes of one file in direct channels and unboosted guilds. */
  readonly uploadBytes: number;
}

export interface RateLimit {
  readonly calls: number;
  readonly perMs: number;
}

export interface Route {
  /**
   * What the body must be, by its name in Discord's API description. Several: which one depends on the call.
   */
  readonly form?: FormName | ((call: RouteCall) => FormName | null);
  /** Discord does not publish its limits: these are what clients see in practice. */
  readonly limit?: RateLimit;
  /** The token stands in the path, no Authorization is needed. */
  readonly isOpen?: boolean;
  /** Routes with one name share a bucket. */
  readonly bucket?: string;
  /** undefined answers 204. */
  readonly run: (call: RouteCall) => unknown;
}

export type Routes = { readonly [route: string]: Route };

/** An answer with another status than 200. */
export class Answer {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    this.status = status;
    this.body = body;
  }
}
