// Runs before each test file (vitest.config.ts) and ends the processes that the file leaves running, also
// when it failed.
import { afterAll } from "vitest";
import { childWatch } from "./child-watch.ts";
import "./straight-imports.ts";

const children = childWatch();
afterAll(() => children.endAll());
