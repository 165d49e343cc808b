// A real browser for tests and for the README's picture: Debian's Chromium, driven by playwright-core, kept
// from calling home.
import { chromium, type Browser } from "playwright-core";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function openBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: flags, headless: true });
}
