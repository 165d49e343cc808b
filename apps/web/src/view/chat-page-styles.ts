// Lays out the page; colours come from page.css.
import { css } from "lit";

export const pageStyles = css`
  :host {
    display: flex;
    flex-direction: column;
    height: 100dvh;
    max-width: 52rem;
    margin: 0 auto;
    padding: 0 max(1rem, env(safe-area-inset-left));
    box-sizing: border-box;
  }
  header {
    display: flex;
    align-items: baseline;
    justify-content: space-between;
    padding: 0.9rem 0 0.6rem;
    border-bottom: 1px solid var(--line);
  }
  h1 {
    margin: 0;
    font-size: 1.05rem;
    letter-spacing: 0.02em;
  }
  .connection {
    margin: 0;
    color: var(--faint);
    font-size: 0.85rem;
  }
  .connection::before {
    content: "";
    display: inline-block;
    width: 0.5em;
    height: 0.5em;
    margin-right: 0.45em;
    border-radius: 50%;
    background: var(--faint);
  }
  .connection.online::before {
    background: var(--accent);
  }
  .connection.offline {
    color: var(--alarm);
  }
  .connection.offline::before {
    background: var(--alarm);
  }
  parley-messages {
    flex: 1;
    min-height: 0;
  }
`;

export const controlStyles = css`
  textarea,
  input {
    box-sizing: border-box;
    width: 100%;
    padding: 0.65rem 0.8rem;
    border: 1px solid var(--line);
    border-radius: 0.7rem;
    background: var(--card);
    color: inherit;
    font: inherit;
  }
  button {
    padding: 0.65rem 1.1rem;
    border: 1px solid transparent;
    border-radius: 0.7rem;
    background: var(--accent);
    color: var(--on-accent);
    font: inherit;
    font-weight: 600;
    cursor: pointer;
  }
  button.quiet {
    border-color: var(--line);
    background: none;
    color: var(--ink);
  }
  button:disabled {
    opacity: 0.5;
    cursor: default;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  .sr-only {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;
