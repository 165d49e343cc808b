// Recordings of browsers: the Opus of a WebM becomes Ogg packet for packet, programs hear it, and what is
// torn or made up is told.
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@parley/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { knownSound, listener } from "../src/index.ts";
import { opusPacketsIn } from "../src/ogg-pages.ts";
import { opusSamples, webmOpus } from "../src/webm-opus.ts";
import { wavOf } from "../src/wav.ts";

const { signal } = new AbortController();
const clock = systemClock();

/** An element of EBML; without a length as live recordings have it. */
function element(id: string, body: Buffer, isLive = false): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE((1n << 56n) | (isLive ? (1n << 56n) - 1n : BigInt(body.length)));
  return Buffer.concat([Buffer.from(id, "hex"), size, body]);
}
const opusHead = (channels: number): Buffer => {
  const head = Buffer.alloc(19);
  head.write("OpusHead");
  head.set([1, channels], 8);
  head.writeUInt16LE(312, 10);
  return head;
};
const block = (track: number, packet: Buffer, flags = 0x80): Buffer =>
  element("a3", Buffer.concat([Buffer.from([0x80 | track, 0, 0, flags]), packet]));
const track = (number: number, codec: string, more: Buffer): Buffer =>
  element(
    "ae",
    Buffer.concat([element("d7", Buffer.from([number])), element("86", Buffer.from(codec)), more]),
  );

/** As Chromium writes it: without the lengths of what is still growing, and here with a film beside it. */
function webm(packets: readonly Buffer[], { codec = "A_OPUS", channels = 1, flags = 0x80 } = {}): Buffer {
  const sound = track(2, codec, element("63a2", opusHead(channels)));
  const film = track(1, "V_VP8", Buffer.alloc(0));
  const blocks = packets.flatMap((each) => [block(1, Buffer.from("film")), block(2, each, flags)]);
  const cluster = element("1f43b675", Buffer.concat([element("e7", Buffer.alloc(1)), ...blocks]), true);
  const all = Buffer.concat([element("1654ae6b", Buffer.concat([film, sound])), cluster]);
  return Buffer.concat([
    element("1a45dfa3", Buffer.from("4286810142f78101", "hex")),
    element("18538067", all, true),
  ]);
}

/** Silence of 60 ms in three frames, as Chromium's microphone gives it. */
const quiet = Buffer.from("fb03fffefffefffe", "hex");
const loud = Buffer.concat([Buffer.from([0xfc]), Buffer.alloc(1_274, 7)]);

