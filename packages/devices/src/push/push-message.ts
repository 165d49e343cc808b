// Makes one message for a browser's push service: encrypted so that only that browser reads it (RFC 8291,
// aes128gcm), and signed so that the service knows its sender (VAPID, RFC 8292).
import { createCipheriv, createECDH, createPrivateKey, hkdfSync, sign } from "node:crypto";
import { Fault, type Ids, type PushSubscription } from "@parley/protocol";

/** A pair of P-256 keys, base64url: the point, and the number. */
export interface PushKeys {
  readonly public: string;
  readonly private: string;
}

export interface PushRequest {
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array;
}

export interface PushWords {
  readonly text: string;
  /** How long the service keeps it for a browser that is away. */
  readonly ttlSeconds: number;
  /** At most 32 characters of base64url: a later message of the same topic takes its place. */
  readonly topic: string;
  /** Where a push service finds the sender: an https address. */
  readonly contact?: string;
}

/** Services take 4,096 bytes in all; this is what is left of them, less the header, the tag and the mark. */
export const pushBytes = 4_096 - 86 - 16 - 1;
const recordBytes = 4_096;
/** At most a day (RFC 8292, 2). */
const tokenLifeMs = 12 * 3_600_000;
const pointBytes = 65;

export function newPushKeys(): PushKeys {
  const own = createECDH("prime256v1");
  own.generateKeys();
  return { public: own.getPublicKey("base64url"), private: own.getPrivateKey().toString("base64url") };
}

/** Throws Fault("invalid") for keys that are none. */
export function pushRequest(
  subscription: PushSubscription,
  words: PushWords,
  keys: PushKeys,
  { nowMs, ids }: { readonly nowMs: number; readonly ids: Pick<Ids, "code"> },
): PushRequest {
  return {
    url: subscription.endpoint,
    headers: {
      "content-type": "application/octet-stream",
      "content-encoding": "aes128gcm",
      ttl: String(Math.max(0, Math.floor(words.ttlSeconds))),
      urgency: "high",
      topic: words.topic,
      authorization: vapid(subscription.endpoint, words.contact, keys, nowMs),
    },
    body: encrypted(subscription, Buffer.from(words.text), ids),
  };
}

function encrypted({ p256dh, auth }: PushSubscription, plain: Uint8Array, ids: Pick<Ids, "code">): Buffer {
  if (plain.length > pushBytes) throw new Fault("invalid", `a push has at most ${pushBytes} bytes`);
  const theirs = Buffer.from(p256dh, "base64url");
  if (theirs.length !== pointBytes) throw new Fault("invalid", "the key of the subscription is none");
  const once = createECDH("prime256v1");
  const ours = once.generateKeys();
  let shared: Buffer;
  try {
    shared = once.computeSecret(theirs);
  } catch (cause) {
    throw new Fault("invalid", "the key of the subscription is none", { cause });
  }
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), theirs, ours]);
  const secret = derived(shared, Buffer.from(auth, "base64url"), info, 32);
  const salt = Buffer.from(ids.code("0123456789abcdef", 32), "hex");
  const key = derived(secret, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
  const nonce = derived(secret, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(recordBytes);
  return Buffer.concat([
    salt,
    size,
    Buffer.from([pointBytes]),
    ours,
    // 2 ends the last record.
    cipher.update(Buffer.concat([plain, Buffer.from([2])])),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

const derived = (secret: Buffer, salt: Buffer, info: Buffer, bytes: number): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, salt, info, bytes));

function vapid(endpoint: string, contact: string | undefined, keys: PushKeys, nowMs: number): string {
  const point = Buffer.from(keys.public, "base64url");
  const key = createPrivateKey({
    format: "jwk",
    key: {
      kty: "EC",
      crv: "P-256",
      x: point.subarray(1, 33).toString("base64url"),
      y: point.subarray(33).toString("base64url"),
      d: Buffer.from(keys.private, "base64url").toString("base64url"),
    },
  });
  const claims = {
    aud: new URL(endpoint).origin,
    exp: Math.floor((nowMs + tokenLifeMs) / 1_000),
    ...(contact === undefined ? {} : { sub: contact }),
  };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ typ: "JWT", alg: "ES256" })}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `vapid t=${signed}.${signature.toString("base64url")}, k=${keys.public}`;
}
