// SKILL.md files as they are found in the world and as an attacker writes them, each with the verdict that it
// must get.
export interface Sample {
  readonly title: string;
  readonly text: string | Uint8Array;
  /** Accepted: what must have been read. */
  readonly gives?: { readonly [field: string]: unknown };
  /** Accepted with this remark. */
  readonly note?: RegExp;
  /** Refused for this reason. */
  readonly refused?: RegExp;
}

const skill = (front: string, body = "\n# How\n\nDo it.\n"): string => `---\n${front}\n---\n${body}`;
const plain = "name: sample\ndescription: Does a thing.";
const ran = "globalThis.skillCodeRan = true";

export const samples: readonly Sample[] = [
  // As found in the world.
  {
    title: "the Agent Skills minimum",
    text: skill(plain),
    gives: { name: "sample", description: "Does a thing." },
  },
  { title: "a byte order mark", text: `\uFEFF${skill(plain)}`, gives: { name: "sample" } },
  {
    title: "Windows line ends",
    text: skill(plain).replaceAll("\n", "\r\n"),
    gives: { description: "Does a thing." },
  },
  { title: "old Mac line ends", text: skill(plain).replaceAll("\n", "\r"), gives: { name: "sample" } },
  {
    title: "UTF-16 as Windows editors save it",
    text: Buffer.from(`\uFEFF${skill(plain)}`, "utf16le"),
    gives: { name: "sample" },
  },
  {
    title: "UTF-16 with its large ends first",
    text: Buffer.from(`\uFEFF${skill(plain)}`, "utf16le").swap16(),
    gives: { name: "sample" },
  },
  { title: "blank lines before the fence", text: `\n\n${skill(plain)}`, gives: { name: "sample" } },
  {
    title: "spaces after the fences",
    text: "---  \nname: sample\ndescription: Does a thing.\n---\t\nBody",
    gives: { name: "sample" },
  },
  {
    title: "a body of horizontal rules",
    text: skill(plain, "one\n\n---\n\ntwo\n---\n"),
    gives: { name: "sample" },
  },
  {
    title: "no name",
    text: skill("description: Does a thing."),
    gives: { name: "folder" },
    note: /folder's stands in/,
  },
  { title: "a number for a name", text: skill("name: 2048\ndescription: Plays."), gives: { name: "2048" } },
  {
    title: "a name with spaces and capitals",
    text: skill("name: My Skill\ndescription: x y"),
    gives: { name: "My Skill" },
  },
  {
    title: "a name in another script",
    text: skill("name: 天气\ndescription: 查询天气"),
    gives: { name: "天气" },
  },
  { title: "full-width letters", text: skill("name: ｇｉｔ\ndescription: x"), gives: { name: "git" } },
  {
    title: "a folded description",
    text: skill("name: a\ndescription: >\n  one\n  two"),
    gives: { description: "one two" },
  },
  {
    title: "a literal description",
    text: skill("name: a\ndescription: |\n  one\n  two: three"),
    gives: { description: "one two: three" },
  },
  {
    title: "a description over two lines",
    text: skill("name: a\ndescription: one\n  two"),
    gives: { description: "one two" },
  },
  {
    title: "an unquoted colon",
    text: skill("name: a\ndescription: Use this when: the user asks about x: y"),
    gives: { description: "Use this when: the user asks about x: y" },
    note: /needs quotes/,
  },
  {
    title: "an unquoted colon over two lines",
    text: skill("name: a\ndescription: Use this when: the\n  user asks: now\nhomepage: https://a.example"),
    gives: { description: "Use this when: the user asks: now", homepage: "https://a.example" },
  },
  {
    title: "an unquoted colon only on its second line",
    text: skill("name: a\ndescription: Use this when\n  asked: now"),
    gives: { description: "Use this when asked: now" },
  },
  {
    title: "a description that begins with @",
    text: skill("name: a\ndescription: @mentions in chats"),
    gives: { description: "@mentions in chats" },
  },
  {
    title: "a description that begins with a backtick",
    text: skill("name: a\ndescription: `gh` helper"),
    gives: { description: "`gh` helper" },
  },
  {
    title: "a description that begins with a bracket",
    text: skill("name: a\ndescription: [beta] does it"),
    gives: { description: "[beta] does it" },
  },
  {
    title: "quotes that end too early",
    text: skill('name: a\ndescription: "Foo" and bar'),
    gives: { description: '"Foo" and bar' },
  },
  {
    title: "tabs that indent",
    text: skill(`${plain}\nmetadata:\n\tparley:\n\t\tos: [linux]`),
    gives: { "gates.os": ["linux"] },
  },
  {
    title: "a description that is long",
    text: skill(`name: a\ndescription: ${"word ".repeat(400)}`),
    note: /cut at 1024/,
  },
  {
    title: "metadata as one line of JSON",
    text: skill(
      `${plain}\nmetadata: {"openclaw":{"emoji":"🐙","requires":{"bins":["gh"]},"primaryEnv":"GH_TOKEN"}}`,
    ),
    gives: { "gates.bins": ["gh"], primaryEnv: "GH_TOKEN", emoji: "🐙" },
  },
  {
    title: "metadata as JSON over lines, with trailing commas",
    text: skill(
      `${plain}\nmetadata:\n  {\n    "openclaw":\n      {\n        "emoji": "x",\n        "requires": { "anyBins": ["a", "b"], },\n        "install": [{ "id": "brew", "kind": "brew", "formula": "gh" }],\n      },\n  }`,
    ),
    gives: { "gates.anyBins": ["a", "b"] },
    note: /install recipes are not acted on/,
  },
  {
    title: "metadata as a text of JSON",
    text: skill(`${plain}\nmetadata: '{"parley":{"requires":{"env":["X_KEY"]}}}'`),
    gives: { "gates.env": ["X_KEY"] },
  },
  {
    title: "metadata.parley",
    text: skill(`${plain}\nmetadata:\n  parley:\n    always: true\n    os: [macos]`),
    gives: { "gates.always": true, "gates.os": ["darwin"] },
  },
  {
    title: "metadata.parley before the others",
    text: skill(`${plain}\nmetadata:\n  openclaw: {os: [win32]}\n  parley: {os: [linux]}`),
    gives: { "gates.os": ["linux"] },
  },
  {
    title: "metadata.clawdbot",
    text: skill(`${plain}\nmetadata: {"clawdbot":{"requires":{"config":["channels.telegram"]}}}`),
    gives: { "gates.config": ["channels.telegram"] },
  },
  {
    title: "the seeds' key at the top",
    text: skill(`${plain}\nopenclaw:\n  primaryEnv: NODEJS_KEY`),
    gives: { primaryEnv: "NODEJS_KEY" },
  },
  {
    title: "gates without requires",
    text: skill(`${plain}\nmetadata: {parley: {bins: git, env: "A_KEY, B_KEY"}}`),
    gives: { "gates.bins": ["git"], "gates.env": ["A_KEY", "B_KEY"] },
  },
  {
    title: "metadata of other tools",
    text: skill(`${plain}\nlicense: MIT\nmetadata:\n  author: someone\n  version: "1.0"`),
    gives: { name: "sample" },
  },
  {
    title: "fields of other tools",
    text: skill(`${plain}\nallowed-tools: Bash(git:*) Read\nmodel: opus\ncontext: fork`),
    note: /grants no tool/,
  },
  {
    title: "how it may be invoked",
    text: skill(`${plain}\nuser-invocable: "false"\ndisable-model-invocation: yes`),
    gives: { userInvocable: false, modelInvocable: false },
  },
  {
    title: "a command for a tool",
    text: skill(`${plain}\ncommand-dispatch: tool\ncommand-tool: echo\ncommand-arg-mode: raw`),
    gives: { dispatch: { tool: "echo" } },
  },
  {
    title: "a command for a tool that it does not name",
    text: skill(`${plain}\ncommand-dispatch: tool`),
    gives: { dispatch: undefined },
    note: /needs command-tool/,
  },
  {
    title: "a time, a no, a date",
    text: skill("name: a\ndescription: 1:30\nhomepage: no"),
    gives: { description: "1:30" },
  },
  {
    title: "another key for its settings",
    text: skill(`${plain}\nmetadata: {parley: {skillKey: other}}`),
    gives: { key: "other" },
  },
  {
    title: "an unquoted colon in a key of another program",
    text: skill(`${plain}\nwhen_to_use: asked: now`),
    gives: { name: "sample" },
    note: /when_to_use is left out: it is no YAML/,
  },
  {
    title: "a list that is indented twice",
    text: skill(`name: a\ntags:\n- x\n - y: z\n  - w\ndescription: b`),
    gives: { name: "a", description: "b" },
    note: /read key by key/,
  },
  {
    title: "a key of another program twice",
    text: skill(`${plain}\nversion: 1\nversion: 2`),
    gives: { name: "sample" },
    note: /version stands twice: the last one counts/,
  },
  {
    title: "a description with an escape that YAML does not know",
    text: skill(
      String.raw`name: a
description: "Reads \d+ files"`.replace(
        String.raw`
`,
        "\n",
      ),
    ),
    gives: { description: String.raw`Reads \d+ files` },
  },
  {
    title: "metadata twice",
    text: skill(`${plain}\nmetadata: {parley: {os: [win32]}}\nmetadata: {parley: {os: [linux]}}`),
    gives: { "gates.os": ["linux"] },
    note: /metadata stands twice/,
  },
  {
    title: "a variable without quotes in a key of another program",
    text: skill(`${plain}\nargument: %s\nuser-invocable: false`),
    gives: { userInvocable: false },
    note: /argument is left out/,
  },
  { title: "empty metadata", text: skill(`${plain}\nmetadata:`), gives: { name: "sample" } },

  // As an attacker writes them.
  {
    title: "---js",
    text: `---js\n({ name: (${ran}, "x"), description: "x" })\n---\n`,
    refused: /only YAML is read/,
  },
  { title: "---javascript", text: `---javascript\n{ name: (${ran}, "x") }\n---\n`, refused: /"javascript"/ },
  { title: "--- js", text: `--- js\n{ name: (${ran}, "x") }\n---\n`, refused: /"js"/ },
  { title: "---coffee", text: `---coffee\n${ran}\n---\n`, refused: /"coffee"/ },
  { title: "---json", text: '---json\n{"name":"a","description":"b"}\n---\n', refused: /"json"/ },
  { title: "---toml", text: "---toml\nname = 1\n---\n", refused: /"toml"/ },
  {
    title: "a tag for code",
    text: skill(`${plain}\nx: !!js/function 'function(){ ${ran} }'`),
    refused: /asks for code/,
  },
  {
    title: "a tag for Python",
    text: skill(`${plain}\nx: !!python/object/apply:os.system ["id"]`),
    refused: /asks for code/,
  },
  { title: "an unknown tag", text: skill("name: !thing a\ndescription: b"), gives: { name: "a" } },
  {
    title: "__proto__",
    text: skill(`${plain}\n__proto__:\n  polluted: true`),
    refused: /"__proto__" is not allowed/,
  },
  {
    title: "__proto__ below",
    text: skill(`${plain}\nmetadata:\n  parley:\n    __proto__: {always: true}`),
    refused: /__proto__/,
  },
  {
    title: "__proto__ in a text of JSON",
    text: skill(`${plain}\nmetadata: '{"parley":{"__proto__":{"always":true}}}'`),
    gives: { "gates.always": false },
    note: /metadata is left out/,
  },
  {
    title: "constructor",
    text: skill(`${plain}\nconstructor: {prototype: {polluted: true}}`),
    refused: /"constructor" is not allowed/,
  },
  {
    title: "a billion laughs",
    text: skill(
      `${plain}\na: &a [x,x,x,x,x,x,x,x,x]\n${["b", "c", "d", "e", "f", "g", "h", "i"].map((name, index) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${"abcdefgh"[index]}`).join(",")}]`).join("\n")}`,
    ),
    refused: /lias/,
  },
  { title: "an alias to itself", text: skill(`${plain}\nmetadata: &a [*a]`), refused: /nested more than/ },
  { title: "a merge", text: skill("x: &x {name: a}\n<<: *x\ndescription: b"), gives: { name: "a" } },
  { title: "an alias", text: skill("name: &n a\ndescription: b\ntitle: *n"), gives: { name: "a" } },
  {
    title: "brackets without end",
    text: skill(`${plain}\nx: ${"[".repeat(60_000)}`),
    refused: /nested more than/,
  },
  {
    title: "deep maps by indentation",
    text: skill(`${plain}\n${Array.from({ length: 60 }, (_, n) => `${" ".repeat(n)}k:`).join("\n")}`),
    refused: /nested more than/,
  },
  {
    title: "many keys",
    text: skill(`${plain}\n${Array.from({ length: 6_000 }, (_, n) => `k${n}: 1`).join("\n")}`),
    refused: /more than 1000 lines/,
  },
  {
    title: "a front matter that is too long",
    text: skill(`${plain}\nx: ${"y".repeat(70_000)}`),
    refused: /more than 65536/,
  },
  {
    title: "a list of a hundred programs",
    text: skill(
      `${plain}\nmetadata: {parley: {bins: [${Array.from({ length: 100 }, (_, n) => `b${n}`).join(",")}]}}`,
    ),
    note: /metadata\.parley\.bins is left out: all of it but 50 names/,
  },
  { title: "a name that climbs", text: skill("name: ../../x\ndescription: b"), refused: /cannot be used/ },
  { title: "an absolute name", text: skill("name: /etc/passwd\ndescription: b"), refused: /cannot be used/ },
  {
    title: "a name with a line break",
    text: skill('name: "a\\nb"\ndescription: b'),
    refused: /cannot be used/,
  },
  {
    title: "a name that turns the text around",
    text: skill('name: "a\\u202eb"\ndescription: b'),
    refused: /cannot be used/,
  },
  {
    title: "a name with a letter of another script",
    text: skill("name: wеather\ndescription: b"),
    refused: /several scripts/,
  },
  {
    title: "a name of another script's look-alikes",
    text: skill("name: сору\ndescription: b"),
    refused: /look like others/,
  },
  {
    title: "a name with a letter without its dot",
    text: skill("name: gıthub\ndescription: b"),
    refused: /look like others/,
  },
  {
    title: "a name with a joiner",
    text: skill('name: "git\\u200dhub"\ndescription: b'),
    refused: /cannot be used/,
  },
  {
    title: "a name with a variation selector",
    text: skill('name: "git\\ufe0fhub"\ndescription: b'),
    refused: /cannot be used/,
  },
  {
    title: "a name with a grapheme joiner",
    text: skill('name: "git\\u034fhub"\ndescription: b'),
    refused: /cannot be used/,
  },
  {
    title: "a name with a filler",
    text: skill('name: "git\\u3164hub"\ndescription: b'),
    refused: /cannot be used/,
  },
  { title: "a name in Cherokee letters", text: skill("name: ᏀᏆᎢ\ndescription: b"), refused: /rare/ },
  {
    title: "a name with words of two scripts",
    text: skill("name: новости-rss\ndescription: b"),
    gives: { name: "новости-rss" },
  },
  {
    title: "a name in kana and Han",
    text: skill("name: 天気データAPI\ndescription: b"),
    gives: { name: "天気データAPI" },
  },
  {
    title: "a name with accents",
    text: skill("name: café-łódź\ndescription: b"),
    gives: { name: "café-łódź" },
  },
  {
    title: "a name with markup",
    text: skill('name: "</skill><skill>"\ndescription: b'),
    refused: /cannot be used/,
  },
  {
    title: "a name without end",
    text: skill(`name: ${"a".repeat(500)}\ndescription: b`),
    refused: /at most 64/,
  },
  {
    title: "a name that is a list",
    text: skill("name: [a]\ndescription: b"),
    refused: /name cannot be read/,
  },
  {
    title: "a description that is a map",
    text: skill("name: a\ndescription: {a: b}"),
    refused: /description cannot be read/,
  },
  {
    title: "a description of invisible characters",
    text: skill('name: a\ndescription: "\\u200b\\u202e"'),
    refused: /no description/,
  },
  { title: "no description", text: skill("name: a"), refused: /no description/ },
  {
    title: "gates of another form",
    text: skill(`${plain}\nmetadata: {parley: {requires: {bins: {a: b}, env: [X_KEY]}}}`),
    gives: { "gates.bins": [], "gates.env": ["X_KEY"] },
    note: /metadata\.parley\.requires\.bins is left out: it is no list of names/,
  },
  {
    title: "a list with something else in it",
    text: skill(`${plain}\nmetadata: {openclaw: {requires: {env: [A_KEY, {name: B_KEY, required: true}]}}}`),
    gives: { "gates.env": ["A_KEY"] },
    note: /metadata\.openclaw\.requires\.env is left out: all of it but 1 names/,
  },
  {
    title: "settings that are described where a gate would stand",
    text: skill(
      `${plain}\nmetadata: {openclaw: {config: {city: {type: string}}, env: {A: {required: true}}, os: [linux]}}`,
    ),
    gives: { "gates.config": [], "gates.env": [], "gates.os": ["linux"] },
    note: /metadata\.openclaw\.config is left out/,
  },
  {
    title: "a list of keys for one",
    text: skill(
      `${plain}\nmetadata: {openclaw: {primaryEnv: [A_KEY], emoji: {a: b}, skillKey: [x], homepage: [x], always: maybe}}`,
    ),
    gives: { primaryEnv: undefined, key: "sample", "gates.always": false },
    note: /metadata\.openclaw\.primaryEnv is left out: it is no text/,
  },
  {
    title: "fields of another form at the top",
    text: skill(
      `${plain}\nhomepage: {a: b}\nuser-invocable: [x]\ndisable-model-invocation: sometimes\ncommand-dispatch: [tool]`,
    ),
    gives: { userInvocable: true, modelInvocable: true, homepage: undefined },
    note: /disable-model-invocation is left out/,
  },
  {
    title: "a gate that is a word",
    text: skill(`${plain}\nmetadata: {parley: {requires: git}}`),
    note: /requires is left out/,
  },
  {
    title: "metadata that is no JSON",
    text: skill(`${plain}\nmetadata: "{parley: ["`),
    note: /metadata is left out/,
  },
  { title: "metadata that is a list", text: skill(`${plain}\nmetadata: [a]`), note: /metadata is left out/ },
  {
    title: "always as a list",
    text: skill(`${plain}\nmetadata: {parley: {always: [true]}}`),
    note: /always is left out/,
  },
  {
    title: "a key handed over as NODE_OPTIONS",
    text: skill(`${plain}\nmetadata: {parley: {primaryEnv: NODE_OPTIONS}}`),
    gives: { primaryEnv: undefined },
    note: /changes how programs run/,
  },
  {
    title: "a key handed over as LD_PRELOAD",
    text: skill(`${plain}\nmetadata: {parley: {primaryEnv: LD_PRELOAD}}`),
    gives: { primaryEnv: undefined },
  },
  {
    title: "a homepage of another kind",
    text: skill(`${plain}\nhomepage: "javascript:alert(1)"`),
    gives: { homepage: undefined },
  },
  {
    title: "a folder of its own choice",
    text: skill(`${plain}\ntargetDir: ../../..\nmetadata: {parley: {targetDir: /etc}}`),
    gives: { name: "sample" },
  },
  { title: "no front matter", text: "# A skill\n\nDo it.", refused: /no front matter/ },
  { title: "four dashes", text: "----\nname: a\n----\n", refused: /no front matter/ },
  { title: "no end", text: "---\nname: a\ndescription: b\n", refused: /not closed/ },
  {
    title: "an end with a tail",
    text: "---\nname: a\ndescription: b\n---js\nmore\n---\n",
    refused: /exactly/,
  },
  { title: "a list", text: skill("- a\n- b"), refused: /not a list of keys/ },
  { title: "a word", text: skill("hello"), refused: /./ },
  { title: "a key twice", text: skill("name: a\nname: b\ndescription: c"), refused: /nique|twice|uplicate/ },
  { title: "two documents by a directive", text: skill("%YAML 1.1\nname: a\ndescription: b"), refused: /./ },
  { title: "nothing between the fences", text: "---\n---\nbody", refused: /no description/ },
  { title: "an empty file", text: "", refused: /no front matter/ },
  { title: "zeros", text: new Uint8Array(300), refused: /not text/ },
  {
    title: "a program",
    text: Buffer.from("7f454c4602010100000000000000000002003e00", "hex"),
    refused: /not text/,
  },
  {
    title: "broken UTF-8",
    text: Buffer.concat([
      Buffer.from("---\nname: a\ndescription: caf"),
      Buffer.from([0xe9, 0xff]),
      Buffer.from("\n---\n"),
    ]),
    gives: { name: "a" },
  },
];
