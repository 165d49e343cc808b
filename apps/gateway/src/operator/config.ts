// Serves the config over the control plane. It limits how often a client may change it: a client in a loop
// must not wear out the disk or keep restarting channels.
import { configJsonSchema, type ConfigChange, type ConfigProblem, type ConfigWritten } from "@parley/config";
import { Fault, type Json, type JsonObject, type MethodParams, type MethodResult } from "@parley/protocol";
import type { ConfigPorts } from "./ports.ts";

const mostWrites = 30;
const writesWindowMs = 60_000;

export function configMethods({
  editor,
  restartNeeded,
  clock,
}: Pick<ConfigPorts, "editor" | "restartNeeded" | "clock">) {
  let writtenAtMs: number[] = [];

  async function write(work: () => Promise<ConfigWritten>): Promise<MethodResult<"config.patch">> {
    const nowMs = clock.mono();
    writtenAtMs = writtenAtMs.filter((atMs) => nowMs - atMs < writesWindowMs);
    if (writtenAtMs.length >= mostWrites) {
      const retryAfterMs = Math.ceil((writtenAtMs[0] ?? nowMs) + writesWindowMs - nowMs);
      throw new Fault(
        "rate_limited",
        `the config was changed ${mostWrites} times within a minute; put changes together`,
        { retryAfterMs },
      );
    }
    writtenAtMs.push(nowMs);
    const { path, hash, changed, backup, warnings, problems } = await work();
    const told = { warnings: warnings.map(shown), problems: problems.map(shown) };
    return { path, hash, changed: [...changed], backup, ...told, restartNeeded: [...restartNeeded(changed)] };
  }

  return {
    async "config.get"(_params: MethodParams<"config.get">): Promise<MethodResult<"config.get">> {
      const { problems, warnings, file, config, ...rest } = await editor.read();
      return {
        ...rest,
        file: open(file),
        config: open(config),
        problems: problems.map(shown),
        warnings: warnings.map(shown),
      };
    },
    async "config.text"({ text, config }: MethodParams<"config.text">): Promise<MethodResult<"config.text">> {
      const found = await editor.text({
        ...(text === undefined ? {} : { text }),
        ...(config === undefined ? {} : { config: config as JsonObject }),
      });
      return { ...found, file: open(found.file) };
    },
    async "config.schema"(_params: MethodParams<"config.schema">): Promise<MethodResult<"config.schema">> {
      return { schema: open(configJsonSchema() as Json) };
    },
    async "config.validate"({
      text,
    }: MethodParams<"config.validate">): Promise<MethodResult<"config.validate">> {
      const read =
        text === undefined ? { ...(await editor.read()), changed: [] } : await editor.validate(text);
      const { problems, warnings, changed } = read;
      return {
        problems: problems.map(shown),
        warnings: warnings.map(shown),
        changed: [...changed],
        restartNeeded: [...restartNeeded(changed)],
      };
    },
    "config.patch": ({
      patch,
      baseHash,
      replacePaths,
    }: MethodParams<"config.patch">): Promise<MethodResult<"config.patch">> =>
      write(() => editor.patch(patch as JsonObject, baseHash, replacePaths)),
    "config.set": ({ changes, baseHash }: MethodParams<"config.set">): Promise<MethodResult<"config.set">> =>
      write(() => editor.change(changes.map(changeOf), baseHash)),
    "config.apply": (params: MethodParams<"config.apply">): Promise<MethodResult<"config.apply">> =>
      write(() =>
        editor.apply("text" in params ? params.text : (params.config as JsonObject), params.baseHash),
      ),
  };
}

function changeOf({ path, value }: MethodParams<"config.set">["changes"][number]): ConfigChange {
  return value === undefined ? { remove: path } : { set: path, to: value };
}

function shown({
  path,
  line,
  column,
  message,
  fix,
}: ConfigProblem): MethodResult<"config.get">["problems"][number] {
  return { path, line, column, message, fix };
}

/** Widens our read-only JSON type to the protocol's mutable one. */
function open(value: Json): MethodResult<"config.get">["file"] {
  return value as MethodResult<"config.get">["file"];
}
