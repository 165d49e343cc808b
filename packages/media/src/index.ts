// Pictures and sound as files: checked, scaled, made and turned into what models and platforms take.
export { draw, type DrawEngine } from "./draw.ts";
export { pictureReader, type PictureReader } from "./picture-reader.ts";
export type { FitPicture } from "./picture-worker.ts";
export { knownSound } from "./sound-kind.ts";
export { listener, type Listener } from "./transcribe.ts";
export { speaker, type Speaker, type SpeechEngine } from "./speech.ts";
