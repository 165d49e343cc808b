// Dresses the controls inside the chat's elements; colours come from page.css.
import { css } from "lit";

export const controlStyles = css`
  textarea,
  input {
    box-sizing: border-box;
    width: 100%;
    padding: 0.65rem 0.8rem;
    border: 1px solid var(--line);
    border-radius: 0.7rem;
    background: var(--raised);
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
    color: var(--text);
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
