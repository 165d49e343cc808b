// Where a person writes: what a key, a press, a paste and a drop do, what goes out with a message and what
// stays, drafts of each conversation, words that are written anew, and a voice note.
import { expect, test, vi } from "vitest";
import { Composer, type Rewrite, type Written } from "../../src/view/chat/composer.ts";
import { readFiles } from "../../src/view/chat/files.ts";
import { browser, fire, markup, mounted, named, settled } from "../drawn.ts";
import { memoryStorage } from "../fake-gateway.ts";

class DrawnComposer extends Composer {}
customElements.define("drawn-composer", DrawnComposer);

const file = (name: string, bytes = 3, type = "text/plain"): File =>
  new File([new Uint8Array(bytes).fill(97)], name, { type });

/** A microphone, and what became of it. */
function microphone(story: string[], kinds: readonly string[], mimeType: string) {
  class Recorder extends EventTarget {
    static isTypeSupported = (type: string): boolean => kinds.includes(type);
    mimeType = mimeType;
    constructor(_stream: object, options: object) {
      super();
      story.push(JSON.stringify(options));
    }
    start(): void {
      story.push("starts");
    }
    stop(): void {
      story.push("stops");
      for (const part of ["so", "und"])
        this.dispatchEvent(Object.assign(new Event("dataavailable"), { data: new File([part], part) }));
      this.dispatchEvent(new Event("stop"));
    }
  }
  vi.stubGlobal("MediaRecorder", Recorder);
  vi.stubGlobal("navigator", {
    mediaDevices: {
      async getUserMedia(wanted: object) {
        story.push(JSON.stringify(wanted));
        return { getTracks: () => [1, 2].map((at) => ({ stop: () => void story.push(`track ${at} ends`) })) };
      },
    },
  });
}

async function composer(more: { readonly thread?: string | null; readonly storage?: Storage } = {}) {
  browser();
  const storage = more.storage ?? memoryStorage();
  vi.stubGlobal("localStorage", storage);
  vi.stubGlobal("navigator", globalThis.navigator ?? {});
  const made = new DrawnComposer();
  const sent: Written[] = [];
  const told: string[] = [];
  made.addEventListener("send", (event) => void sent.push((event as CustomEvent<Written>).detail));
  for (const name of ["stop", "rewritten", "rewrite-last"])
    made.addEventListener(name, () => void told.push(name));
  made.thread = more.thread ?? null;
  made.working = false;
  const { place } = mounted(made);
  await settled();
  const field = (): HTMLTextAreaElement => place.querySelector("textarea") as HTMLTextAreaElement;
  /** What stands in the field stays there when the rest is drawn anew. */
  let words = field().value;
  const update = made["update"].bind(made);
  Object.assign(made, {
    update(changed: never) {
      words = field().value;
      update(changed);
      field().value = words;
    },
  });
  return {
    made,
    place,
    sent,
    told,
    storage,
    words: () => field().value,
    async type(text: string) {
      field().value = text;
      await fire(field(), "input");
    },
    async key(key: string, keys: object = {}) {
      const event = await fire(field(), "keydown", { key, shiftKey: false, isComposing: false, ...keys });
      return event.defaultPrevented;
    },
    press: (name: string) => fire(named(place, name), "click"),
    async set(next: Partial<Composer>) {
      Object.assign(made, next);
      await settled();
    },
    async give(...files: readonly File[]) {
      const input = place.querySelector("input[type=file]") as HTMLInputElement;
      Object.assign(input, { files, value: "C:\\fake" });
      await fire(input, "change");
      await settled();
      return input;
    },
    files: () => [...place.querySelectorAll(".files bdi")].map((each) => each.textContent),
    wrong: () => place.querySelector(".wrong")?.textContent ?? null,
  };
}

