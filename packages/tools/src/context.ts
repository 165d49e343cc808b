// Defines what tool factories receive: stable facts of the agent and its place, and small ports to the rest
// of Parley. Nothing here may change a schema or description from turn to turn (I12): what varies more often
// reaches a tool by the scope of each call, which the tool hands to its ports.
import type {
  Button,
  Clock,
  DeviceAbout,
  DeviceGrant,
  DeviceRequest,
  ImageContent,
  JsonObject,
  Json,
  MediaFile,
  MediaShape,
  SessionKind,
  ThinkingLevel,
  Usage,
} from "@parley/protocol";
import type { GetAnswer, MemoryHit, NoteLine } from "@parley/memory";
import type { CommandEnv } from "./exec/environment.ts";
import type { Commands } from "./exec/commands.ts";
import type { ExecAction } from "./exec/exec-action.ts";
import type { ExecPolicy } from "./exec/exec-decision.ts";
import type { Origins } from "./files/origins.ts";
import type { WorkspaceFiles } from "./files/workspace-files.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";
import type { WayOut } from "./sandbox/way-out.ts";
import type { CallEffects, Tool, ToolResult, ToolScope } from "./tool.ts";

export interface ToolContext extends MachinePorts, SessionPorts {
  /** True when all who may speak in this turn are owners. */
  readonly owner: boolean;
  /** Everybody whose messages the turn follows: `telegram:42`. */
  readonly speakers?: readonly string[];
  /** Paths below the workspace that enter prompts because the config says so. */
  readonly promptPaths?: readonly string[];
  /** True when the model sees pictures. */
  readonly vision: boolean;
  /** IANA name of the user's zone. */
  readonly timeZone: string;
  /** "2:05 pm" instead of "14:05"; absent: no. */
  readonly halfDays?: boolean;
  readonly files: WorkspaceFiles;
  readonly sandbox: Sandbox;
  readonly clock: Clock;
  /** Limits one result, in UTF-8 bytes: pages and excerpts fit into it. Default 8,192. */
  readonly resultBytes?: number;
  /** Tools that the model has to look up; absent: it is told all of them. */
  readonly deferred?: readonly Tool[];
  /** Absent: the agent has no commands here. */
  readonly exec?: ExecPorts;
}

/** Ports to this machine that a tool gets as they are; made once for the process. */
export interface MachinePorts {
  /** Stores who wrote the files that enter prompts. Absent: nothing is stored. */
  readonly origins?: Origins;
  readonly pictures?: Pictures;
  /** Absent: no pictures are made here. */
  readonly drawing?: Drawing;
  /** Absent: nothing is spoken here. */
  readonly speech?: Speech;
  readonly settings?: Settings;
  /** Absent: there is no way to the open web here. */
  readonly web?: Web;
  /** Absent: there is no browser here. */
  readonly browser?: Browser;
  /** To the proxy for sandboxes whose network is `egress`; it listens from the first call on. */
  readonly wayOut?: () => Promise<WayOut>;
  /** Absent: pages of the agent's own are not looked at here. */
  readonly renderer?: Renderer;
  /** Absent: the agent's memory is not searched here. */
  readonly memory?: AgentMemory;
  /** Absent: no file of a workspace is private by its place. */
  readonly notes?: NoteFiles;
  /** Absent: no device can be reached from here. */
  readonly devices?: PairedDevices;
}

/** Computers and phones of people, on which an agent may do what they granted. */
export interface PairedDevices {
  /** False: there is none, so no prompt tells of them. */
  some(): boolean;
  list(): Promise<
    readonly {
      readonly id: string;
      readonly name: string;
      readonly grants: readonly DeviceGrant[];
      readonly connected: boolean;
      readonly lastSeenAtMs: number | null;
      /** What the device says of itself. */
      readonly about: DeviceAbout | null;
    }[]
  >;
  /** Throws Fault. `source`: whose words the text is, when it is not Parley's. */
  invoke(
    scope: ToolScope,
    what: DeviceRequest & { readonly node: string; readonly timeoutSeconds: number },
  ): Promise<
    Pick<ToolResult, "isError" | "waitsFor"> & {
      readonly text: string;
      readonly picture?: { readonly path: string; readonly mediaType: string };
      readonly source?: string;
      readonly cells?: CallEffects["cells"];
    }
  >;
}

