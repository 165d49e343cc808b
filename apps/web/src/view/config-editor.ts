// A text field for the config file: keys and values are completed from its schema, mistakes stand at their
// place. It is fetched for whoever looks at the text.
import { acceptCompletion, autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { json5 } from "codemirror-json5";
import { html, LitElement, type PropertyValues, type TemplateResult } from "lit";
import type { Schema } from "../parts/schema.ts";
import { completionsAt, diagnosticsOf, offsetOf, type Mistake } from "./config-hints.ts";

/** Colours are the roles of page.css. */
const looks = EditorView.theme({
  "&": { minHeight: "40vh", maxHeight: "75vh", background: "var(--raised)", color: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontSize: "var(--size-2)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { borderRight: "1px solid var(--line)", background: "var(--sunken)", color: "var(--quiet)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { background: "var(--soft) !important" },
  "&.cm-focused .cm-matchingBracket": { background: "var(--soft)" },
  ".cm-tooltip, .cm-panels": {
    border: "1px solid var(--line)",
    background: "var(--raised)",
    color: "var(--text)",
    fontSize: "var(--size-2)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionInfo": { maxWidth: "40ch", padding: "8px" },
  ".cm-panel.cm-panel-lint ul [aria-selected]": { background: "var(--soft)" },
  ".tok-comment": { color: "var(--quiet)" },
  ".tok-propertyName": { color: "var(--accent)" },
  ".tok-bool, .tok-number, .tok-null, .tok-keyword": { color: "var(--warn)" },
});

export class ConfigEditor extends LitElement {
  static override properties = { text: {}, mistakes: {}, schema: {}, readonly: {}, label: {} };
  declare text: string;
  declare mistakes: readonly Mistake[];
  declare schema: Schema | null;
  declare readonly: boolean;
  declare label: string;
  declare onText: (text: string) => void;
  #view: EditorView | null = null;

  override render(): TemplateResult {
    return html``;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // In a root of its own its style sheets are constructed ones, which the page's policy allows.
    const root = this.renderRoot as ShadowRoot;
    this.#view ??= new EditorView({ parent: root, root, state: this.#state() });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#view?.destroy();
    this.#view = null;
  }

  override updated(changed: PropertyValues<this>): void {
    const view = this.#view;
    if (view === null) return;
    if (changed.has("text") && view.state.doc.toString() !== this.text)
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: this.text } });
    if (changed.has("mistakes") || changed.has("text"))
      view.dispatch(setDiagnostics(view.state, diagnosticsOf(view.state.doc, this.mistakes)));
  }

  /** Brings a place into sight, and the cursor there. */
  goTo(line: number, column: number): void {
    const view = this.#view;
    if (view === null) return;
    const at = offsetOf(view.state.doc, line, column);
    view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    view.focus();
  }

  #state(): EditorState {
    return EditorState.create({
      doc: this.text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentUnit.of("  "),
        indentOnInput(),
        bracketMatching(),
        json5(),
        syntaxHighlighting(classHighlighter),
        lintGutter(),
        looks,
        autocompletion({ override: [(context) => completionsAt(context, this.schema)], icons: false }),
        keymap.of([
          { key: "Tab", run: acceptCompletion },
          ...completionKeymap,
          ...lintKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        EditorState.readOnly.of(this.readonly),
        EditorView.editable.of(!this.readonly),
        EditorView.contentAttributes.of({
          "aria-label": this.label,
          spellcheck: "false",
          autocapitalize: "off",
          tabindex: "0",
        }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          const text = state.doc.toString();
          if (docChanged && text !== this.text) this.onText(text);
        }),
      ],
    });
  }
}

customElements.define("parley-config-editor", ConfigEditor);
