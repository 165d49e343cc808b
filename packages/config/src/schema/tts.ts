// messages.tts: which replies are spoken, and what speaks them.
import { z } from "zod";
import { secretField } from "./fields.ts";

export const ttsSchema = z
  .strictObject({
    auto: z
      .enum(["off", "always", "inbound", "tagged"])
      .default("off")
      .describe(
        'Replies that are spoken beside their words: none, all, those to voice messages ("inbound"), or those that the agent marks ("tagged"). /tts sets it for one conversation.',
      ),
    provider: z
      .enum(["openai", "elevenlabs", "cli"])
      .exactOptional()
      .describe("What speaks. Default: what providers has, else OpenAI with its key, else espeak-ng."),
    providers: z
      .strictObject({
        openai: z
          .strictObject({
            apiKey: secretField("Default: that of models.providers.openai.").exactOptional(),
            baseUrl: z
              .url({ protocol: /^https?$/, error: "must be an http or https URL" })
              .exactOptional()
              .describe(
                "Root of a server that speaks the same. Default: models.providers.openai, else OpenAI.",
              ),
            model: z.string().min(1).default("gpt-4o-mini-tts").describe("The model."),
            voice: z.string().min(1).default("alloy").describe("The voice."),
            instructions: z.string().max(4_000).exactOptional().describe("How it is to sound."),
            speed: z.number().min(0.25).max(4).exactOptional().describe("Faster or slower than 1."),
          })
          .exactOptional()
          .describe("OpenAI's /audio/speech, or a server that has it."),
        elevenlabs: z
          .strictObject({
            apiKey: secretField("Default: ELEVENLABS_API_KEY.").exactOptional(),
            baseUrl: z
              .url({ protocol: /^https?$/, error: "must be an http or https URL" })
              .default("https://api.elevenlabs.io")
              .describe("Root of the API."),
            voiceId: z.string().min(1).default("pMsXgVXv3BLzUgSXRplE").describe("The voice."),
            modelId: z.string().min(1).default("eleven_multilingual_v2").describe("The model."),
            languageCode: z.string().min(2).max(8).exactOptional().describe("As in en."),
          })
          .exactOptional()
          .describe("ElevenLabs."),
        cli: z
          .strictObject({
            command: z.string().min(1).default("espeak-ng").describe("The program."),
            args: z
              .array(z.string())
              .default(["--stdin", "--stdout"])
              .describe("Its arguments: it reads the text from its input and writes a WAV to its output."),
          })
          .exactOptional()
          .describe("A program of this machine: espeak-ng, piper."),
      })
      .prefault({})
      .describe("What can speak."),
    maxTextLength: z
      .number()
      .int()
      .min(100)
      .max(32_000)
      .default(4000)
      .describe("Longest text that is spoken, in characters."),
  })
  .prefault({})
  .describe("Spoken replies.");
