import { LLMock } from "@copilotkit/aimock";
import { silentLog } from "@parley/protocol";
import { fakeModels, type ModelStep, virtualClock } from "@parley/testkit";
import {
  anthropicMessages,
  google,
  type Model,
  ollama,
  openAiCompletions,
  openAiResponses,
  type ProviderOptions,
  rehearsal,
} from "../src/index.ts";
import { type ModelStage, modelContract } from "./contract.ts";

const facts = { contextWindow: 100_000, maxTokens: 8000, input: ["text"], reasoning: false } as const;

const steps: { readonly [answer in Parameters<ModelStage["arrange"]>[0]]: ModelStep } = {
  words: { text: "Some words, to be streamed one by one." },
  call: { toolCalls: [{ name: "weather", args: { city: "Oslo" } }] },
  failure: { status: 529, body: { error: { type: "overloaded_error", message: "Overloaded" } } },
  hang: { hang: "body" },
};

const overOurFake = (make: (options: ProviderOptions) => Model) => async (): Promise<ModelStage> => {
  const [server, clock] = [await fakeModels(), virtualClock()];
  return {
    model: make({
      id: "there/fake",
      modelId: "fake",
      baseUrl: `${server.url}/v1`,
      facts,
      clock,
      log: silentLog,
    }),
    clock,
    arrange(answer) {
      server.script(steps[answer]);
      return "go";
    },
    close: server.close,
  };
};

modelContract("openAiCompletions", overOurFake(openAiCompletions));
modelContract("openAiResponses", overOurFake(openAiResponses));
modelContract("anthropicMessages", overOurFake(anthropicMessages));
modelContract("ollama", overOurFake(ollama));

const overTheMock =
  (make: (options: ProviderOptions) => Model, path: string) => async (): Promise<ModelStage> => {
    const mock = new LLMock({ port: 0 });
    mock.onMessage("words", { content: "Some words, to be streamed one by one." });
    mock.onMessage("call", { toolCalls: [{ name: "weather", arguments: '{"city":"Oslo"}' }] });
    mock.onMessage("failure", {
      error: { message: "The model is overloaded. Please try again later.", type: "UNAVAILABLE" },
      status: 503,
    });
    mock.onMessage("hang", { content: "never in time" }, { latency: 60_000 });
    await mock.start();
    const clock = virtualClock();
    return {
      model: make({
        id: "there/some",
        modelId: "some",
        baseUrl: `${mock.url}${path}`,
        facts,
        clock,
        log: silentLog,
      }),
      clock,
      arrange: (answer) => answer,
      close: () => mock.stop(),
    };
  };

modelContract("google", overTheMock(google, "/v1beta"));
modelContract("ollama in its own API", overTheMock(ollama, ""));

modelContract("rehearsal", async () => {
  const clock = virtualClock();
  const scripts = {
    words: "!say some words, to be streamed",
    call: '!tool weather {"city":"Oslo"}',
    failure: "!fail overloaded",
    hang: "!hang",
  };
  return { model: rehearsal({ clock }), clock, arrange: (answer) => scripts[answer], close: async () => {} };
});