test("its parts say what they are, also to whoever does not see them", async () => {
  const c = await composer();
  const form = (stop: string): string =>
    '<form><input type="file" multiple aria-label="Add files">' +
    '<button type="button" class="quiet attach" aria-label="Add files" title="Add files">(icon)</button>' +
    '<label class="sr-only" for="text">Message</label>' +
    '<textarea id="text" rows="1" dir="auto" placeholder="Write a message" enterkeyhint="send" autofocus></textarea>' +
    `${stop}<button>Send</button></form>`;
  expect(markup(c.place).replaceAll(/<svg.*?<\/svg>/g, "(icon)")).toBe(form(""));
  await c.set({ working: true, rewrite: { id: null, text: "old" } });
  await c.give(file("a.txt"));
  await c.set({ wrong: "no" });
  expect(markup(c.place).replaceAll(/<svg.*?<\/svg>/g, "(icon)")).toBe(
    '<p class="rewriting"> You write an earlier message anew; it goes out as another one. <button class="quiet">Leave it</button></p>' +
      '<p class="wrong" role="alert">no</p>' +
      '<ul class="files" aria-label="Files"><li><bdi>a.txt</bdi><button class="quiet" aria-label="Take a.txt out"> × </button></li></ul>' +
      form('<button type="button" class="quiet"> Stop </button>').replace("></textarea>", ">old</textarea>"),
  );
});

test("Enter sends what was written and keeps nothing of it; a line break, a composition and nothing at all do not", async () => {
  const c = await composer();
  expect(await c.key("Enter")).toBe(true);
  await c.type(" \n ");
  await c.key("Enter");
  expect(c.sent).toEqual([]);
  await c.type(" hello ");
  expect(c.storage.getItem("parley.draft.")).toBe(" hello ");
  expect([
    await c.key("Enter", { shiftKey: true }),
    await c.key("Enter", { isComposing: true }),
    await c.key("a"),
  ]).toEqual([false, false, false]);
  expect(c.sent).toEqual([]);
  expect([await c.key("Enter"), c.sent, c.words(), c.storage.getItem("parley.draft.")]).toEqual([
    true,
    [{ text: " hello ", files: [], rewrite: null }],
    "",
    null,
  ]);
  expect(document.activeElement?.id).toBe("text");
  await c.type("again");
  const event = await fire(c.place.querySelector("form"), "submit");
  expect([event.defaultPrevented, c.sent.at(-1)?.text]).toEqual([true, "again"]);
});

test("each conversation has its own draft, which is there when one comes back to it", async () => {
  const storage = memoryStorage();
  storage.setItem("parley.draft.b", "for b");
  const c = await composer({ storage });
  await c.type("for the first");
  await c.set({ thread: "b" });
  expect(c.words()).toBe("for b");
  await c.type("");
  expect([storage.getItem("parley.draft.b"), storage.getItem("parley.draft.")]).toEqual([
    null,
    "for the first",
  ]);
  await c.set({ thread: null });
  expect(c.words()).toBe("for the first");
});

test("words that are written anew stand in the field, are no draft, and give way to the draft again", async () => {
  const c = await composer();
  await c.type("my draft");
  const edit: Rewrite = { id: "r1", text: "old words" };
  const line = (): string | undefined => c.place.querySelector(".rewriting")?.firstChild?.textContent?.trim();
  const lines: (string | undefined)[] = [];
  for (const rewrite of [edit, { id: null, text: "old words" }, { ...edit, branch: "r0" }]) {
    await c.set({ rewrite });
    lines.push(line());
  }
  expect(lines).toEqual([
    "You give a waiting message other words.",
    "You write an earlier message anew; it goes out as another one.",
    "What you write takes the message's place in a conversation of its own; this one stays.",
  ]);
  expect([c.words(), document.activeElement?.id]).toEqual(["old words", "text"]);
  await c.set({ rewrite: edit });
  await c.type("new words");
  expect(c.storage.getItem("parley.draft.")).toBe("my draft");
  await c.key("Enter");
  // What the gateway may refuse stays in the field until it was taken.
  expect([c.sent, c.words(), c.storage.getItem("parley.draft.")]).toEqual([
    [{ text: "new words", files: [], rewrite: edit }],
    "new words",
    "my draft",
  ]);
  const escape = await fire(c.place.querySelector("textarea"), "keydown", { key: "Escape" });
  expect([c.told, escape.defaultPrevented]).toEqual([["rewritten"], false]);
  await c.press("Leave it");
  expect(c.told).toEqual(["rewritten", "rewritten"]);
  await c.set({ rewrite: null });
  expect([c.words(), line()]).toEqual(["my draft", undefined]);
  await c.key("Escape");
  expect(c.told).toHaveLength(2);
});

