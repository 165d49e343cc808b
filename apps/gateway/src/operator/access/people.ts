// Serves what is stored of a person to the operator: forgets it, or hands it out.
import type { Config } from "@parley/config";
import type { MethodParams, MethodResult } from "@parley/protocol";
import { exportPerson } from "../../people/export-person.ts";
import { peopleStored } from "../../people/forget-person.ts";
import { absolute } from "../backup.ts";
import type { StorePorts } from "../ports.ts";

export function peopleMethods(
  ports: Pick<StorePorts, "store" | "memory" | "home" | "clock" | "ids" | "log"> & {
    readonly config: Config;
  },
) {
  const people = peopleStored(ports);
  return {
    "people.forget": ({
      person,
      confirm = false,
    }: MethodParams<"people.forget">): Promise<MethodResult<"people.forget">> =>
      people.forget(person, confirm),
    "people.export": async ({
      person,
      path,
    }: MethodParams<"people.export">): Promise<MethodResult<"people.export">> =>
      exportPerson(await people.look(person), absolute(path), ports),
  };
}
