// Styles the field where one writes, with its buttons and what goes along.
import { css } from "lit";

export const composerStyles = css`
  form {
    display: flex;
    gap: 8px;
    align-items: end;
    padding: 12px 0 max(16px, env(safe-area-inset-bottom));
  }
  textarea {
    flex: 1;
    max-height: 40dvh;
    resize: none;
    field-sizing: content;
  }
  @media (max-width: 480px) {
    /* Beside four buttons nobody reads what they write. */
    form {
      flex-wrap: wrap;
    }
    textarea {
      order: -1;
      flex: 1 0 100%;
    }
    textarea + button {
      margin-inline-start: auto;
    }
  }
  .files {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
    margin: 0;
    padding: 8px 0 0;
    list-style: none;
    font-size: var(--size-2);
  }
  .files li {
    display: flex;
    align-items: center;
    gap: 8px;
    max-width: 100%;
    padding: 0 4px 0 12px;
    border: 1px solid var(--line);
    border-radius: 8px;
    background: var(--raised);
    overflow-wrap: anywhere;
  }
  .files button {
    min-height: 28px;
    padding: 0 8px;
    border: 0;
    font-size: var(--size-2);
  }
  .wrong {
    margin: 0;
    padding-top: 8px;
    color: var(--danger);
    font-size: var(--size-2);
  }
  .attach {
    padding-inline: 12px;
  }
  .attach svg {
    display: block;
    width: 20px;
    height: 24px;
    fill: none;
    stroke: currentColor;
    stroke-width: 1.75;
    stroke-linecap: round;
    stroke-linejoin: round;
  }
  .recording {
    border-color: var(--danger);
    color: var(--danger);
  }
  input[type="file"] {
    display: none;
  }
  .rewriting {
    display: flex;
    align-items: center;
    justify-content: space-between;
    margin: 0;
    padding-top: 8px;
    color: var(--quiet);
    font-size: var(--size-2);
  }
  .rewriting button {
    min-height: 28px;
    padding: 0 10px;
    font-size: var(--size-2);
  }
`;
