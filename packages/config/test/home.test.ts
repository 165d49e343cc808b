// Where the state folder and the config file lie, by what the environment says.
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { placesIn } from "../src/home.ts";

const own = join(homedir(), ".parley");

test.each([
  [{}, own, join(own, "parley.json5")],
  [{ PARLEY_HOME: "" }, own, join(own, "parley.json5")],
  [{ PARLEY_HOME: "/srv/p" }, "/srv/p", "/srv/p/parley.json5"],
  [{ PARLEY_HOME: "~/p" }, join(homedir(), "p"), join(homedir(), "p/parley.json5")],
  [{ PARLEY_HOME: "/srv/p", PARLEY_CONFIG: "" }, "/srv/p", "/srv/p/parley.json5"],
  [{ PARLEY_HOME: "/srv/p", PARLEY_CONFIG: "/etc/p.json5" }, "/srv/p", "/etc/p.json5"],
])("of %j the folder is %s and the config %s", (env, home, configPath) => {
  expect(placesIn(env)).toMatchObject({ home, configPath });
});