test("the up arrow in an empty field asks for the last message, and in a full one moves", async () => {
  const c = await composer();
  expect([await c.key("ArrowUp"), c.told]).toEqual([true, ["rewrite-last"]]);
  await c.type(" ");
  expect([await c.key("ArrowUp"), c.told]).toEqual([false, ["rewrite-last"]]);
});

test("while the agent works it can be stopped", async () => {
  const c = await composer();
  expect(markup(c.place)).not.toContain("Stop");
  await c.set({ working: true });
  await c.press("Stop");
  expect(c.told).toEqual(["stop"]);
});

test("files go along: chosen, pasted and dropped, ten of them and 1.4 MB together, and one can be taken out", async () => {
  const c = await composer();
  const input = await c.give(file("a.txt"), file("a.txt", 4));
  expect([c.files(), input.value]).toEqual([["a.txt", "a.txt"], ""]);
  await fire(c.place.querySelectorAll(".files button")[0] ?? null, "click");
  expect(c.made.files).toEqual([{ name: "a.txt", mediaType: "text/plain", data: "YWFhYQ==" }]);
  const form = (): HTMLFormElement => c.place.querySelector("form") as HTMLFormElement;
  const paste = async (files: readonly File[]): Promise<boolean> =>
    (await fire(form(), "paste", { clipboardData: { files } })).defaultPrevented;
  expect([await paste([]), await paste([file("p.png", 1, "image/png")])]).toEqual([false, true]);
  await settled();
  const over = async (...types: readonly string[]): Promise<boolean> =>
    (await fire(form(), "dragover", { dataTransfer: { types } })).defaultPrevented;
  expect([await over("text/plain"), await over("text/plain", "Files")]).toEqual([false, true]);
  const drop = await fire(form(), "drop", { dataTransfer: { files: [file("d.txt")] } });
  await settled();
  expect([drop.defaultPrevented, c.files()]).toEqual([true, ["a.txt", "p.png", "d.txt"]]);
  await c.give(...Array.from({ length: 8 }, (_, at) => file(`${at}`)));
  expect([c.files().length, c.wrong()]).toEqual([
    3,
    "One message takes up to ten files and 1.4 MB together.",
  ]);
  await c.give(...Array.from({ length: 7 }, (_, at) => file(`${at}`)));
  expect([c.files().length, c.wrong()]).toEqual([10, null]);
  // They alone are a message, and go out once.
  await c.give(file("11"));
  expect(c.wrong()).not.toBe(null);
  await c.key("Enter");
  expect([c.sent.length, c.sent[0]?.files.length, c.files(), c.wrong()]).toEqual([1, 10, [], null]);
  await c.key("Enter");
  expect(c.sent).toHaveLength(1);
  // In base64, as they go: four signs for three bytes.
  const large = (chars: number) => ({ name: "large", mediaType: "", data: "x".repeat(chars) });
  await c.set({ files: [large(1_866_660)] });
  await c.give(file("more"));
  expect([c.files(), c.wrong()]).toEqual([["large", "more"], null]);
  await c.set({ files: [large(1_866_664)] });
  await c.give(file("more"));
  expect([c.files(), c.wrong() === null]).toEqual([["large"], false]);
});