/** Ports to the session and the chat, made once for a config: the scope of each call says which session. */
export interface SessionPorts {
  readonly status: SessionStatus;
  readonly plans: Plans;
  readonly children: Children;
  readonly questions: AskUser;
  readonly messages: Messages;
  readonly sessions: OtherSessions;
  readonly schedules: ScheduledJobs;
  readonly loadedTools: LoadedTools;
  readonly seenPictures: SeenPictures;
  readonly spending: Spending;
  readonly canvases: Canvases;
  /** Only in the session in which an agent looks after its notes at night. */
  readonly upkeep?: MemoryUpkeep;
}

export interface UpkeepChange {
  readonly kind: "merge" | "contradiction";
  /** As `look` names them: "MEMORY.md#L3". */
  readonly lines: readonly string[];
  /** Of a merge. */
  readonly text?: string | undefined;
  readonly why: string;
}

/** The agent's notes at night: what is proposed there is written once an owner accepts it. */
export interface MemoryUpkeep {
  /** Groups of lines that may say the same or the opposite; `more`: groups that had no room. */
  look(
    scope: ToolScope,
    roomBytes: number,
  ): Promise<{
    readonly groups: readonly (readonly NoteLine[])[];
    readonly more: number;
    /** Where text of strangers came from that somebody had read who noted some of it. */
    readonly untrusted: readonly string[];
  }>;
  propose(scope: ToolScope, changes: readonly UpkeepChange[], roomBytes: number): Promise<Done>;
}

/** Tools that a session has looked up. */
export interface LoadedTools {
  /** From the next model call on their schemas are told. Repeating it changes nothing. */
  load(scope: ToolScope, names: readonly string[]): Promise<void>;
}

export interface ExecPorts {
  readonly commands: Commands;
  readonly policy: ExecPolicy;
  /** The gateway's own environment, of which only harmless names reach a command. */
  readonly host: CommandEnv;
  /**
   * Checks one last time, right before the start: true when a person approved exactly this action for this
   * call. Absent: nobody can approve, so only what the policy lets run without asking runs.
   */
  readonly approved?: (action: ExecAction, hash: string, scope: ToolScope) => Promise<boolean>;
  readonly timeoutSeconds: number;
}

/** A picture that a model may be shown: upright, small enough, without what its camera noted. */
export interface KeptPicture {
  /** Under the media folder. */
  readonly path: string;
  readonly mediaType: string;
  readonly width: number;
  readonly height: number;
  /** Of the picture that came in. */
  readonly original: { readonly width: number; readonly height: number; readonly frames: number };
}

/** Pictures on their way to a model, whose bytes never enter the transcript. */
export interface Pictures {
  /** Checks, scales and stores one. `refused`: why no model is shown it; words that go on after its name. */
  keep(bytes: Uint8Array, signal: AbortSignal): Promise<KeptPicture | { readonly refused: string }>;
}

/** The making of pictures, as the config has it at that moment. */
export interface Drawing {
  /** `<provider>/<model>` that is asked first. */
  model(): { readonly model: string } | Unavailable;
  /** Throws Fault. */
  draw(
    request: {
      readonly prompt: string;
      readonly count: number;
      readonly size?: string | undefined;
      /** Kept ones, from which the new ones are made. */
      readonly images?: readonly ImageContent[];
    },
    signal: AbortSignal,
  ): Promise<{
    readonly pictures: readonly { readonly bytes: Uint8Array; readonly extension: string }[];
    /** That made them. */
    readonly model: string;
    readonly usage: Usage;
  }>;
}

/** What calls spend beside their turn's own model calls: for the agent's limits, and for the usage report. */
interface Spending {
  /** Throws Fault("denied") when a limit is reached. `used`: what was spent, and for which model. */
  around<T>(
    scope: ToolScope,
    use: (used: (usage: Usage, model: string) => Promise<void>) => Promise<T>,
  ): Promise<T>;
}

