// Checks that a request says what its command needs, and nothing that it does not.
import { Fault, type DeviceCommand, type DeviceRequest } from "@parley/protocol";

type Word = Exclude<keyof DeviceRequest, "command">;

const needs: {
  readonly [command in DeviceCommand]: { readonly must: readonly Word[]; readonly may: readonly Word[] };
} = {
  notify: { must: ["text"], may: ["title"] },
  run: { must: ["argv"], may: [] },
  file_read: { must: ["path"], may: [] },
  file_list: { must: [], may: ["path"] },
  file_write: { must: ["path", "text"], may: [] },
  screenshot: { must: [], may: [] },
  camera: { must: [], may: ["facing"] },
  microphone: { must: [], may: ["seconds"] },
  location: { must: [], may: [] },
  clipboard_read: { must: [], may: [] },
  clipboard_write: { must: ["text"], may: [] },
};

/** Only the words that belong to the command. Throws Fault("invalid") for one that is missing. */
export function written(request: DeviceRequest): DeviceRequest {
  const { must, may } = needs[request.command];
  const missing = must.filter((word) => request[word] === undefined);
  if (missing.length > 0) throw new Fault("invalid", `${request.command} needs ${missing.join(" and ")}`);
  const kept = Object.entries(request).filter(
    ([word, value]) =>
      value !== undefined && (word === "command" || [...must, ...may].includes(word as Word)),
  );
  return Object.fromEntries(kept) as DeviceRequest;
}
