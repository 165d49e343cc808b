// Which sessions a turn may reach, decided from facts alone; and the one spelling of a key.
import type { SessionKey } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { canonicalKey, reachOf } from "../src/sessions/visibility.ts";

const from = "agent:main:telegram:dm:olga" as SessionKey;
const others: { readonly [what: string]: SessionKey } = {
  itself: from,
  child: "agent:main:subagent:abc-1" as SessionKey,
  "child of another agent": "agent:helper:subagent:abc-1" as SessionKey,
  "same agent": "agent:main:telegram:dm:ben" as SessionKey,
  "other agent": "agent:helper:main" as SessionKey,
};

/** The sessions that a turn reaches. */
function reached(
  owner: boolean,
  visibility: "self" | "tree" | "agent" | "all",
  agentToAgent = { enabled: false, allow: ["*"] },
): readonly string[] {
  return Object.entries(others)
    .filter(
      ([what, to]) =>
        reachOf(
          { from, to, owner, isBelow: what.startsWith("child") },
          { sessions: { visibility }, agentToAgent },
        ).allowed,
    )
    .map(([what]) => what);
}

const tree = ["itself", "child", "child of another agent"];

describe("an owner's turn", () => {
  test("reaches what tools.sessions.visibility says", () => {
    expect(reached(true, "self")).toEqual(["itself"]);
    expect(reached(true, "tree")).toEqual(tree);
    expect(reached(true, "agent")).toEqual([...tree, "same agent"]);
    expect(reached(true, "all")).toEqual([...tree, "same agent"]);
  });

  test("reaches other agents only when both are allowed, and with visibility all", () => {
    const on = { enabled: true, allow: ["*"] };
    expect(reached(true, "all", on)).toEqual(Object.keys(others));
    expect(reached(true, "agent", on)).toEqual([...tree, "same agent"]);
    expect(reached(true, "all", { enabled: true, allow: ["main", "helper"] })).toContain("other agent");
    expect(reached(true, "all", { enabled: true, allow: ["main"] })).not.toContain("other agent");
    expect(reached(true, "all", { enabled: true, allow: ["helper"] })).not.toContain("other agent");
  });
});

test.each(["self", "tree", "agent", "all"] as const)("others' turns stay in their tree: %s", (visibility) => {
  const seen = reached(false, visibility, { enabled: true, allow: ["*"] });
  expect(seen).toEqual(visibility === "self" ? ["itself"] : tree);
});

test("every decision has its reason", () => {
  const config = {
    sessions: { visibility: "all" as const },
    agentToAgent: { enabled: true, allow: ["main"] },
  };
  const to = others["other agent"] as SessionKey;
  expect(reachOf({ from, to, owner: true, isBelow: false }, config).reason).toBe(
    "agent helper is not in tools.agentToAgent.allow",
  );
  expect(reachOf({ from, to, owner: false, isBelow: false }, config).reason).toContain("only owners");
});

test("a key has one spelling, and what is none is null", () => {
  expect(canonicalKey("agent:main:telegram:direct:olga")).toBe(from);
  expect(canonicalKey(" agent:main:telegram:dm:olga\n")).toBe(from);
  expect(canonicalKey("agent:main:telegram:default:group:-5")).toBe("agent:main:telegram:group:-5");
  for (const other of ["agent:main:telegram:default:dm:olga", "agent:main:telegram:dm:olga:thread:1"])
    expect(canonicalKey(other)).not.toBe(from);
  for (const none of [
    "AGENT:main:main",
    "agent:main",
    "main",
    "",
    "agent:main:telegram:dm:olga:",
    "agent:main:dm:dm:x",
    "agent:main:telegram:dm:%6Flga",
  ])
    expect(canonicalKey(none)).toBeNull();
});
