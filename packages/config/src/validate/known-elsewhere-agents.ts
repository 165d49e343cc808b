// Does what known-elsewhere.ts does, for the keys of agents, models, tools, skills and hooks.
import type { ConfigPath } from "../problem.ts";

type Fixes = { readonly [key: string]: string };

const later = "Remove it: this Parley does not have it yet";
const identity = "Write name and manner into IDENTITY.md and SOUL.md in the agent's workspace";
const sampling =
  "Remove it: requests go out with the provider's own sampling and cache settings; thinking is the one parameter (thinkingDefault)";
const streaming = "Use streaming of the channel";
const typing = "Remove it: typing is shown while the agent works";

const agent: Fixes = {
  blockStreamingBreak: streaming,
  blockStreamingChunk: streaming,
  blockStreamingCoalesce: streaming,
  blockStreamingDefault: streaming,
  contextInjection: "Remove it: workspace files are in every prompt, and a provider's cache keeps them cheap",
  contextTokens: "Use contextWindow of the model under models.providers",
  elevatedDefault: "Use tools.exec.mode and approvals: there is no switch that leaves the sandbox",
  envelopeTimezone: "Use userTimezone",
  humanDelay: "Remove it: answers are sent at once",
  identity,
  mediaMaxMb: "Remove it: the platform's own limits hold for files",
  name: identity,
  params: sampling,
  promptMode: "Remove it: people get the full prompt, sub-agents the minimal one",
  skipBootstrap:
    "Remove it: files that are there are never overwritten; delete BOOTSTRAP.md to end the introduction",
  systemPromptOverride:
    "Write it into AGENTS.md or SOUL.md, or change them with a hook (hooks.internal.handlers, agent:bootstrap)",
  thinkingLevel: "Use thinkingDefault",
  typingIntervalSeconds: typing,
  typingMode: typing,
  verboseDefault: "Remove it: /verbose shows tool calls, for each conversation",
};

const always = "Remove it: every search looks at the files first, and reads what changed";

const memorySync: Fixes = {
  intervalMinutes: always,
  onSessionStart: always,
  watch: always,
  watchDebounceMs: always,
};

const memorySearch: Fixes = {
  cache: "Remove it: an unchanged passage is never sent to a model twice",
  experimental: "Remove it",
  extraPaths: "Move the files into memory/ of the workspace",
  local: later,
  multimodal: later,
  store: "Remove it: the index is memory/AGENT.sqlite in the state folder",
};

const exec: Fixes = {
  applyPatch: "Remove it: apply_patch is a tool of its own; allow or deny it in tools",
  backgroundMs: "Remove it: the agent says with each command how long it waits",
  host: "Use agents.defaults.sandbox: it says where commands run",
  node: later,
  notifyOnExit: "Remove it: the agent is always told when a command ends",
  pathPrepend: "Start the gateway with the PATH that commands shall have",
  safeBins: "Use allowlist: [{ command, argPattern }]",
  timeoutSec: "Use timeoutSeconds",
};

