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
