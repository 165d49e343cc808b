// What a browser can do as a device, what it says where it cannot or may not, and that nothing of a camera or
// a microphone stays on.
import { expect, test } from "vitest";
import { asked, carriedOut, commandsOf, lacks, pageGrants, worksUnseen } from "../../src/device/abilities.ts";
import { stub, wholeBrowser, type Shown } from "./browser.ts";

test("what a browser lacks, grant by grant", () => {
  const of = (change: (browser: ReturnType<typeof wholeBrowser>) => void): readonly string[] => {
    const browser = wholeBrowser();
    change(browser);
    return pageGrants.filter((grant) => lacks(grant) !== null);
  };
  const without = (name: string) => (browser: ReturnType<typeof wholeBrowser>) =>
    void delete (browser.navigator as { [name: string]: unknown })[name];
  expect([
    of(() => {}),
    of(without("serviceWorker")),
    of(without("mediaDevices")),
    of(without("geolocation")),
    of(without("clipboard")),
    of(() => stub({ window: { Notification: {} } })),
    of(() => stub({ window: { MediaRecorder: {} } })),
    of(() => stub({ isSecureContext: false })),
  ]).toEqual([
    [],
    ["notify", "share"],
    ["camera", "microphone"],
    ["location"],
    ["clipboard"],
    ["microphone"],
    ["notify"],
    [...pageGrants],
  ]);
  expect(lacks("camera")).toBe("this page needs https");
  stub({ isSecureContext: true, navigator: {} });
  expect(lacks("camera")).toBe("this browser cannot");
  expect(Object.values(commandsOf).flat().filter(worksUnseen)).toEqual(["notify"]);
});

function media() {
  const story: string[] = [];
  let tracks = 0;
  const getUserMedia = async (wanted: object): Promise<object> => {
    story.push(`asks for ${JSON.stringify(wanted)}`);
    const made = [(tracks += 1), (tracks += 1)];
    return { getTracks: () => made.map((track) => ({ stop: () => void story.push(`stops ${track}`) })) };
  };
  return { story, getUserMedia };
}

test("each grant asks the browser for its own thing, and gives the camera back at once", async () => {
  const { navigator, Notification } = wholeBrowser();
  const { story, getUserMedia } = media();
  let permission = "granted";
  Object.assign(Notification, { requestPermission: async () => permission });
  Object.assign(navigator.mediaDevices, { getUserMedia });
  Object.assign(navigator.geolocation, {
    getCurrentPosition: (_found: unknown, refused: (why: object) => void, options: object) => {
      story.push(JSON.stringify(options));
      refused({ message: "User denied" });
    },
  });
  expect(await Promise.all(pageGrants.map((grant) => asked(grant)))).toEqual([
    null,
    null,
    null,
    "User denied",
    null,
    null,
  ]);
  expect(story.toSorted()).toEqual([
    'asks for {"audio":true}',
    'asks for {"video":true}',
    "stops 1",
    "stops 2",
    "stops 3",
    "stops 4",
    '{"enableHighAccuracy":true,"timeout":30000}',
  ]);
  permission = "default";
  expect(await asked("notify")).toBe("the browser shows none");
  Object.assign(navigator.mediaDevices, { getUserMedia: () => Promise.reject(new Error("in use")) });
  expect(await asked("microphone")).toBe("in use");
  Object.assign(navigator.mediaDevices, { getUserMedia: () => Promise.reject(new Error("")) });
  expect(await asked("camera")).toBe("Error");
});

test("a message is shown by its worker, and on the page where the browser shows none", async () => {
  const { Notification } = wholeBrowser();
  const shown: Shown[] = [];
  const worker = {
    showNotification: async (title: string, options: Omit<Shown, "title">) =>
      void shown.push({ title, ...options }),
  } as never;
  const onPage = { ok: true, text: "Shown on the page; the browser shows no notifications." };
  const asNotification = { ok: true, text: "Shown as a notification." };
  expect(await carriedOut({ command: "notify", title: "T", text: "x" }, "a", worker)).toEqual(asNotification);
  expect(await carriedOut({ command: "notify" }, "b", worker)).toEqual(asNotification);
  expect(await carriedOut({ command: "notify" }, "c", null)).toEqual(onPage);
  Notification.permission = "default";
  expect(await carriedOut({ command: "notify" }, "d", worker)).toEqual(onPage);
  expect(shown).toEqual([
    { title: "T", body: "x", tag: "a", data: { id: "a" } },
    { title: "Parley", body: "", tag: "b", data: { id: "b" } },
  ]);
});

