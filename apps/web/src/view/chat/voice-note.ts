// Records what a person speaks into the microphone. Browsers have it on this machine or over https alone.

export interface Recording {
  /** Ends it; resolves with the note. */
  stop(): Promise<File>;
  cancel(): void;
}

/** Speech stays clear at this rate, and one message carries seven minutes. */
const bitsPerSecond = 24_000;
/** The gateway makes the first of the second; some browsers put Opus into the third, which few can read. */
const endings: readonly (readonly [type: string, ending: string])[] = [
  ["audio/ogg", "ogg"],
  ["audio/webm", "webm"],
  ["audio/mp4", "m4a"],
];

/** Rejects when the person or the browser forbids it, or when there is no microphone. */
export async function record(): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const quit = (): void => {
    for (const track of stream.getTracks()) track.stop();
  };
  const [type = ""] = endings.find(([each]) => MediaRecorder.isTypeSupported(each)) ?? [];
  const recorder = new MediaRecorder(stream, {
    audioBitsPerSecond: bitsPerSecond,
    ...(type === "" ? {} : { mimeType: type }),
  });
  const pieces: Blob[] = [];
  recorder.addEventListener("dataavailable", ({ data }) => pieces.push(data));
  recorder.start();
  return {
    stop: () =>
      new Promise((resolve) => {
        recorder.addEventListener("stop", () => {
          quit();
          const spoken = recorder.mimeType.split(";")[0] ?? type;
          const ending = endings.find(([each]) => each === spoken)?.[1] ?? "webm";
          resolve(new File(pieces, `voice-note.${ending}`, { type: spoken }));
        });
        recorder.stop();
      }),
    cancel() {
      recorder.stop();
      quit();
    },
  };
}
