// One run over every package; each is a project of its own.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: ["apps/*", "packages/*", "config"],
  },
});
