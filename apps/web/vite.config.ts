// Builds the page into dist/, which the gateway serves under a policy without inline scripts and without
// other sites.
import { defineConfig } from "vite";

export default defineConfig({
  build: { target: "es2022", modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
});
