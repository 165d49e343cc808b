// Lets a person write. Enter sends, Shift+Enter breaks the line; writing works on while the agent works or
// the line is down, and what was not sent is there again after a reload.
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { UnsentFile } from "../../session/outbox.ts";
import { draftOf, keepDraft } from "../../session/storage.ts";
import { icon } from "../../parts/icons.ts";
import { t } from "../../texts/texts.ts";
import { composerStyles } from "./composer-styles.ts";
import { controlStyles } from "../control-styles.ts";
import { mostFileBytes, readFiles } from "./files.ts";
import type { Recording } from "./voice-note.ts";

/** Words of an earlier message that are written anew. */
export interface Rewrite {
  /** Id of its row while nobody has begun to answer it; null: they go out as another message. */
  readonly id: string | null;
  readonly text: string;
  /** The message that they take the place of in a conversation of their own. */
  readonly branch?: string;
}

/** What a person wrote, with what goes along. */
export interface Written {
  readonly text: string;
  readonly files: readonly UnsentFile[];
  readonly rewrite: Rewrite | null;
}

/** Browsers have a microphone for pages on this machine or over https alone. */
function canRecord(): boolean {
  return navigator.mediaDevices?.getUserMedia !== undefined && typeof MediaRecorder === "function";
}

function rewriteWords({ id, branch }: Rewrite): string {
  if (branch !== undefined) return t.chat.rewritingBranch;
  return id === null ? t.chat.rewritingAnew : t.chat.rewriting;
}

function allowDrop(event: DragEvent): void {
  if (event.dataTransfer?.types.includes("Files") === true) event.preventDefault();
}

export class Composer extends LitElement {
  static override styles = [controlStyles, composerStyles];
  static override shadowRootOptions = { ...LitElement.shadowRootOptions, delegatesFocus: true };
  static override properties = {
    working: { type: Boolean },
    thread: {},
    rewrite: {},
    files: { state: true },
    wrong: { state: true },
    recording: { state: true },
  };
  declare working: boolean;
  /** The conversation whose draft this is. */
  declare thread: string | null;
  declare rewrite: Rewrite | null;
  /** What goes along with the next message. */
  declare files: readonly UnsentFile[];
  declare wrong: string | null;
  /** What is being spoken. */
  declare recording: Recording | null;

  constructor() {
    super();
    this.thread = null;
    this.rewrite = null;
    this.files = [];
    this.wrong = null;
    this.recording = null;
  }