test("a file is read with its name's end, and no further than what cannot be sent anyway", async () => {
  const [plain, voice] = await readFiles([file("", 1), file(`${"n".repeat(300)}.txt`, 1)], { voice: true });
  expect([plain, voice?.name.length, voice?.name.endsWith("n.txt")]).toEqual([
    { voice: true, name: "file", mediaType: "text/plain", data: "YQ==" },
    255,
    true,
  ]);
  const slices: unknown[] = [];
  const large = {
    name: "large",
    type: "t",
    slice: (...of: unknown[]) => (slices.push(of), new Blob(["xy"])),
  } as unknown as File;
  expect([await readFiles([large]), slices]).toEqual([
    [{ name: "large", mediaType: "t", data: btoa("xy") }],
    [[0, 1_400_001]],
  ]);
});

test("a voice note is recorded, ended and added, or left; the microphone is given back each time", async () => {
  const c = await composer();
  const story: string[] = [];
  microphone(story, ["audio/webm", "audio/mp4"], "audio/webm;codecs=opus");
  await c.set({ working: true });
  const voice = (): string[] => {
    const button = [...c.place.querySelectorAll("button.attach")].at(-1);
    return ["aria-label", "aria-pressed", "class"].map((name) => button?.getAttribute(name)?.trim() ?? "");
  };
  expect(voice()).toEqual(["Record a voice note", "false", "quiet attach"]);
  await c.press("Record a voice note");
  await vi.waitFor(() => expect(voice()).toEqual(["End the voice note", "true", "quiet attach recording"]));
  expect([story, markup(c.place).includes('<span class="sr-only" role="status">Recording</span>')]).toEqual([
    ['{"audio":true}', '{"audioBitsPerSecond":24000,"mimeType":"audio/webm"}', "starts"],
    true,
  ]);
  story.length = 0;
  await c.press("End the voice note");
  await settled();
  expect([story, c.made.files, voice()[1]]).toEqual([
    ["stops", "track 1 ends", "track 2 ends"],
    [{ voice: true, name: "voice-note.webm", mediaType: "audio/webm", data: btoa("sound") }],
    "false",
  ]);
  story.length = 0;
  await c.press("Record a voice note");
  await settled();
  await c.press("Cancel");
  expect([story.slice(3), c.made.files.length, c.made.recording]).toEqual([
    ["stops", "track 1 ends", "track 2 ends"],
    1,
    null,
  ]);
  await c.press("Record a voice note");
  await settled();
  story.length = 0;
  c.made.disconnectedCallback();
  expect(story).toEqual(["stops", "track 1 ends", "track 2 ends"]);
});

test("a microphone that is refused is told; a browser without one has no button", async () => {
  const c = await composer();
  microphone([], [], "");
  vi.stubGlobal("navigator", {
    mediaDevices: { getUserMedia: () => Promise.reject(new DOMException("Permission denied")) },
  });
  await c.set({ working: true });
  await c.press("Record a voice note");
  await vi.waitFor(() => expect(c.wrong()).toBe("The microphone cannot be used: Permission denied"));
  for (const lack of [{ navigator: {} }, { navigator: { mediaDevices: {} } }, { MediaRecorder: undefined }]) {
    microphone([], [], "");
    for (const [name, value] of Object.entries(lack)) vi.stubGlobal(name, value);
    c.made.requestUpdate();
    await settled();
    expect(c.place.querySelectorAll("button.attach")).toHaveLength(1);
  }
});

test.each([
  [["audio/ogg", "audio/webm"], "audio/ogg", "voice-note.ogg", "audio/ogg", '"mimeType":"audio/ogg"'],
  [["audio/mp4"], "audio/mp4", "voice-note.m4a", "audio/mp4", '"mimeType":"audio/mp4"'],
  [[], "audio/odd", "voice-note.webm", "audio/odd", "{"],
])("a browser that records %s as %s makes %s", async (kinds, spoken, name, type, asked) => {
  const { record } = await import("../../src/view/chat/voice-note.ts");
  const story: string[] = [];
  microphone(story, kinds, spoken);
  const note = await (await record()).stop();
  expect([note.name, note.type, await note.text(), story[1]?.includes(asked)]).toEqual([
    name,
    type,
    "sound",
    true,
  ]);
  expect(story[1]?.includes("mimeType")).toBe(kinds.length > 0);
  vi.unstubAllGlobals();
});
