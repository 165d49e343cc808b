// Runs before each test file (vitest.config.ts): what the file leaves running is ended after it, also when it
// failed.
import { afterAll } from "vitest";
import { childWatch } from "./child-watch.ts";

const children = childWatch();
afterAll(() => children.endAll());
