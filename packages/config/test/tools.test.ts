import { describe, expect, test } from "vitest";
import { loadText, problemsOf } from "./load-text.ts";

describe("tools keys", () => {
  test("without a word nothing runs that nobody named or approved, and nothing is sandboxed", async () => {
    const { tools, agents } = (await loadText(null)).config;
    expect(tools).toEqual({
      rehearsal: false,
      byProvider: {},
      toolsBySender: {},
      exec: { mode: "allowlist", ask: "on-miss", allowlist: [], timeoutSeconds: 1_800 },
      fs: { readRoots: [] },
      sandbox: {},
      subagents: {},
      sessions: { visibility: "tree" },
      message: { crossContext: "owner" },
      agentToAgent: { enabled: false, allow: ["*"] },
      web: {
        fetch: {
          enabled: true,
          maxChars: 20_000,
          maxBytes: 20_000_000,
          timeoutSeconds: 30,
          cacheTtlMinutes: 15,
          maxRedirects: 5,
        },
        search: {
          enabled: true,
          maxResults: 5,
          timeoutSeconds: 30,
          cacheTtlMinutes: 15,
          providers: [{ name: "duckduckgo" }],
        },
        egress: { allow: [], deny: [] },
      },
      taint: "ask",
    });
    expect(agents.list[0]?.tools).toEqual({ byProvider: {}, exec: tools.exec });
    expect(agents.list[0]?.sandbox).toEqual({
      mode: "off",
      backend: "bubblewrap",
      scope: "agent",
      workspaceAccess: "none",
      network: false,
      limits: { memoryMb: 1_024, processes: 256, cpuSeconds: 600 },
      docker: { image: "debian:stable-slim" },
    });
  });

  test("an agent's own settings stand in for what all have, key by key", async () => {
    const { tools, agents } = (
      await loadText(`{
        tools: { profile: "coding", alsoAllow: ["group:web"], fs: { readRoots: ["docs", "/srv"] },
                 exec: { security: "full", ask: "off", allowlist: ["ls", { command: "git", argPattern: "status" }] } },
        agents: {
          defaults: { sandbox: { mode: "all", memoryMb: 512, docker: { image: "x:1" } } },
          list: [{ id: "main", tools: { deny: ["exec"], exec: { mode: "deny" } }, sandbox: { mode: "off", pidsLimit: 8 } }, { id: "b" }],
        },
      }`)
    ).config;
    expect(tools.exec).toEqual({
      mode: "full",
      ask: "off",
      allowlist: [{ command: "ls" }, { command: "git", argPattern: "status" }],
      timeoutSeconds: 1_800,
    });
    expect(tools.fs.readRoots[1]).toBe("/srv");
    expect(tools.fs.readRoots[0]).toMatch(/^\/.*\/docs$/);
    const [main, other] = agents.list;
    expect(main?.tools).toMatchObject({ deny: ["exec"], exec: { mode: "deny", ask: "off" } });
    expect(main?.sandbox).toMatchObject({
      mode: "off",
      limits: { memoryMb: 512, processes: 8 },
      docker: { image: "x:1" },
    });
    expect(other?.sandbox).toMatchObject({ mode: "all", limits: { memoryMb: 512, processes: 256 } });
    expect(other?.tools.exec).toEqual(tools.exec);
  });

  test.each([
    [`{ tools: { allow: ["read"], alsoAllow: ["exec"] } }`, "allow already says all"],
    [
      `{ tools: { byProvider: { openai: { allow: ["read"], alsoAllow: ["exec"] } } } }`,
      "allow already says all",
    ],
    [
      `{ agents: { list: [{ id: "a", tools: { allow: [], alsoAllow: ["exec"] } }] } }`,
      "allow already says all",
    ],
    [`{ tools: { exec: { mode: "full", security: "deny" } } }`, "two names of one setting"],
    [`{ tools: { exec: { mode: "yolo" } } }`, "deny"],
    [`{ tools: { exec: { allowlist: [{ command: "git", argPattern: "(" }] } } }`, "not a regular expression"],
    [
      `{ agents: { defaults: { sandbox: { backend: "docker", docker: { image: "--privileged x" } } } } }`,
      "not the name of an image",
    ],
    [`{ tools: { profil: "coding" } }`, "profile"],
  ])("what contradicts itself or cannot be is refused: %s", async (text, reason) => {
    expect(JSON.stringify(await problemsOf(text))).toContain(reason);
  });
});
