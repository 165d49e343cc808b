// How often each page asks the gateway again while somebody looks: often where things happen by themselves,
// seldom where they change by hand. A page that asks too often is felt by the gateway, one that asks too
// seldom is believed.
import { expect, test } from "vitest";
import { pages } from "../../src/pages/list.ts";
import { showPage } from "./show-page.ts";

test("each page reads again after so many seconds, what never changes by itself not within a minute", async () => {
  const table: { [page: string]: string } = {};
  for (const { path, load } of pages) {
    if (path === "chat") continue;
    const page = await showPage(await load(), { at: `#/${path}/x`, answers: {} });
    await page.text();
    const known = new Map<string, number>();
    const first = page.asked.length;
    let seen = first;
    let passed = 0;
    for (const second of [1, 2, 3, 5, 10, 15, 30, 60]) {
      await page.pass((second - passed) * 1_000);
      passed = second;
      for (const asked of page.asked.slice(seen)) {
        const [method = ""] = asked.split(" ");
        if (!known.has(method)) known.set(method, second);
      }
      seen = page.asked.length;
    }
    const once = page.asked.slice(0, first).flatMap((asked) => {
      const [method = ""] = asked.split(" ");
      return known.has(method) ? [] : [`${method} -`];
    });
    table[path] = [...[...known].map(([method, seconds]) => `${method} ${seconds}`), ...once]
      .toSorted()
      .join(", ");
  }
  expect(table).toEqual({
    activity: "sessions.list 3, why 3",
    approvals: "approvals.list 2",
    audit: "audit.list 5, devices.list 5",
    backups: "backups.list 30",
    channels: "channels.list 3, pairing.list 3",
    config: "config.get 5, config.schema -, config.text 5",
    dead: "dead.list 5",
    devices: "devices.list 5",
    logs: "logs.tail -",
    mcp: "mcp.list 5",
    memory: "agents.list 30, memory.history 30, memory.proposals 30, memory.why 30",
    models: "models.list 30",
    nodes: "nodes.list 5",
    outbox: "outbox.list 3",
    overview:
      "approvals.list 5, cron.status 5, lanes.list 5, pairing.list 5, questions.list 5, sessions.list 5, status 5, usage 5",
    prompt: "prompt.explain 30, prompt.show 30, sessions.list 30",
    schedules: "cron.explain 3, cron.list 5, cron.runs 3",
    sessions: "models.list 60, sessions.list 5, sessions.show 3, sessions.tree 3",
    skills: "agents.list 15, skills.info 15, skills.list 15",
    tools: "sessions.list 10, tools.list 10",
    update: "status 3, update.check 3",
    usage: "usage 15",
    why: "why 5",
  });
});
