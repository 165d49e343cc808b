// Checks the lists of things that a file adds: prompt sections in order.ts, tools in their catalogue, chat
// commands in their table. A file missing from its list would silently do nothing, and one listed twice would
// act twice.
import type { Findings, Tree } from "./tree.ts";

interface List {
  /** Pattern of the files that hold one entry each. */
  readonly files: string;
  readonly list: string;
  /** Files of that folder that are no entries. */
  readonly beside?: readonly string[];
}

const lists: readonly List[] = [
  { files: "packages/agent/src/prompt/sections/", list: "packages/agent/src/prompt/order.ts" },
  { files: "packages/tools/src/tools/", list: "packages/tools/src/catalogue.ts" },
  {
    files: "apps/gateway/src/commands/",
    list: "apps/gateway/src/commands/table.ts",
    beside: [
      "table.ts",
      "chat-command.ts",
      "bound-commands.ts",
      "command-menu.ts",
      "parse-command.ts",
      "skill-commands.ts",
    ],
  },
];

export function listFindings(tree: Tree): Findings {
  return lists.flatMap(({ files, list, beside = [] }) => {
    const listed = tree.files.find((file) => file.path === list);
    const entries = tree.files.filter(
      ({ path }) => path.startsWith(files) && !beside.some((name) => path === files + name),
    );
    if (entries.length === 0) return [];
    if (listed === undefined) return [`${list} is missing: it lists what ${files} holds`];
    return entries.flatMap((file) => {
      const from = `./${file.path.slice(list.lastIndexOf("/") + 1)}`;
      const names = listed.imports
        .filter((found) => found.from === from && !found.typeOnly)
        .flatMap((found) => found.names);
      if (names.length === 0)
        return [
          `${file.path} is not in ${list}: import it there and list it, or, if it is no entry, ` +
            `${beside.length === 0 ? "move it out of the folder" : "name it in `beside` of config/src/lists.ts"}`,
        ];
      return names
        .filter((name) => listed.mentions.get(name) !== 1)
        .map((name) => `${list} mentions ${name} ${listed.mentions.get(name) ?? 0} times; list it once`);
    });
  });
}