  override render(): TemplateResult {
    return html`
      ${
        this.rewrite === null
          ? nothing
          : html`<p class="rewriting">
              ${rewriteWords(this.rewrite)}
              <button class="quiet" @click=${this.#leaveRewrite}>${t.chat.leaveRewrite}</button>
            </p>`
      }
      ${this.wrong === null ? nothing : html`<p class="wrong" role="alert">${this.wrong}</p>`}
      ${
        this.files.length === 0
          ? nothing
          : html`<ul class="files" aria-label=${t.chat.files}>
              ${this.files.map(
                (file) =>
                  html`<li>
                    <bdi>${file.name}</bdi>
                    <button
                      class="quiet"
                      aria-label=${t.chat.dropFile(file.name)}
                      @click=${() => (this.files = this.files.filter((each) => each !== file))}
                    >
                      ×
                    </button>
                  </li>`,
              )}
            </ul>`
      }
      <form @submit=${this.#submit} @paste=${this.#paste} @dragover=${allowDrop} @drop=${this.#drop}>
        <input
          type="file"
          multiple
          aria-label=${t.chat.attach}
          @change=${({ target }: Event) => {
            const field = target as HTMLInputElement;
            void this.#add([...(field.files ?? [])]).then(() => (field.value = ""));
          }}
        />
        <button
          type="button"
          class="quiet attach"
          aria-label=${t.chat.attach}
          title=${t.chat.attach}
          @click=${() => this.renderRoot.querySelector<HTMLElement>("input[type=file]")?.click()}
        >
          ${icon("clip")}
        </button>
        ${this.#voice()}
        <label class="sr-only" for="text">${t.chat.message}</label>
        <textarea
          id="text"
          rows="1"
          dir="auto"
          placeholder=${t.chat.placeholder}
          enterkeyhint="send"
          autofocus
          @keydown=${this.#key}
          @input=${this.#keep}
        ></textarea>
        ${
          this.working
            ? html`<button
                type="button"
                class="quiet"
                @click=${() => this.dispatchEvent(new CustomEvent("stop"))}
              >
                ${t.chat.stop}
              </button>`
            : nothing
        }
        <button>${t.chat.send}</button>
      </form>
    `;
  }

  #voice(): unknown {
    if (!canRecord()) return nothing;
    const label = this.recording === null ? t.chat.record : t.chat.recorded;
    return html`<button
        type="button"
        class="quiet attach ${this.recording === null ? "" : "recording"}"
        aria-label=${label}
        aria-pressed=${this.recording === null ? "false" : "true"}
        title=${label}
        @click=${() => void (this.recording === null ? this.#record() : this.#recorded(this.recording))}
      >
        ${icon("mic")}
      </button>
      ${
        this.recording === null
          ? nothing
          : html`<span class="sr-only" role="status">${t.chat.recording}</span>
              <button type="button" class="quiet" @click=${this.#unrecord}>${t.chat.cancel}</button>`
      }`;
  }

  async #record(): Promise<void> {
    this.wrong = null;
    try {
      const { record } = await import("./voice-note.ts");
      this.recording = await record();
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      this.wrong = t.chat.noMicrophone(error.message);
    }
  }

  async #recorded(recording: Recording): Promise<void> {
    this.recording = null;
    await this.#add([await recording.stop()], { voice: true });
    this.#field?.focus();
  }

  #unrecord(): void {
    this.recording?.cancel();
    this.recording = null;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unrecord();
  }

  override updated(changed: PropertyValues<this>): void {
    const field = this.#field;
    if (field === null) return;
    if (changed.has("thread")) field.value = draftOf(localStorage, this.thread);
    if (!changed.has("rewrite")) return;
    if (this.rewrite !== null) field.value = this.rewrite.text;
    else if (changed.get("rewrite") !== undefined) field.value = draftOf(localStorage, this.thread);
    if (changed.get("rewrite") !== undefined || this.rewrite !== null) field.focus();
  }

  get #field(): HTMLTextAreaElement | null {
    return this.renderRoot.querySelector("textarea");
  }

  #keep(): void {
    if (this.rewrite === null) keepDraft(localStorage, this.thread, this.#field?.value ?? "");
  }

  /** What does not fit into one message is refused here, with what was typed still there. */
  async #add(given: readonly File[], marks: Pick<UnsentFile, "voice"> = {}): Promise<void> {
    if (given.length === 0) return;
    const added = await readFiles(given, marks);
    const all = [...this.files, ...added];
    const chars = all.reduce((sum, { data }) => sum + data.length, 0);
    const isTooMuch = chars > mostFileBytes * (4 / 3) || all.length > 10;
    this.wrong = isTooMuch ? t.chat.tooMuch : null;
    if (!isTooMuch) this.files = all;
  }

  #paste(event: ClipboardEvent): void {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length > 0) event.preventDefault();
    void this.#add(files);
  }

  #drop(event: DragEvent): void {
    event.preventDefault();
    void this.#add([...(event.dataTransfer?.files ?? [])]);
  }

  #leaveRewrite(): void {
    this.dispatchEvent(new CustomEvent("rewritten"));
  }

  #key(event: KeyboardEvent): void {
    if (event.key === "Escape" && this.rewrite !== null) {
      event.stopPropagation();
      return this.#leaveRewrite();
    }
    if (event.key === "ArrowUp" && this.#field?.value === "") {
      this.dispatchEvent(new CustomEvent("rewrite-last"));
      return event.preventDefault();
    }
    // While an input method composes, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return undefined;
    event.preventDefault();
    return this.#send();
  }

  #submit(event: SubmitEvent): void {
    event.preventDefault();
    this.#send();
  }

  #send(): void {
    const field = this.#field;
    const { files, rewrite } = this;
    if (field === null || (field.value.trim() === "" && files.length === 0)) return;
    this.dispatchEvent(new CustomEvent("send", { detail: { text: field.value, files, rewrite } }));
    this.files = [];
    this.wrong = null;
    if (this.rewrite === null) {
      field.value = "";
      keepDraft(localStorage, this.thread, "");
    }
    field.focus();
  }
}