/** Speech, as the config has it at that moment. */
export interface Speech {
  /** By what it is spoken; the name is a service's or a program's. */
  voice(): { readonly name: string } | Unavailable;
  /** Recordings that play as voice notes: several of a text that is too long for one. Throws Fault. */
  speak(text: string, signal: AbortSignal): Promise<readonly MediaFile[]>;
}

/** The pictures of a session, and the model that looks at them for one that does not see. */
export interface SeenPictures {
  /**
   * Those that the session showed and those of the messages that the turn answers, newest last. The same
   * message's pictures have the same number.
   */
  shown(scope: ToolScope): Promise<readonly (ImageContent & { readonly message: number })[]>;
  /** `<provider>/<model>`, as the config names it. */
  describer(): { readonly model: string } | Unavailable;
  /** What that model says of the pictures, and its name. Throws Fault. */
  describe(
    scope: ToolScope,
    request: { readonly prompt: string; readonly pictures: readonly ImageContent[] },
  ): Promise<{ readonly text: string; readonly model: string }>;
}

/** What a person would read at an address. */
export interface WebPage {
  /** After redirects. */
  readonly url: string;
  /** 400 and above: the text is what the server says to it. */
  readonly status: number;
  readonly contentType: string;
  readonly title: string | null;
  readonly byline: string | null;
  /** Markdown of HTML; else text. */
  readonly text: string;
  /** The page goes on behind the text. */
  readonly truncated: boolean;
  readonly cached: boolean;
}

interface WebPages {
  /** That one call returns at most. */
  readonly maxChars: number;
  /** Throws Fault, which names the host and the reason. */
  read(url: string, signal: AbortSignal): Promise<WebPage>;
}

interface WebQuery {
  readonly query: string;
  readonly count: number;
  readonly freshness?: "day" | "week" | "month" | "year" | undefined;
  readonly country?: string | undefined;
  readonly language?: string | undefined;
}

export interface WebFindings {
  readonly results: readonly {
    readonly title: string;
    readonly url: string;
    readonly snippet: string;
    readonly age?: string;
  }[];
  /** Of providers that write one. */
  readonly answer?: string;
  /** By a model that searched. */
  readonly usage?: Usage;
  readonly provider: string;
  /** Providers that were asked before and failed. */
  readonly failed: readonly { readonly provider: string; readonly reason: string }[];
  readonly cached: boolean;
}

interface WebSearch {
  /** The one that is asked first, as the config calls it. */
  readonly provider: string;
  /** Results when a call names no number. */
  readonly maxResults: number;
  /** Throws Fault when no provider answers. */
  search(query: WebQuery, signal: AbortSignal): Promise<WebFindings>;
}

