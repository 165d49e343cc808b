// Tells addresses that a network of one's own leads to from those of the internet.
import { isIP } from "node:net";

/** This machine, or a private network by number or bare name (a container's neighbour, localhost). */
export function isNear(url: string): boolean {
  if (!URL.canParse(url)) return true;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  if (host.includes(":")) return /^(?:::1$|f[cd]|fe80:)/i.test(host);
  if (!host.includes(".")) return true;
  return isIP(host) !== 0 && /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/.test(host);
}
