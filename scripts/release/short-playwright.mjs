// Makes the browser library of a bundle shorter: its own command line, its MCP server and all browsers but
// Chromium go, which nobody here calls, and with them what only they use. A version of another form fails the
// bundle instead of shipping half of it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { minifySync } from "rolldown/utils";

/** By file: what it exports for those tools alone. */
const tools = {
  "coreBundle.js": { exports: ["libCli", "libCliTestStub", "tools"], packages: [] },
  "utilsBundle.js": {
    exports:
      "CallToolRequestSchema Client ListRootsRequestSchema ListToolsRequestSchema PingRequestSchema ProgressNotificationSchema SSEClientTransport SSEServerTransport Server StdioClientTransport StdioServerTransport StreamableHTTPClientTransport StreamableHTTPServerTransport ProgramOption program dotenv enquirer ini json5 minimatch sourceMapSupport z zodToJsonSchema".split(
        " ",
      ),
    packages: ["zod", "zod-to-json-schema", "@modelcontextprotocol/sdk"],
  },
};
/** What the core begins with, the same tools among it. */
const begun = ["init_program3", "init_programWithTestStub", "init_tools2"];
const others = ["init_bidiChromium", "init_bidiFirefox", "init_firefox", "init_webkit"];

/** `folder` is the package's. */
export function shortenPlaywright(folder) {
  for (const [name, { exports, packages }] of Object.entries(tools)) {
    const file = join(folder, "lib", name);
    let code = readFileSync(file, "utf8");
    const cut = (what, pattern, by = "") => {
      const shorter = code.replace(pattern, by);
      if (shorter === code)
        throw new Error(`playwright-core/lib/${name} has no ${what} in the form that is known here`);
      code = shorter;
    };
    for (const each of exports) {
      cut(`export ${each}`, new RegExp(`^  ${each}: \\(\\) => \\w+,?\\n`, "m"));
      cut(`name ${each}`, new RegExp(`^  ${each},?\\n`, "m"));
    }
    for (const each of packages)
      cut(
        `package ${each}`,
        new RegExp(`^// node_modules/${each}/[^]*?(?=^// (?!node_modules/${each}/)\\S+/\\S+\\.\\w+$)`, "gm"),
      );
    if (name === "coreBundle.js") {
      for (const each of begun)
        cut(each, new RegExp(`(\\binit_coreBundle = [^]*?)^ +${each}\\(\\);\\n`, "m"), "$1");
      cut(
        "other browsers",
        /new (?:(?:Chromium|Firefox)\(this, new Bidi\w+\(this\)\)|WebKit\(this\))/g,
        "new Chromium(this)",
      );
      for (const each of others) cut(each, new RegExp(`^ +${each}\\(\\);\\n`, "gm"));
      // In the scope of the whole file, so that no name in it could be shortened or left out.
      cut("evaluation", /(?<== )eval\(/g, "globalThis.eval(");
    }
    const wrapped = `(function (exports, require, module) {${code}\n})(exports, require, module);`;
    const { code: text, errors } = minifySync(name, wrapped, {
      // Its protocol goes by the names of classes.
      mangle: { keepNames: { class: true, function: false } },
      compress: { treeshake: { manualPureFunctions: ["__commonJS", "__esm"] } },
      module: false,
    });
    if (errors.length > 0) throw new Error(`${file} cannot be made shorter: ${errors[0].message}`);
    writeFileSync(file, text);
  }
}