interface WebFiles {
  /** Throws Fault, which names the host and the reason. */
  fetch(
    url: string,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<{ readonly url: string; readonly bytes: Uint8Array }>;
}

/** The open web, as the config has it at that moment. */
interface Web {
  pages(): WebPages | Unavailable;
  files(): WebFiles | Unavailable;
  search(): WebSearch | Unavailable;
}

export const browserActions = [
  "open",
  "navigate",
  "back",
  "snapshot",
  "click",
  "type",
  "press",
  "select",
  "hover",
  "scroll",
  "upload",
  "wait",
  "screenshot",
  "pdf",
  "tabs",
  "focus",
  "close",
  "console",
  "dialog",
  "evaluate",
] as const;

/** One schema for all actions; what each needs is checked by the browser. */
interface BrowserCall {
  readonly action: (typeof browserActions)[number];
  readonly url?: string | undefined;
  readonly tab?: string | undefined;
  readonly ref?: string | undefined;
  readonly text?: string | undefined;
  readonly key?: string | undefined;
  readonly values?: readonly string[] | undefined;
  readonly files?: readonly NamedBytes[] | undefined;
  readonly submit?: boolean | undefined;
  readonly fullPage?: boolean | undefined;
  readonly accept?: boolean | undefined;
  readonly textChars: number;
}

interface NamedBytes {
  readonly name: string;
  readonly bytes: Uint8Array;
}

interface BrowserPort {
  /** `profile`: who shares tabs and cookies. Throws Fault. */
  run(
    profile: string,
    call: BrowserCall,
    signal: AbortSignal,
  ): Promise<{
    readonly text: string;
    readonly url: string | null;
    /** JPEG. */
    readonly picture?: Uint8Array;
    readonly files: readonly NamedBytes[];
  }>;
  /** Where the tab is; null while none is open. */
  urlOf(profile: string, tab?: string): string | null;
}

/** A browser, as the config has it at that moment. */
interface Browser {
  port(): BrowserPort | Unavailable;
}

interface PageRenderer {
  /** Shows the page without a network and runs the scripts in order. Throws Fault. */
  render(
    page: { readonly html: string; readonly scripts: readonly string[] },
    signal: AbortSignal,
  ): Promise<{
    /** Of the last script. */
    readonly value: string;
    /** JPEG. */
    readonly picture: Uint8Array;
    readonly console: readonly string[];
  }>;
}

interface Renderer {
  port(): PageRenderer | Unavailable;
}

interface CanvasDone {
  readonly text: string;
  readonly effects: CallEffects;
}

/** The canvas of a call's session. All that changes is returned as effects. */
export interface Canvases {
  /** Why there is none; null where there is one. */
  unavailable(): string | null;
  /** `draw`: a picture of the page for those who have no link; null where none can be made. */
  present(
    scope: ToolScope,
    page: {
      readonly title: string | undefined;
      readonly html: string;
      readonly draw: (html: string) => Promise<MediaFile | null>;
    },
  ): Promise<CanvasDone>;
  update(
    scope: ToolScope,
    page: { readonly title: string | undefined; readonly html: string },
  ): Promise<CanvasDone>;
  hide(scope: ToolScope): Promise<CanvasDone>;
  /** What is shown now. Throws Fault("missing"). */
  shown(scope: ToolScope): Promise<{
    readonly title: string;
    readonly version: number;
    readonly html: string;
    readonly scripts: readonly string[];
  }>;
  /** The script runs for everybody who looks, also later. */
  scripted(scope: ToolScope, script: string): Promise<CallEffects>;
}

export interface SessionStatus {
  /** Facts of the session, in the order in which they are shown; no secrets. */
  lines(scope: ToolScope): Promise<readonly { readonly name: string; readonly value: string }[]>;
  /**
   * Sets the session's model, null for the agent's own. Returns the model of the next turn. Throws
   * Fault("invalid") for an unknown one.
   */
  setModel(scope: ToolScope, model: string | null): Promise<string>;
}

interface PlanStep {
  readonly step: string;
  readonly status: "pending" | "in_progress" | "completed";
}

export interface Plans {
  save(
    scope: ToolScope,
    plan: { readonly explanation?: string; readonly steps: readonly PlanStep[] },
  ): Promise<void>;
}

/** The config file and the daemon, as far as the owner's agent may use them. */
export interface Settings {
  /**
   * `value`: the file as written, with its secrets, to compare and never to show. `shown`: the file without
   * them.
   */
  read(): Promise<{ readonly value: JsonObject; readonly shown: Json; readonly hash: string }>;
  /** The JSON Schema of one path ("messages.queue"); null when there is no such key. */
  schema(path: string): Promise<Json>;
  /**
   * Validates, then writes the whole file; `basedOn` must still be the file's hash. Throws Fault("invalid")
   * with the problems, Fault("conflict").
   */
  write(value: JsonObject, basedOn: string): Promise<{ readonly restart: boolean }>;
  /** Restarts once this turn's answer is stored. */
  restart(scope: ToolScope, reason: string): Promise<void>;
  /** Updates Parley; the session is told how it ended. `to`: a version, the newest when absent. */
  update(scope: ToolScope, to: string | undefined): Promise<void>;
}

interface RecallRequest {
  readonly query: string;
  /** Absent: as the config says. */
  readonly maxResults?: number | undefined;
  readonly minScore?: number | undefined;
}

/** `untrusted`: a turn wrote it that had read text of strangers from there. */
type RecalledHit = MemoryHit & { readonly untrusted?: string };

export interface Recalled {
  readonly hits: readonly RecalledHit[];
  /** How it was searched, and what the reader should know of the index. */
  readonly mode: string;
  readonly notes: readonly string[];
  /** Whether answers name their sources here. */
  readonly citations: boolean;
}

/** The notes of the agent that a call's scope names, as far as its people may read them there. */
export interface AgentMemory {
  search(scope: ToolScope, request: RecallRequest): Promise<Recalled>;
  /** Throws Fault for what is no memory of this conversation. */
  get(
    scope: ToolScope,
    request: { readonly path: string; readonly from: number; readonly lines: number },
  ): Promise<GetAnswer & { readonly untrusted?: string }>;
}

/** The agent's notes as files of its workspace. */
export interface NoteFiles {
  /**
   * Why the people of this call may not read what lies there; null when they may. The same places are out of
   * reach as for `AgentMemory`. `path` is relative to the workspace.
   */
  refusal(scope: ToolScope, path: string): Promise<string | null>;
  /**
   * Before a tool writes a note: records who its new lines come from. Throws Fault("denied") when they hold a
   * secret of the config.
   */
  writing(scope: ToolScope, write: NoteWrite): Promise<void>;
  /**
   * Where text of strangers came from that a turn had read before it wrote one of these lines; null when none
   * is known to be of such a turn.
   */
  untrusted(scope: ToolScope, path: string, text: string): Promise<string | null>;
}

interface NoteWrite {
  readonly path: string;
  /** Null: there is no file, or will be none. */
  readonly before: string | null;
  readonly after: string | null;
  readonly tool: string;
}

/** Why a tool is not there, for `parley tools explain`. */
export interface Unavailable {
  readonly unavailable: string;
}

export const readOnlyWorkspace =
  "the sandbox mounts the workspace read-only (agents.defaults.sandbox.workspaceAccess)";

export type ToolFactory = (context: ToolContext) => Tool | Unavailable;

export function isUnavailable<Made extends object>(made: Made | Unavailable): made is Unavailable {
  return "unavailable" in made;
}

/** What a call did, in words for the model, and what it does outside its turn. */
export interface Done {
  readonly text: string;
  readonly effects?: CallEffects;
}

interface UserQuestion {
  readonly question: string;
  readonly options: readonly string[];
  /** A form's fields. */
  readonly fields: readonly { readonly label: string; readonly long: boolean }[];
  readonly minutes: number;
}

/** Questions to the people of a turn. */
export interface AskUser {
  /**
   * The first run of a call shows the question and waits; a later one returns the answer, or that nobody
   * answered. While it waits, `text` and `effects` are for the case that somebody writes instead. Throws
   * Fault where nobody could answer.
   */
  ask(
    scope: ToolScope,
    request: UserQuestion,
  ): Promise<Done & { readonly waitsFor?: { readonly ticket: string; readonly untilMs: number } }>;
}

export interface SessionsRequest {
  /** Absent: all. */
  readonly kinds?: readonly SessionKind[] | undefined;
  readonly activeMinutes?: number | undefined;
  readonly limit: number;
  /** Last words of each that are shown. */
  readonly messages: number;
  readonly maxBytes: number;
}

export interface HistoryRequest {
  /** A key, or the id or label of a sub-agent. */
  readonly session: string;
  /** Only entries before this one. */
  readonly before?: number | undefined;
  readonly limit: number;
  /** With tool calls and their results. */
  readonly calls: boolean;
  readonly maxBytes: number;
}

export interface SendRequest {
  /** A key, or the id or label of a sub-agent. */
  readonly session: string;
  readonly message: string;
  readonly reply: "wait" | "push" | "none";
  /** How long `wait` waits. */
  readonly timeoutSeconds: number;
}

/** `waitsFor`: the answer has not come yet. */
export type Sent = Done & Pick<ToolResult, "waitsFor" | "untrusted">;

/** Sessions beside the one that a call's scope names, as far as it may see them. Throws Fault. */
export interface OtherSessions {
  list(scope: ToolScope, request: SessionsRequest): Promise<string>;
  history(scope: ToolScope, request: HistoryRequest): Promise<string>;
  send(scope: ToolScope, request: SendRequest): Promise<Sent>;
}

export interface SpawnRequest {
  readonly task: string;
  readonly label?: string | undefined;
  readonly agentId?: string | undefined;
  readonly model?: string | undefined;
  readonly thinking?: ThinkingLevel | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** `fork`: the child is told the conversation so far. */
  readonly context: "isolated" | "fork";
  /** Paths in the workspace. */
  readonly attachments: readonly string[];
  /** `session`: it may be given more work later. */
  readonly mode: "run" | "session";
  /** It works in a new thread of the conversation, where people talk with it. */
  readonly thread?: boolean | undefined;
}

/** Sub-agents of the session that a call's scope names; `child` is an id or a label. Throws Fault. */
export interface Children {
  spawn(scope: ToolScope, request: SpawnRequest): Promise<Done>;
  list(scope: ToolScope): Promise<string>;
  log(scope: ToolScope, child: string, limit: number): Promise<string>;
  steer(scope: ToolScope, child: string, message: string): Promise<Done>;
  /** Ids of the agents that sub-agents may be here, the session's own first. */
  agents(scope: ToolScope): readonly string[];
  /** Ends it and its own sub-agents. `all`: every one of the session. */
  kill(scope: ToolScope, child: string): Promise<string>;
}

export const cronActions = [
  "status",
  "list",
  "get",
  "add",
  "update",
  "remove",
  "run",
  "runs",
  "wake",
] as const;

/** What each action needs is checked by the port; jobs and patches are as models write them. */
interface CronRequest {
  readonly action: (typeof cronActions)[number];
  readonly job?: { readonly [field: string]: unknown } | undefined;
  readonly patch?: { readonly [field: string]: unknown } | undefined;
  /** An id or a name. */
  readonly jobId?: string | undefined;
  readonly limit: number;
  readonly text?: string | undefined;
  readonly mode: "now" | "next-heartbeat";
}

/** Reminders and jobs of the people whose words a call's turn follows. Throws Fault. */
export interface ScheduledJobs {
  /** Changes nothing by itself: what is to be done stands in the effects. */
  act(scope: ToolScope, request: CronRequest): Promise<Done>;
}

export const messageActions = [
  "send",
  "reply",
  "edit",
  "delete",
  "react",
  "pin",
  "unpin",
  "poll",
  "thread",
] as const;
type MessageAction = (typeof messageActions)[number];

/** One schema for all channels (I12); what each action needs is checked by the port. */
export interface MessageRequest {
  readonly action: MessageAction;
  /** A conversation or a person; absent: where the turn answers to. */
  readonly to?: string | undefined;
  readonly text?: string | undefined;
  readonly files: readonly MediaFile[];
  /** The one file is a recording that is shown as a voice note. */
  readonly voice: boolean;
  /** How the files are shown: `file` as documents, whatever they are; the others a single one. */
  readonly as?: "file" | MediaShape | undefined;
  /** Without a sound or a banner. */
  readonly silent?: boolean | undefined;
  readonly buttons?: readonly (readonly Button[])[] | undefined;
  readonly poll?: MessagePoll | undefined;
  /** The platform's id of a message there. */
  readonly messageId?: string | undefined;
  /** What an earlier call returned for its message. */
  readonly handle?: string | undefined;
  readonly emoji?: string | undefined;
  readonly title?: string | undefined;
  readonly tags: readonly string[];
}

interface MessagePoll {
  readonly question: string;
  readonly options: readonly string[];
  readonly multiple: boolean;
  /** Absent: as the surface has it. */
  readonly anonymous?: boolean | undefined;
  readonly hours?: number | undefined;
}

/** What people see beside the turn's answer. Throws Fault for what cannot be done or may not. */
export interface Messages {
  /** Stores a file for sending. `name`: as people see it. */
  keep(bytes: Uint8Array, name: string): Promise<MediaFile>;
  /** Changes nothing by itself: what is to be done stands in the effects. */
  act(scope: ToolScope, request: MessageRequest): Promise<Done>;
}