const blocks: { readonly [block: string]: Fixes } = {
  "": {
    agent: "Use agents.defaults",
    auth: "Write a provider's key into models.providers.NAME.apiKey",
    canvasHost: later,
    env: "Set variables where the gateway is started; skills have theirs under skills.entries.NAME.env",
    identity,
    meta: "Remove it",
    plugins:
      "Remove it: tools and channels are part of Parley; hooks.internal.handlers runs code of your own",
    routing: "Use bindings",
    talk: later,
    ui: "Remove it",
    wizard: "Remove it",
  },
  agents: { entries: "Use agents.list: [{ id, … }]" },
  "agents.defaults": agent,
  "agents.defaults.compaction": {
    maxHistoryShare: "Use keepRecentTokens",
    model: "Remove it: the conversation's own model writes the summary",
    reserveTokens: "Use reserveTokensFloor",
  },
  "agents.defaults.compaction.memoryFlush": {
    prompt: "Remove it: what to keep is told by Parley; AGENTS.md may say more",
    systemPrompt: "Remove it: what to keep is told by Parley; AGENTS.md may say more",
  },
  "agents.defaults.heartbeat": {
    ackMaxChars: later,
    session: later,
    to: "Use target, with the place",
  },
  "agents.defaults.models.params": {
    cacheRetention: sampling,
    maxTokens: "Use maxTokens of the model under models.providers",
    temperature: sampling,
  },
  "agents.list": {
    ...agent,
    default: 'Call the agent "main": it answers what no binding names',
    groupChat: "Remove it: a mention, a reply or a command calls the agent",
  },
  "agents.defaults.memorySearch": memorySearch,
  "agents.defaults.memorySearch.sync": memorySync,
  "agents.list.memorySearch": memorySearch,
  "agents.list.memorySearch.sync": memorySync,
  commands: {
    allowFrom: "Use allowFrom of the channel; ownerAllowFrom names owners",
    bash: "Remove it: the agent runs commands with exec, after asking",
    config: "Use `parley config set`, or ask the agent as an owner",
    debug: "Remove it",
    native: "Remove it: the platforms' menus are always kept",
    restart: "Use `parley restart`, or ask the agent as an owner",
    text: "Remove it: commands are always understood",
    useAccessGroups: "Remove it: who may not write gives no commands either",
  },
  cron: {
    failureAlert:
      "Remove it: the second failure in a row is told where the job was made, and again after an hour; the tenth pauses the job",
    failureDestination: "Remove it: failures are told where the job was made, else to the owners",
    jobs: "Remove it: `parley cron add` makes jobs; `parley import openclaw` brings them along",
    retry: "Remove it: the next run waits 30 s, 1, 5, 15, then 60 minutes after failures",
    skipMissedJobs: "Use the job's own policy: `parley cron edit ID --misfire none` (latest, all or none)",
    store: "Remove it: jobs are kept in the gateway's store; `parley import openclaw` brings them along",
    triggers: "Remove it: for a look before a job runs, let the agent answer NO_REPLY",
    webhook: "Use `parley cron edit ID --webhook URL`, for each job that calls one",
    webhookToken:
      "Remove it: put what the receiver checks into the URL of `parley cron edit ID --webhook URL`; each call carries Idempotency-Key",
  },
  "cron.runLog": { maxBytes: "Use keepLines" },
  hooks: {
    allowRequestSessionKey: "Empty allowedSessionKeyPrefixes, and a call may name no session",
    path: "Remove it: webhooks are at /hooks/NAME",
    presets: "Use mappings: [{ match: { path }, messageTemplate }]",
    transformsDir: "Use messageTemplate: a mapping runs no code",
  },
  "hooks.internal": {
    installs: "Remove it: copy a hook's folder into hooks/ in the state folder",
  },
  logging: {
    consoleLevel: "Use level",
    consoleStyle: "Remove it: a terminal gets words, everything else JSON",
    redactPatterns: "Remove it: secrets of the config, and what looks like a key, are always hidden",
    redactSensitive: "Remove it: secrets are always hidden",
  },
  memory: { backend: later, qmd: later },
  models: { mode: "Remove it: what is declared is added to what is known" },
  "models.providers": {
    auth: "Remove it: apiKey and headers say it",
    authHeader: "Remove it: apiKey and headers say it",
  },
  "models.providers.models": {
    api: "Set api at the provider; make a second provider for another",
    name: "Remove it, or give an alias in agents.defaults.models",
  },
  skills: { install: "Use `parley skills install`; nothing in a skill is run when it is installed" },
  "skills.load": {
    watch: "Remove it: changes are seen with the next message",
    watchDebounceMs: "Remove it: changes are seen with the next message",
  },
  tools: {
    bash: "Use tools.exec",
    elevated: "Use tools.exec.mode and approvals: there is no switch that leaves the sandbox",
    loopDetection: "Remove it: calls that repeat themselves are always stopped",
    media: "Use messages.audio",
  },
  browser: {
    defaultProfile: "Remove it: each agent has a profile of its own",
    profiles: "Remove it: each agent has a profile of its own",
    ssrfPolicy: "Use tools.web.egress.allow, which holds for the browser too",
  },
  "tools.web": { x_search: "Use tools.web.search" },
  "tools.web.fetch": {
    firecrawl: "Remove it: pages are read by Parley itself",
    maxCharsCap: "Use maxChars, which no call goes beyond",
    maxResponseBytes: "Use maxBytes",
    readability: "Remove it: pages are always read as an article",
    ssrfPolicy: "Use tools.web.egress.allow",
    userAgent: "Remove it: Parley says who it is",
  },
  "tools.exec": exec,
  "agents.list.tools.exec": exec,
};

/** What to do in place of writing the key at this path; null for a key that nobody is known to have. */
export function fixOfKnownAgentKey(at: ConfigPath): string | null {
  const key = String(at.at(-1));
  const fixes = blocks[blockOf(at.slice(0, -1))];
  return fixes !== undefined && Object.hasOwn(fixes, key) ? (fixes[key] ?? null) : null;
}

/** The block's name without the names that somebody chose: the same for each agent, provider and model. */
function blockOf(at: ConfigPath): string {
  const chosen =
    at[0] === "models" && at[1] === "providers"
      ? 2
      : at[0] === "agents" && at[1] === "defaults" && at[2] === "models"
        ? 3
        : -1;
  return at.filter((step, index) => typeof step === "string" && index !== chosen).join(".");
}