describe("a recording of a browser", () => {
  test("is the same packets in Ogg, however large they are", () => {
    const packets = Array.from({ length: 120 }, (_, nth) => (nth % 2 === 0 ? quiet : loud));
    const sound = knownSound(webm(packets, { channels: 2 }));
    expect(sound).toMatchObject({ mediaType: "audio/ogg", extension: "ogg" });
    const made = Buffer.from(sound?.bytes ?? []);
    expect(opusPacketsIn(made)?.map((each) => Buffer.from(each))).toEqual(packets);
    const head = made.indexOf("OpusHead");
    expect([made[head + 9], made.readUInt16LE(head + 10)]).toEqual([2, 312]);
    // The last page says how long it is: 60 packets of 60 ms, 60 of 20 ms, at 48 kHz.
    expect(made.readBigUInt64LE(made.lastIndexOf("OggS") + 6)).toBe(BigInt(60 * 2_880 + 60 * 960));
  });

  test.each([
    ["SILK of 60 ms", "18", 2_880],
    ["hybrid of 10 ms", "60", 480],
    ["two frames of 20 ms", "f9", 1_920],
    ["CELT of 2.5 ms", "80", 120],
    ["nothing", "", 0],
  ])("knows how long a packet is: %s", (_what, hex, samples) => {
    expect(opusSamples(Buffer.from(hex, "hex"))).toBe(samples);
  });

  test.each([
    ["another codec", webm([quiet], { codec: "A_VORBIS" })],
    ["more than two channels", webm([quiet], { channels: 6 })],
    ["packets laced into one block", webm([quiet], { flags: 0x82 })],
    ["no sound", webm([])],
  ])("that has %s stays what it is", (_what, bytes) => {
    expect(webmOpus(bytes)).toBeNull();
    expect(knownSound(bytes)).toEqual({ bytes, mediaType: "audio/webm", extension: "webm" });
  });

  test("that is torn has what came before, and no bytes of it do harm", () => {
    const whole = webm([quiet, quiet, quiet]);
    const heard = Array.from(whole, (_, at) => webmOpus(whole.subarray(0, at))?.packets.length ?? 0);
    expect(heard.toSorted((a, b) => a - b)).toEqual(heard);
    expect(heard.at(-1)).toBe(2);
    for (let at = 4; at < whole.length; at += 1) {
      const wrong = Buffer.from(whole);
      wrong[at] = 0xff;
      expect((knownSound(wrong)?.bytes.length ?? 0) < 2 * whole.length).toBe(true);
    }
  });

  test("is known by its first bytes, and what is no recording is none", () => {
    const kinds = [
      "\0\0\0\u0018ftypM4A ",
      "fLaC",
      "ID3",
      "\xff\xfb\x90",
      "OggS",
      "\xff\xf1\x50",
      "<html>",
      "",
    ];
    expect(kinds.map((head) => knownSound(Buffer.from(head, "latin1"))?.extension)).toEqual([
      "m4a",
      "flac",
      "mp3",
      "mp3",
      "ogg",
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("a program that listens", () => {
  let folder: string;
  const ears: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "parley-recordings-"));
  });
  afterAll(async () => {
    await Promise.all(ears.map((ear) => ear.close()));
    await rm(folder, { recursive: true });
  });
  const ear = (script: string, ...args: string[]) => {
    const env = { PATH: `${folder}:${process.env["PATH"]}` };
    const made = listener({ command: "sh", args: ["-c", script, ...args], env, clock });
    ears.push(made);
    return made;
  };

  test("hears a browser's recording and a WAV as 16 kHz WAV, and is told by the ending what the file is", async () => {
    const said = ear('echo "$(wc -c < "$0") ${1##*.}"', "{{WavPath}}", "{{MediaPath}}");
    expect(await said.hear(webm(Array.from({ length: 10 }, () => quiet)), signal)).toBe(
      `${44 + 10 * 0.06 * 32_000} webm`,
    );
    expect(await said.hear(wavOf(Buffer.alloc(2 * 22_050), 22_050), signal)).toBe(`${44 + 32_000} wav`);
  });

  test("is given files that it alone may read, and nothing of them is left afterwards", async () => {
    const script = 'stat -c "%a %n" "$0" "$1"; stat -c %a "$(dirname "$0")"';
    const words = await ear('printf %s "$0"', "a{{WavPath}}b{{WavPath}}c{{MediaPath}}").hear(
      wavOf(Buffer.alloc(200), 48_000),
      signal,
    );
    expect(words).toMatch(/^a(\S+\/heard\.wav)b\1c\S+\/voice\.wav$/);
    const heard = await ear(script, "{{MediaPath}}", "{{WavPath}}").hear(
      wavOf(Buffer.alloc(200), 48_000),
      signal,
    );
    const [media = "", wav = "", parent] = heard.split("\n");
    expect([media.replace(/ .*\//, " "), wav.replace(/ .*\//, " "), parent]).toEqual([
      "600 voice.wav",
      "600 heard.wav",
      "700",
    ]);
    const folderOf = (line: string): string => line.slice(4, line.lastIndexOf("/"));
    expect([folderOf(media) === folderOf(wav), existsSync(folderOf(media))]).toEqual([true, false]);
    // Where no WAV is asked for none is made.
    const plain = await ear('ls "$(dirname "$0")"', "{{MediaPath}}").hear(Buffer.from("words"), signal);
    expect(plain).toBe("voice.ogg");
  });

  test("hears other kinds by ffmpeg where it is, and says so where it is not", async () => {
    const said = ear('cat "$0"', "{{WavPath}}");
    const m4a = Buffer.from("\0\0\0\u0018ftypM4A rest", "latin1");
    const fake = join(folder, "ffmpeg");
    await expect(said.hear(Buffer.from("words"), signal)).rejects.toThrow("it is neither Opus nor WAV");
    await writeFile(fake, '#!/bin/sh\nfor each; do last=$each; done\necho "$*" > "${last#file:}"\n');
    await chmod(fake, 0o700);
    expect(await said.hear(m4a, signal)).toMatch(
      /-protocol_whitelist file -f mov -i file:\S+\/voice\.m4a .* -ar 16000 /,
    );
    // Each by its own name there; what Parley decodes itself comes to it when it is torn.
    const kinds = {
      m4a: m4a,
      mp3: Buffer.from("ID3 rest"),
      flac: Buffer.from("fLaC rest"),
      ogg: Buffer.from("OggS rest"),
      webm: webm([quiet], { codec: "A_VORBIS" }),
    };
    const asked: string[] = [];
    for (const [ending, bytes] of Object.entries(kinds)) {
      const words = await said.hear(bytes, signal);
      asked.push(/-f (\w+) -i/.exec(words)?.[1] ?? words);
      expect(words).toContain(`/voice.${ending} `);
      expect(words).toContain(" -vn -ac 1 -ar 16000 -t 7200 -f wav -y ");
    }
    expect(asked).toEqual(["mov", "mp3", "flac", "ogg", "matroska"]);
    await writeFile(fake, "#!/bin/sh\necho no moov >&2; exit 1\n");
    await expect(said.hear(m4a, signal)).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("ffmpeg ended with 1: no moov"),
    });
  });
});
