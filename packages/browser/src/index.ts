// Chromium for agents: found on this machine, driven by playwright-core, started at the first call.
export { browsers, type Browsers } from "./browsers.ts";
export type { BrowserRequest } from "./browser-request.ts";
export { renderPage } from "./render.ts";
