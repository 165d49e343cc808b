// What a browser gives to the page of a device, without one: a store, locks, notifications, pushes, and lines
// to a gateway that answers as the test says.
import { onTestFinished, vi } from "vitest";
import { memoryStorage } from "../fake-gateway.ts";

export const settle = async (turns = 6): Promise<void> => {
  for (let turn = 0; turn < turns; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** An answer of the gateway: what it returns, what it refuses with, or a line that breaks. */
type Answer = (method: string, params: never) => unknown;
export const cut = Symbol("the line breaks");
export const refusal = (code: string, message: string): object => ({ refused: { code, message } });

export interface FakeLine {
  /** Every request, with its parameters. */
  readonly asked: string[];
  readonly addresses: string[];
  answer: Answer;
  isDown: boolean;
  tell(event: string, payload: object): void;
  /** Ends every open line. */
  end(): void;
  /** Lines that stand open. */
  open(): number;
}

export function fakeLine(answer: Answer): FakeLine {
  const sockets = new Set<Socket>();
  const line: FakeLine = {
    asked: [],
    addresses: [],
    answer,
    isDown: false,
    tell(event, payload) {
      for (const socket of sockets) socket.hear({ type: "event", event, payload });
    },
    end() {
      for (const socket of sockets) socket.close();
    },
    open: () => sockets.size,
  };
  class Socket extends EventTarget {
    static readonly OPEN = 1;
    readyState = 0;
    constructor(address: string) {
      super();
      line.addresses.push(address);
      setImmediate(() => {
        if (line.isDown) return this.close();
        this.readyState = 1;
        sockets.add(this);
        return this.dispatchEvent(new Event("open"));
      });
    }
    hear(frame: object): void {
      this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(frame) }));
    }
    send(text: string): void {
      const { id, method, params } = JSON.parse(text) as { id: string; method: string; params: never };
      const { protocol: _, client: _client, ...told } = params as { protocol?: object; client?: object };
      line.asked.push(`${method} ${JSON.stringify(told)}`);
      const answered = line.answer(method, params);
      setImmediate(() => {
        if (answered === cut) return this.close();
        const { refused } = (answered ?? {}) as { refused?: object };
        return this.hear(
          refused === undefined
            ? { type: "res", id, ok: true, payload: answered }
            : { type: "res", id, ok: false, error: refused },
        );
      });
    }
    close(): void {
      if (this.readyState === 3) return;
      this.readyState = 3;
      sockets.delete(this);
      this.dispatchEvent(new Event("close"));
    }
  }
  stub({ WebSocket: Socket });
  return line;
}

/** Gives globals to this test alone. */
export function stub(globals: { readonly [name: string]: unknown }): void {
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
  onTestFinished(() => void vi.unstubAllGlobals());
}

/** A store of a browser: it holds over several openings, and its transactions end after their requests. */
function memoryDb(): object {
  const stores = new Map<string, Map<string, unknown>>();
  const asking = (result: unknown): EventTarget & { result: unknown } => {
    const request = Object.assign(new EventTarget(), { result });
    setImmediate(() => request.dispatchEvent(new Event("success")));
    return request;
  };
  const storeOf = (rows: Map<string, unknown>): object => ({
    get: (key: string) => asking(rows.get(key)),
    getAll: () => asking([...rows.keys()].toSorted().map((key) => rows.get(key))),
    put: (value: unknown, key: string) => asking(rows.set(key, structuredClone(value))),
    delete: (key: string) => asking(rows.delete(key)),
    clear: () => asking(rows.clear()),
    openCursor() {
      const left = [...rows];
      const next = (): unknown => {
        const [key, value] = left.shift() ?? [];
        if (key === undefined) return null;
        return {
          value,
          delete: () => void rows.delete(key),
          continue() {
            request.result = next();
            request.dispatchEvent(new Event("success"));
          },
        };
      };
      const request = asking(next());
      return request;
    },
  });
  return {
    open(name: string, version: number) {
      const db = {
        name,
        version,
        createObjectStore: (store: string) => stores.set(store, new Map()),
        transaction(store: string) {
          const change = Object.assign(new EventTarget(), {
            objectStore: () => storeOf(stores.get(store) ?? new Map()),
          });
          setImmediate(() => setImmediate(() => change.dispatchEvent(new Event("complete"))));
          return change;
        },
      };
      const request = Object.assign(new EventTarget(), { result: db });
      setImmediate(() => {
        if (stores.size === 0) request.dispatchEvent(new Event("upgradeneeded"));
        request.dispatchEvent(new Event("success"));
      });
      return request;
    },
  };
}

export interface Shown {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly data: object;
}

/** What a page or a worker finds in a browser that can do all of it. */
export function wholeBrowser(more: { readonly platform?: string } = {}) {
  const held = new Set<string>();
  const locks = {
    async request(
      name: string,
      _options: object,
      act: (lock: object | null) => Promise<void>,
    ): Promise<void> {
      if (held.has(name)) return act(null);
      held.add(name);
      return act({ name }).finally(() => held.delete(name));
    },
  };
  const navigator = {
    platform: more.platform ?? "Linux",
    locks,
    serviceWorker: {},
    clipboard: {},
    geolocation: {},
    mediaDevices: { getUserMedia: () => {} },
  };
  const sessionStorage = memoryStorage();
  const Notification = { permission: "granted" };
  stub({
    navigator,
    sessionStorage,
    Notification,
    window: { Notification, MediaRecorder: {} },
    isSecureContext: true,
    indexedDB: memoryDb(),
    location: { host: "host.example", href: "https://host.example/under/device.html" },
  });
  return { navigator, sessionStorage, Notification, held };
}
