// Builds the page into dist/, which the gateway serves under a policy without inline scripts and without
// other sites. All addresses in it are relative, so that a proxy may serve it under any path.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: { input: ["index.html", "canvas.html", "device.html"] },
  },
  // A service worker keeps its name, and reaches the pages beside it.
  worker: { rollupOptions: { output: { entryFileNames: "[name].js" } } },
});
