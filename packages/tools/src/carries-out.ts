// Judges whether opening an address would carry data out to a host that nobody but strangers named: what a
// text of theirs may have talked the model into. An address that stands word for word in what was read or
// said carries nothing that the model added.
import type { Heard } from "./tool.ts";

/** Longer than the names that pages have, and short for a secret. */
const most = { pathChars: 64, labelChars: 24, labels: 5 };

export function carriesOut(text: string, { trusted, read }: Heard): boolean {
  const url = URL.parse(text);
  // Others have no host to look for, and are refused where they are dialled.
  if (url === null || url.hostname === "") return false;
  if (!hasData(url)) return false;
  const host = url.hostname.replace(/\.$/, "");
  if (isNamed(host, trusted)) return false;
  return ![...trusted, ...read].some((said) => standsIn(said, text));
}

function hasData({ search, hostname, pathname }: URL): boolean {
  const labels = hostname.split(".");
  return (
    search.length > 1 ||
    pathname.length > most.pathChars ||
    labels.length > most.labels ||
    labels.some((label) => label.length > most.labelChars)
  );
}

/** True for a host that people named, or a call before the turn read anything. */
export function isNamed(host: string, trusted: Heard["trusted"]): boolean {
  // Nobody names a host without a name, as that of http://./ or of a blank page.
  return host !== "" && trusted.some((said) => names(said, host));
}

/** Whole: `evil.example.org` does not name `example.org`, nor does `example.org.evil.test`. */
function names(said: string, host: string): boolean {
  const lower = said.toLowerCase();
  for (let at = lower.indexOf(host); at >= 0; at = lower.indexOf(host, at + 1)) {
    const before = lower[at - 1] ?? " ";
    const after = lower.slice(at + host.length, at + host.length + 2);
    if (!/[a-z0-9.-]/.test(before) && !/^(?:[a-z0-9-]|\.[a-z0-9-])/.test(after)) return true;
  }
  return false;
}

/** The whole address, not the beginning of a longer one nor with something added. */
function standsIn(said: string, url: string): boolean {
  for (let at = said.indexOf(url); at >= 0; at = said.indexOf(url, at + 1)) {
    const after = said[at + url.length] ?? " ";
    if (/[\s)\]>"'<,;.]/.test(after)) return true;
  }
  return false;
}
