// Shows an agent's canvas to whoever has a link. The page runs in a frame with an origin of its own; this
// viewer trades the link's code, follows changes, runs the agent's scripts in the frame and passes on what is
// pressed there, each press under a key of its own, so that a repeat is the same message.
import { canvasRuns, canvasSends, sleep, systemClock, systemIds } from "@parley/protocol";

interface State {
  readonly shown: boolean;
  readonly mark: string;
  readonly presses: boolean;
  readonly title?: string;
  readonly version?: number;
  readonly scripts?: readonly string[];
}

interface Access {
  readonly token: string;
  readonly page: string;
}

const storeKey = "parley.canvas";
const retryMs = 2_000;
const pressRetries = 5;
const [clock, ids] = [systemClock(), systemIds()];

export async function view(stage: HTMLElement, status: HTMLElement): Promise<void> {
  const say = (text: string): void => void (status.textContent = text);
  const access = await accessOf(say);
  if (access === null) return;
  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`canvas/${path}`, {
      ...init,
      headers: { authorization: `Bearer ${access.token}`, "content-type": "application/json" },
    });

  let frame: HTMLIFrameElement | null = null;
  let version = -1;
  let ran = 0;
  addEventListener("message", (event) => {
    const data = event.data as { readonly type?: unknown; readonly value?: unknown } | null;
    if (frame === null || event.source !== frame.contentWindow || data?.type !== canvasSends) return;
    void press(data.value);
  });

  async function press(value: unknown): Promise<void> {
    const body = JSON.stringify({ key: ids.uuid(), value: value ?? null });
    for (let tries = 0; tries < pressRetries; tries += 1) {
      try {
        const answer = await call("event", { method: "POST", body });
        if (answer.ok) return say("");
        if (answer.status !== 503) return say(((await answer.json()) as { error: string }).error);
      } catch {
        // The gateway restarts or the network is away; the same key is the same press.
      }
      say("Sending…");
      await sleep(clock, retryMs);
    }
    say("It could not be sent. Press again.");
  }

  async function show({ shown, title = "Canvas", version: now = 0, scripts = [] }: State): Promise<void> {
    document.title = title;
    if (!shown) {
      frame?.remove();
      frame = null;
      version = -1;
      return say("Nothing is shown now.");
    }
    if (frame === null || now !== version) {
      const next = document.createElement("iframe");
      next.title = title;
      next.setAttribute("sandbox", "allow-scripts");
      next.setAttribute("referrerpolicy", "no-referrer");
      const loaded = new Promise((resolve) => next.addEventListener("load", resolve, { once: true }));
      next.src = `canvas/page/${access?.page}?v=${now}`;
      stage.replaceChildren(next);
      frame = next;
      version = now;
      ran = 0;
      await loaded;
    }
    for (const script of scripts.slice(ran))
      frame.contentWindow?.postMessage({ type: canvasRuns, script }, "*");
    ran = scripts.length;
    say("");
  }

  for (let seen = ""; ;) {
    try {
      const answer = await call(`state?seen=${encodeURIComponent(seen)}`);
      if (answer.status === 401) return say("This link is no longer good: ask for another.");
      if (answer.ok) {
        const state = (await answer.json()) as State;
        if (state.mark !== seen) await show(state);
        seen = state.mark;
        continue;
      }
    } catch {
      // Offline: what is shown stays.
    }
    await sleep(clock, retryMs);
  }
}

/** The tab keeps its access over reloads; a code works once. */
async function accessOf(say: (text: string) => void): Promise<Access | null> {
  const code = location.hash.slice(1);
  const kept = sessionStorage.getItem(storeKey);
  if (code === "") {
    if (kept !== null) return JSON.parse(kept) as Access;
    say("Open the link that the agent sent you.");
    return null;
  }
  const answer = await fetch("canvas/open", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  history.replaceState(null, "", location.pathname);
  if (!answer.ok) {
    say(((await answer.json()) as { error: string }).error);
    return null;
  }
  const access = (await answer.json()) as Access;
  sessionStorage.setItem(storeKey, JSON.stringify(access));
  return access;
}
