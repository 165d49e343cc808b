// Defines what all viewers of a canvas agree on: the policy that its page is served under, and the bridge
// inside it by which the page sends values and takes scripts.

/**
 * Scripts may run, and nothing leaves: no network, no forms, no storage (the sandbox gives the page an origin
 * of its own), no frame around it but ours.
 */
export const canvasPolicy = [
  "sandbox allow-scripts",
  "default-src 'none'",
  "script-src 'unsafe-inline' data:",
  "style-src 'unsafe-inline' data:",
  "img-src data: blob:",
  "media-src data: blob:",
  "font-src data:",
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-src 'none'",
  "frame-ancestors 'self'",
  "webrtc 'block'",
].join("; ");

/** What the ids of messages begin with that were pressed in a canvas: no platform has them. */
export const canvasMessage = "canvas:";

/** A message from the page to its viewer. */
export const canvasSends = "parley-canvas-send";
/** A message from the viewer to the page: run this script. */
export const canvasRuns = "parley-canvas-run";

const bridge = `<script>(() => {
  const send = (value) => parent.postMessage({ type: "${canvasSends}", value }, "*");
  Object.defineProperty(window, "parley", { value: Object.freeze({ send }) });
  addEventListener("message", (event) => {
    if (event.source !== parent || event.data?.type !== "${canvasRuns}") return;
    const script = document.createElement("script");
    script.textContent = event.data.script;
    document.documentElement.append(script);
    script.remove();
  });
  addEventListener("submit", (event) => event.preventDefault(), true);
  addEventListener("click", (event) => {
    const pressed = event.target instanceof Element ? event.target.closest("[data-event]") : null;
    if (pressed === null) return;
    const form = pressed.closest("form");
    const fields = form === null ? {} : { fields: Object.fromEntries([...new FormData(form)].filter(([, value]) => typeof value === "string")) };
    send({ event: pressed.dataset.event, ...fields });
  });
})();</script>`;

/** The page with the bridge before its own scripts. */
export function withBridge(html: string): string {
  const head = /<head\b[^>]*>/i.exec(html) ?? /^\s*<!doctype\b[^>]*>/i.exec(html);
  const at = head === null ? 0 : head.index + head[0].length;
  return html.slice(0, at) + bridge + html.slice(at);
}
