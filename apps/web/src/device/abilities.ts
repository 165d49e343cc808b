// A browser carries out what is asked of a device, as far as it can. Each grant is asked for once, with the
// person's finger on the button; what the browser or its person refuses is an answer like any other.
import {
  sleep,
  systemClock,
  type DeviceCommand,
  type DeviceGrant,
  type DeviceRequest,
  type DeviceResult,
} from "@parley/protocol";
import { base64 } from "./base64.ts";

/** What a page can ever do, in the order in which it is shown. */
export const pageGrants = [
  "notify",
  "camera",
  "microphone",
  "location",
  "clipboard",
  "share",
] as const satisfies readonly DeviceGrant[];
export type PageGrant = (typeof pageGrants)[number];

export const commandsOf: { readonly [grant in PageGrant]: readonly DeviceCommand[] } = {
  notify: ["notify"],
  camera: ["camera"],
  microphone: ["microphone"],
  location: ["location"],
  clipboard: ["clipboard_read", "clipboard_write"],
  share: [],
};

/** Bytes of a picture or a recording, before base64. */
const mostBytes = 1_400_000;
const pictureSide = 1_600;
const qualities = [0.85, 0.7, 0.5];
const defaultSeconds = 10;
const soundBitsPerSecond = 32_000;
const settleMs = 400;
const clock = systemClock();

/** Why a grant means nothing here; null where it does. */
export function lacks(grant: PageGrant): string | null {
  if (!isSecureContext) return "this page needs https";
  const has: { readonly [each in PageGrant]: boolean } = {
    notify: "Notification" in window && "serviceWorker" in navigator,
    camera: navigator.mediaDevices?.getUserMedia !== undefined,
    microphone: navigator.mediaDevices?.getUserMedia !== undefined && "MediaRecorder" in window,
    location: "geolocation" in navigator,
    clipboard: "clipboard" in navigator,
    share: "serviceWorker" in navigator,
  };
  return has[grant] ? null : "this browser cannot";
}

/** Asks the browser, which asks the person. Returns why not; null: it may. */
export async function asked(grant: PageGrant): Promise<string | null> {
  const lacking = lacks(grant);
  if (lacking !== null) return lacking;
  try {
    if (grant === "notify")
      return (await Notification.requestPermission()) === "granted" ? null : "the browser shows none";
    if (grant === "camera" || grant === "microphone") {
      const stream = await navigator.mediaDevices.getUserMedia(
        grant === "camera" ? { video: true } : { audio: true },
      );
      stop(stream);
    }
    if (grant === "location") await position();
    return null;
  } catch (error) {
    return wordsOf(error);
  }
}

/** True for what works while nobody looks at the page. */
export function worksUnseen(command: DeviceCommand): boolean {
  return command === "notify";
}

export async function carriedOut(
  request: DeviceRequest,
  id: string,
  worker: ServiceWorkerRegistration | null,
): Promise<DeviceResult> {
  try {
    switch (request.command) {
      case "notify":
        return await notified(request, id, worker);
      case "camera":
        return { ok: true, text: "A picture of the camera.", picture: await picture(request.facing) };
      case "microphone": {
        const { seconds = defaultSeconds } = request;
        return { ok: true, text: `A recording of ${seconds} s.`, sound: await sound(seconds) };
      }
      case "location":
        return { ok: true, text: located(await position()) };
      case "clipboard_read":
        return { ok: true, text: (await navigator.clipboard.readText()).slice(0, 65_536) };
      case "clipboard_write":
        await navigator.clipboard.writeText(request.text ?? "");
        return { ok: true, text: "The text is on its clipboard." };
      default:
        return { ok: false, text: `a page cannot do ${request.command}` };
    }
  } catch (error) {
    return { ok: false, text: wordsOf(error) };
  }
}

async function notified(
  { title = "Parley", text = "" }: DeviceRequest,
  id: string,
  worker: ServiceWorkerRegistration | null,
): Promise<DeviceResult> {
  if (worker === null || Notification.permission !== "granted")
    return { ok: true, text: "Shown on the page; the browser shows no notifications." };
  await worker.showNotification(title, { body: text, tag: id, data: { id } });
  return { ok: true, text: "Shown as a notification." };
}

async function picture(facing: DeviceRequest["facing"]): Promise<string> {
  const stream = await navigator.mediaDevices.getUserMedia({
    video: {
      width: { ideal: pictureSide },
      ...(facing === undefined ? {} : { facingMode: { ideal: facing === "front" ? "user" : "environment" } }),
    },
  });
  try {
    const video = document.createElement("video");
    video.muted = true;
    video.playsInline = true;
    video.srcObject = stream;
    await video.play();
    // The first frames of a camera are dark.
    await sleep(clock, settleMs);
    const { videoWidth: width, videoHeight: height } = video;
    const scale = Math.min(1, pictureSide / Math.max(width, height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.getContext("2d")?.drawImage(video, 0, 0, canvas.width, canvas.height);
    for (const quality of qualities) {
      const blob = await new Promise<Blob | null>((give) => canvas.toBlob(give, "image/jpeg", quality));
      if (blob !== null && blob.size <= mostBytes) return await base64(blob);
    }
    throw new Error("the picture is too large");
  } finally {
    stop(stream);
  }
}

async function sound(seconds: number): Promise<string> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  try {
    const recorder = new MediaRecorder(stream, { audioBitsPerSecond: soundBitsPerSecond });
    const parts: Blob[] = [];
    recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
    const ended = new Promise((resolve) => recorder.addEventListener("stop", resolve, { once: true }));
    recorder.start();
    await sleep(clock, seconds * 1_000);
    recorder.stop();
    await ended;
    const whole = new Blob(parts);
    if (whole.size > mostBytes) throw new Error("the recording is too large");
    return await base64(whole);
  } finally {
    stop(stream);
  }
}

function position(): Promise<GeolocationPosition> {
  return new Promise((resolve, reject) => {
    navigator.geolocation.getCurrentPosition(resolve, reject, { enableHighAccuracy: true, timeout: 30_000 });
  });
}

function located({ coords, timestamp }: GeolocationPosition): string {
  const { latitude, longitude, accuracy, altitude } = coords;
  const height = altitude === null ? "" : `, ${Math.round(altitude)} m high`;
  return `Latitude ${latitude.toFixed(6)}, longitude ${longitude.toFixed(6)}, within ${Math.round(accuracy)} m${height}, at ${new Date(timestamp).toISOString()}.`;
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

function wordsOf(error: unknown): string {
  // A GeolocationPositionError is no Error.
  const message = (error as { readonly message?: unknown } | null)?.message;
  return typeof message === "string" && message !== "" ? message : String(error);
}
