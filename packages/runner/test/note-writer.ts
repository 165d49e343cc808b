// A process that appends numbered notes until it is killed, and says each number once the note is written.
import { memoryNote } from "../src/memory/memory-note.ts";

const [workspace = "", from = "0"] = process.argv.slice(2);
const place = { folder: "memory", heading: null, added: async () => undefined };
const tool = memoryNote(workspace, place, "2026-11-23", async () => undefined);
for (let number = Number(from); ; number += 1) {
  await tool.run({ text: `- umbrella number ${number} stands in the hall` }, {} as never);
  process.stdout.write(`${number}\n`);
}
