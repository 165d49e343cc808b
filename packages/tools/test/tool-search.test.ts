import { expect, test } from "vitest";
import { findTools } from "../src/tool-index.ts";
import type { Tool } from "../src/tool.ts";

const tool = (name: string, description: string): Tool => ({
  name,
  summary: "",
  description,
  parameters: {},
  effect: "reads",
  parse: (args) => ({ ok: true, args }),
  run: async () => ({ content: [] }),
});
const tools = [
  tool("github__create_issue", "Opens a new issue in a repository"),
  tool("github__listPullRequests", "Lists pull requests"),
  tool("mail__send", "Sends a letter. An issue of the mail server is told"),
  tool("files__read", "Reads a file"),
];
const found = (query: string, limit = 8): readonly string[] =>
  findTools(tools, query, limit).map(({ name }) => name);

test("what stands in the name weighs more than what stands in the description", () => {
  expect(found("issue")).toEqual(["github__create_issue", "mail__send"]);
  expect(found("please create an issue", 1)).toEqual(["github__create_issue"]);
});

test("names of any spelling and other endings of a word are found; strange questions find nothing and break nothing", () => {
  expect(found("pull request")).toEqual(["github__listPullRequests"]);
  expect(found("reading files")[0]).toBe("files__read");
  for (const query of ["", "?!", "(((", "unrelated"]) expect(found(query)).toEqual([]);
});

test("the rarer word counts more, then the shorter text, then the name; a word that only begins alike counts half", () => {
  const order = (query: string, all: readonly Tool[], limit = 9): readonly string[] =>
    findTools(all, query, limit).map(({ name }) => name);
  const common = ["b", "a", "c"].map((name) => tool(name, "files of a folder"));
  expect(order("files", common)).toEqual(["a", "b", "c"]);
  expect(order("files", common, 2)).toEqual(["a", "b"]);
  expect(order("files rare", [...common, tool("z", "rare things of a folder")])).toEqual([
    "z",
    "a",
    "b",
    "c",
  ]);
  expect(order("tea", [tool("long", "tea and many other words"), tool("short", "tea")])).toEqual([
    "short",
    "long",
  ]);
  expect(order("tea", [tool("two", "tea tea x"), tool("one", "tea y x")])).toEqual(["two", "one"]);
  // Half of it twice is no more than the whole once.
  expect(order("read", [tool("z", "reader reader w"), tool("w", "read x y")])).toEqual(["w", "z"]);
  expect(order("read", [tool("z", "reader reader reader"), tool("w", "read x y")])).toEqual(["z", "w"]);
  expect(order("reading", [tool("x", "read it"), tool("y", "rea it")])).toEqual(["x"]);
  // Two letters are no beginning, and asked twice is asked once.
  expect(order("re", [tool("x", "read"), tool("y", "re")])).toEqual(["y"]);
  expect(order("tea tea milk", [tool("t", "tea"), tool("m", "milk"), tool("u", "milk more")])).toEqual([
    "t",
    "m",
    "u",
  ]);
  expect(order("x", [])).toEqual([]);
});
