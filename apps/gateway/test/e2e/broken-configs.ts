// Thirty config files that must not come into force, as people write them: what is wrong, the text, and the
// place, key and words that are shown. One table for the start and for the reload. `secrets` is a folder and
// `blank` an empty file in the state folder.
export interface BrokenConfig {
  readonly is: string;
  readonly text: string;
  /** Line and column of the first trouble. */
  readonly at: `${number}:${number}`;
  readonly says: RegExp;
}

const telegram = (...lines: readonly string[]): string =>
  `{\n  channels: {\n    telegram: {\n      ${lines.join("\n      ")}\n    },\n  },\n}\n`;
const token = 'botToken: "1:a",';

export const brokenConfigs: readonly BrokenConfig[] = [
  // No JSON5.
  { is: "ends in the middle", text: "{\n  gateway: {", at: "2:12", says: /not valid JSON5/ },
  {
    is: "lacks a comma",
    text: '{\n  gateway: { port: 7275 }\n  store: { driver: "sqlite" },\n}',
    at: "3:3",
    says: /not valid JSON5/,
  },
  {
    is: "has a quote that is not closed",
    text: '{\n  agents: { defaults: { model: "fake/m1 } },\n}',
    at: "3:2",
    says: /not valid JSON5/,
  },
  {
    is: "is a page of HTML",
    text: "<!doctype html>\n<title>502</title>\n",
    at: "1:1",
    says: /not valid JSON5/,
  },
  { is: "is a list", text: "[]", at: "1:1", says: /object/ },
  {
    is: "says a key twice",
    text: "{\n  bindings: [],\n  gateway: {},\n  bindings: [],\n}",
    at: "4:3",
    says: /bindings: /,
  },
  // Unknown keys.
  {
    is: "misspells a block",
    text: "{\n  gatway: {},\n}",
    at: "2:3",
    says: /gatway: unknown key "gatway"\. Did you mean "gateway"\?/,
  },
  {
    is: "misspells a key deep inside",
    text: telegram(token, 'groups: { "-5": { requireMentoin: false } },'),
    at: "5:25",
    says: /Did you mean "requireMention"\?/,
  },
  {
    is: "has a key of another program",
    text: "{\n  gateway: {},\n  plugins: { entries: {} },\n}",
    at: "3:3",
    says: /plugins: unknown key/,
  },
  // Values.
  {
    is: "has a word for a number",
    text: '{\n  gateway: { port: "many" },\n}',
    at: "2:14",
    says: /gateway\.port: /,
  },
  {
    is: "has a number out of range",
    text: "{\n  gateway: { port: 70000 },\n}",
    at: "2:14",
    says: /gateway\.port: .*65535/,
  },
  {
    is: "has a value that nobody offers",
    text: '{\n  messages: {\n    queue: { mode: "stear" },\n  },\n}',
    at: "3:14",
    says: /messages\.queue\.mode: /,
  },
  {
    is: "has one id in the place of a list",
    text: telegram(token, 'allowFrom: "123",'),
    at: "5:7",
    says: /channels\.telegram\.allowFrom: /,
  },
  { is: "has null for a block", text: "{\n  session: null,\n}", at: "2:3", says: /session: / },
  {
    is: "has a name where an id must stand",
    text: telegram(token, 'allowFrom: ["@alice"],'),
    at: "5:19",
    says: /allowFrom\[0\]: .*is a name/,
  },
  {
    is: "is of a newer version and wrong by that too",
    text: '{\n  configVersion: 99,\n  gateway: { port: "many" },\n}',
    at: "3:14",
    says: /gateway\.port: /,
  },
  { is: "is of no version", text: '{\n  configVersion: "two",\n}', at: "2:3", says: /configVersion: / },
  // Secrets.
  {
    is: "names a variable that is not set",
    text: telegram('botToken: "${NO_SUCH_THING}",'),
    at: "4:7",
    says: /NO_SUCH_THING is not set/,
  },
  {
    is: "names a secret file that is gone",
    text: telegram('botToken: { file: "gone" },'),
    at: "4:7",
    says: /gone does not exist/,
  },
  {
    is: "names a secret file that cannot be read",
    text: telegram('botToken: { file: "secrets" },'),
    at: "4:7",
    says: /secrets cannot be read/,
  },
  {
    is: "names a secret file that is empty",
    text: telegram('botToken: { file: "blank" },'),
    at: "4:7",
    says: /blank is empty/,
  },
  // What leads nowhere.
  {
    is: "names a model that nobody has",
    text: '{\n  agents: { defaults: { model: { primary: "nobody/x" } } },\n}',
    at: "2:25",
    says: /"nobody\/x" names the provider/,
  },
  {
    is: "binds an agent that is not there",
    text: '{\n  bindings: [\n    { agentId: "gone", match: { channel: "web" } },\n  ],\n}',
    at: "3:7",
    says: /bindings\[0\]\.agentId: there is no agent "gone"/,
  },
  {
    is: "binds a channel that is not there",
    text: '{\n  bindings: [\n    { agentId: "main", match: { channel: "pigeon" } },\n  ],\n}',
    at: "3:33",
    says: /there is no channel "pigeon"/,
  },
  {
    is: "binds an account that is not there",
    text: '{\n  bindings: [\n    { agentId: "main", match: { channel: "web", accountId: "work" } },\n  ],\n}',
    at: "3:49",
    says: /web has no account "work"/,
  },
  {
    is: "leaves a channel to no agent",
    text: '{\n  agents: {\n    list: [{ id: "a" }, { id: "b" }],\n  },\n}',
    at: "3:5",
    says: /no agent would answer on web:default/,
  },
  // What is there twice.
  {
    is: "has one agent twice",
    text: '{\n  agents: {\n    list: [{ id: "main" }, { id: "main" }],\n  },\n}',
    at: "3:30",
    says: /the agent "main" stands twice/,
  },
  {
    is: "has two accounts of one token",
    text: telegram(token, "accounts: {", '  b: { botToken: "1:a" },', "},"),
    at: "6:14",
    says: /same token/,
  },
  // What would let strangers in.
  {
    is: "opens the door without a token",
    text: '{\n  gateway: { bind: "lan" },\n}',
    at: "2:14",
    says: /gateway\.bind: .*no token is set/,
  },
  {
    is: "is open to all without saying so",
    text: telegram(token, 'dmPolicy: "open",'),
    at: "5:7",
    says: /must say so/,
  },
];
