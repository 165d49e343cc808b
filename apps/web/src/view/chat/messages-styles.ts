// Styles messages.
import { css } from "lit";

export const messageStyles = css`
  :host {
    display: block;
    position: relative;
  }
  .scroll {
    height: 100%;
    overflow-y: auto;
    overscroll-behavior: contain;
    padding: 16px max(16px, calc((100% - 72ch) / 2 + 16px));
    box-sizing: border-box;
  }
  article {
    position: relative;
    width: fit-content;
    max-width: 92%;
    margin: 0 0 0.9rem;
    padding: 0.55rem 0.85rem;
    border: 1px solid var(--line);
    border-radius: 0.9rem;
    background: var(--raised);
    overflow-wrap: anywhere;
    box-sizing: border-box;
  }
  .user {
    margin-left: auto;
    border-color: transparent;
    background: var(--soft);
  }
  .notice {
    border-style: dashed;
    background: none;
    color: var(--quiet);
  }
  article footer {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0 12px;
    min-height: 24px;
    margin-top: 4px;
    color: var(--quiet);
    font-size: var(--size-1);
  }
  article footer .foot {
    min-height: 24px;
    padding: 0;
    border: 0;
    background: none;
    color: var(--quiet);
    font-size: var(--size-1);
    font-weight: 400;
    text-decoration: underline;
  }
  .menu {
    position: relative;
  }
  .menu summary {
    min-width: 24px;
    border-radius: 4px;
    line-height: 24px;
    text-align: center;
    cursor: pointer;
    list-style: none;
  }
  .menu summary:hover {
    background: var(--sunken);
  }
  .menu > div {
    position: absolute;
    z-index: 2;
    inset-inline-start: 0;
    display: grid;
    min-width: 160px;
    padding: 4px;
    border: 1px solid var(--line);
    border-radius: 8px;
    background: var(--raised);
  }
  .user .menu > div {
    inset-inline: auto 0;
  }
  .menu :is(button, a, select) {
    min-height: 32px;
    padding: 0 10px;
    border: 0;
    border-radius: 4px;
    background: none;
    color: var(--text);
    font-size: var(--size-2);
    font-weight: 400;
    line-height: 32px;
    text-align: start;
    text-decoration: none;
    white-space: nowrap;
  }
  .menu select {
    padding: 0 6px;
    cursor: pointer;
  }
  .menu :is(button, a, select):hover {
    background: var(--sunken);
  }
  .sent-files {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 8px;
    margin: 4px 0 0;
    padding: 0;
    list-style: none;
    font-size: var(--size-2);
  }
  .sent-files li {
    padding: 2px 10px;
    border: 1px solid var(--line);
    border-radius: 8px;
  }
  .queued {
    color: var(--warn);
    font-weight: 600;
  }
  .waiting {
    opacity: 0.75;
  }
  .text {
    white-space: pre-wrap;
    unicode-bidi: plaintext;
  }
  .day {
    margin: 0.4rem 0 0.9rem;
    color: var(--quiet);
    font-size: 0.8rem;
    text-align: center;
  }
  .earlier {
    display: block;
    margin: 0 auto 0.9rem;
    padding: 0.35rem 0.9rem;
    font-size: 0.9rem;
  }
  .block {
    /* Margins count for its height. */
    display: flow-root;
  }
  .newest {
    position: absolute;
    bottom: 0.8rem;
    left: 50%;
    min-width: 2.4rem;
    height: 2.4rem;
    padding: 0 0.7rem;
    border-radius: 1.2rem;
    translate: -50%;
    background: var(--raised);
    box-shadow: 0 0.15rem 0.6rem rgb(0 0 0 / 20%);
  }
  .note {
    margin: 0.3rem 0 0;
    color: var(--quiet);
    font-size: 0.8rem;
  }
  .note button {
    padding: 0.1rem 0.5rem;
    font-size: inherit;
  }
  .buttons {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
    margin-top: 0.6rem;
  }
  .buttons :is(button, a.button) {
    padding: 0.4rem 0.9rem;
    border: 1px solid var(--line);
    border-radius: 0.7rem;
    background: none;
    color: var(--text);
    font-size: 0.95rem;
    font-weight: 600;
    text-decoration: none;
  }
  .buttons button:is(.primary, .success) {
    border-color: var(--accent);
    color: var(--accent);
  }
  .buttons button.danger {
    border-color: var(--danger);
    color: var(--danger);
  }
  .buttons [aria-pressed="true"]:disabled {
    opacity: 1;
    background: var(--soft);
  }
  .alarm {
    color: var(--danger);
  }
  .empty {
    margin-top: 20vh;
    color: var(--quiet);
    text-align: center;
  }
  .working i {
    display: inline-block;
    width: 0.4rem;
    height: 0.4rem;
    margin-right: 0.25rem;
    border-radius: 50%;
    background: var(--quiet);
    animation: breathe 1.2s infinite ease-in-out;
  }
  .working i:nth-of-type(2) {
    animation-delay: 0.15s;
  }
  .working i:nth-of-type(3) {
    animation-delay: 0.3s;
  }
  @keyframes breathe {
    50% {
      opacity: 0.25;
    }
  }
  @media (prefers-reduced-motion: reduce) {
    .working i {
      animation: none;
    }
  }
`;
