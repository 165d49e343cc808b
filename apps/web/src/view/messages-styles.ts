// How messages look.
import { css } from "lit";

export const messageStyles = css`
  :host {
    display: block;
  }
  .scroll {
    height: 100%;
    overflow-y: auto;
    overscroll-behavior: contain;
    padding: 1rem 0;
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
    background: var(--card);
    overflow-wrap: anywhere;
    box-sizing: border-box;
  }
  .user {
    margin-left: auto;
    border-color: transparent;
    background: var(--mine);
  }
  .notice {
    border-style: dashed;
    background: none;
    color: var(--faint);
  }
  .waiting {
    opacity: 0.75;
  }
  .text {
    white-space: pre-wrap;
  }
  .note {
    margin: 0.3rem 0 0;
    color: var(--faint);
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
    color: var(--ink);
    font-size: 0.95rem;
    font-weight: 600;
    text-decoration: none;
  }
  .buttons button:is(.primary, .success) {
    border-color: var(--accent);
    color: var(--accent);
  }
  .buttons button.danger {
    border-color: var(--alarm);
    color: var(--alarm);
  }
  .buttons [aria-pressed="true"]:disabled {
    opacity: 1;
    background: var(--mine);
  }
  .alarm {
    color: var(--alarm);
  }
  .empty {
    margin-top: 20vh;
    color: var(--faint);
    text-align: center;
  }
  .rich > :first-child {
    margin-top: 0;
  }
  .rich > :last-child {
    margin-bottom: 0;
  }
  .rich :is(h1, h2, h3, h4, h5, h6) {
    margin: 0.9rem 0 0.3rem;
    font-size: 1.1rem;
    line-height: 1.3;
  }
  .rich pre {
    padding: 0.6rem 0.8rem;
    border-radius: 0.5rem;
    background: var(--paper);
    overflow-x: auto;
  }
  .rich code {
    font-size: 0.9em;
  }
  .rich a {
    color: var(--accent);
  }
  .rich blockquote {
    margin: 0.5rem 0;
    padding-left: 0.8rem;
    border-left: 3px solid var(--line);
    color: var(--faint);
  }
  .rich table {
    display: block;
    border-collapse: collapse;
    overflow-x: auto;
  }
  .rich :is(th, td) {
    padding: 0.25rem 0.6rem;
    border: 1px solid var(--line);
  }
  .working i {
    display: inline-block;
    width: 0.4rem;
    height: 0.4rem;
    margin-right: 0.25rem;
    border-radius: 50%;
    background: var(--faint);
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
