// Lists signs that an operator should see before trusting somebody else's skill: the marks of campaigns that
// hid malware in skills. They only describe the text; authority comes from tool policy and approvals, and no
// list of patterns would be enough for it.

interface Suspicion {
  readonly pattern: RegExp;
  readonly words: string;
}

const suspicions: readonly Suspicion[] = [
  {
    pattern: /\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n|]{0,300}\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b/i,
    words: "pipes a download into a shell",
  },
  {
    pattern:
      /\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod)\b[^\n|]{0,300}\|\s*(?:python3?|node|perl|ruby|php|iex|invoke-expression)\b/i,
    words: "pipes a download into an interpreter",
  },
  {
    pattern: /(?:ba|z|da|k)?sh\s+(?:-c\s+)?["']?(?:<\(|\$\(|`)\s*(?:curl|wget)\b/i,
    words: "runs what it downloads",
  },
  {
    pattern: /\bbase64\s+(?:-d|-D|--decode)\b|\bfromBase64String\b|\batob\s*\(|\bb64decode\s*\(/i,
    words: "decodes hidden text",
  },
  { pattern: /[A-Za-z0-9+/]{200,}={0,2}/, words: "carries a long encoded text" },
  { pattern: /\bhttps?:\/\/\d{1,3}(?:\.\d{1,3}){3}\b/i, words: "calls a bare IP address" },
  {
    pattern:
      /\b(?:pastebin\.com|rentry\.(?:co|org)|glot\.io|hastebin\.com|transfer\.sh|0x0\.st|file\.io|anonfiles\.com|webhook\.site|ngrok(?:-free)?\.(?:io|app|dev))\b/i,
    words: "names a host for throw-away files",
  },
  {
    pattern:
      /\b(?:unzip\s+-P|7z\s+x\s+-p|(?:zip|archive)[^\n]{0,60}\bpassword\b|password[^\n]{0,60}\b(?:zip|archive)\b)/i,
    words: "wants an archive opened with a password",
  },
  {
    pattern:
      /\bxattr\s+-\w*[cd]\w*\b|\bcom\.apple\.quarantine\b|\bSet-ExecutionPolicy\b|\bspctl\s+--master-disable\b/i,
    words: "switches off a protection of the system",
  },
  {
    pattern:
      /\b(?:ignore|disregard|forget)\b[^\n.]{0,40}\b(?:previous|prior|above|earlier|system)\b[^\n.]{0,30}\b(?:instructions?|prompts?|rules?)\b/i,
    words: "tells the agent to ignore its instructions",
  },
  {
    pattern: /\bdo not (?:tell|inform|mention|show)\b[^\n.]{0,40}\b(?:user|owner|operator|human)\b/i,
    words: "tells the agent to keep something from its people",
  },
  {
    pattern:
      /(?:~|\$HOME|\/home\/\w+|\/Users\/\w+|\/root)\/\.(?:ssh|aws|gnupg|config\/gcloud|kube|parley|openclaw|docker)\b/i,
    words: "reaches for credentials or Parley's own state",
  },
  {
    pattern: /[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\u{e0000}-\u{e007f}]/u,
    words: "has invisible characters in its text",
  },
];

/** In the order of the list, each at most once. */
export function riskSignsIn(text: string): readonly string[] {
  return suspicions.filter(({ pattern }) => pattern.test(text)).map(({ words }) => words);
}