test("where it is, what its clipboard holds, and what a page cannot do", async () => {
  const { navigator } = wholeBrowser();
  const at = (altitude: number | null): void => {
    const coords = { latitude: 52.5200061, longitude: -13.4, accuracy: 12.5, altitude };
    Object.assign(navigator.geolocation, {
      getCurrentPosition: (found: (position: object) => void) => found({ coords, timestamp: 1_000 }),
    });
  };
  const written: string[] = [];
  Object.assign(navigator.clipboard, {
    readText: async () => "y".repeat(65_537),
    writeText: async (text: string) => void written.push(text),
  });
  const of = (request: object) => carriedOut(request as never, "id", null);
  at(null);
  const place = "Latitude 52.520006, longitude -13.400000, within 13 m";
  expect(await of({ command: "location" })).toEqual({
    ok: true,
    text: `${place}, at 1970-01-01T00:00:01.000Z.`,
  });
  at(33.4);
  expect(await of({ command: "location" })).toEqual({
    ok: true,
    text: `${place}, 33 m high, at 1970-01-01T00:00:01.000Z.`,
  });
  expect(await of({ command: "clipboard_read" })).toEqual({ ok: true, text: "y".repeat(65_536) });
  expect(await of({ command: "clipboard_write", text: "words" })).toMatchObject({ ok: true });
  expect(await of({ command: "clipboard_write" })).toMatchObject({ ok: true });
  expect(written).toEqual(["words", ""]);
  expect(await of({ command: "screen_record" })).toEqual({
    ok: false,
    text: "a page cannot do screen_record",
  });
  Object.assign(navigator.clipboard, { readText: () => Promise.reject(new Error("no focus")) });
  expect(await of({ command: "clipboard_read" })).toEqual({ ok: false, text: "no focus" });
});

test("a picture is made smaller until it can be sent, and a recording that is too large is refused", async () => {
  const { navigator } = wholeBrowser();
  const { story, getUserMedia } = media();
  Object.assign(navigator.mediaDevices, { getUserMedia });
  const video = { play: async () => {}, videoWidth: 3_200, videoHeight: 800 };
  // By quality.
  const sizes: { [quality: number]: number } = { 0.85: 1_400_001, 0.7: 1_400_000, 0.5: 3 };
  const canvas = {
    width: 0,
    height: 0,
    getContext: () => ({
      drawImage: (_of: object, ...to: number[]) => void story.push(`draws ${to.join(" ")}`),
    }),
    toBlob(give: (blob: Blob | null) => void, type: string, quality: number) {
      story.push(`${type} at ${quality}`);
      const size = sizes[quality];
      give(size === undefined ? null : Object.defineProperty(new Blob(["jpeg"]), "size", { value: size }));
    },
  };
  // What waits in this file waits no time at all.
  const atOnce = ((run: () => void) => setImmediate(run)) as unknown;
  stub({
    document: { createElement: (tag: string) => (tag === "video" ? video : canvas) },
    setTimeout: atOnce,
  });
  const taken = await carriedOut({ command: "camera", facing: "back" }, "id", null);
  expect(taken).toEqual({ ok: true, text: "A picture of the camera.", picture: btoa("jpeg") });
  const facing = (mode?: string): string =>
    `asks for ${JSON.stringify({ video: { width: { ideal: 1_600 }, ...(mode === undefined ? {} : { facingMode: { ideal: mode } }) } })}`;
  expect(story).toEqual([
    facing("environment"),
    "draws 0 0 1600 400",
    "image/jpeg at 0.85",
    "image/jpeg at 0.7",
    "stops 1",
    "stops 2",
  ]);
  story.length = 0;
  // A small one keeps its size.
  Object.assign(video, { videoWidth: 640, videoHeight: 480 });
  Object.assign(sizes, { 0.85: 1_400_001, 0.7: 1_400_001, 0.5: 1_400_001 });
  expect(await carriedOut({ command: "camera", facing: "front" }, "id", null)).toEqual({
    ok: false,
    text: "the picture is too large",
  });
  expect(await carriedOut({ command: "camera" }, "id", null)).toMatchObject({ ok: false });
  expect(story.filter((each) => /asks|draws|stops/.test(each))).toEqual([
    facing("user"),
    "draws 0 0 640 480",
    "stops 3",
    "stops 4",
    facing(),
    "draws 0 0 640 480",
    "stops 5",
    "stops 6",
  ]);
  story.length = 0;
  // Sound that says it is of any size.
  let bytes = 1_400_000;
  class Sound extends Blob {
    override get size(): number {
      return bytes;
    }
  }
  class Recorder extends EventTarget {
    constructor(_stream: object, options: object) {
      super();
      story.push(JSON.stringify(options));
    }
    start(): void {
      story.push("starts");
    }
    stop(): void {
      for (const part of ["so", "und"])
        this.dispatchEvent(Object.assign(new Event("dataavailable"), { data: new File([part], part) }));
      this.dispatchEvent(new Event("stop"));
    }
  }
  stub({ MediaRecorder: Recorder, Blob: Sound });
  const heard = await carriedOut({ command: "microphone", seconds: 3 }, "id", null);
  expect(heard).toEqual({ ok: true, text: "A recording of 3 s.", sound: btoa("sound") });
  bytes += 1;
  expect(await carriedOut({ command: "microphone" }, "id", null)).toEqual({
    ok: false,
    text: "the recording is too large",
  });
  bytes = 2;
  expect((await carriedOut({ command: "microphone" }, "id", null)).text).toBe("A recording of 10 s.");
  expect(story.slice(0, 5)).toEqual([
    'asks for {"audio":true}',
    '{"audioBitsPerSecond":32000}',
    "starts",
    "stops 7",
    "stops 8",
  ]);
  expect(story.filter((each) => each.startsWith("stops"))).toHaveLength(6);
});
