// Styles an answer's own markup.
import { css } from "lit";

export const richTextStyles = css`
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
  .rich :is(p, li, h1, h2, h3, h4, h5, h6, blockquote, th, td) {
    unicode-bidi: plaintext;
  }
  .rich :is(p, li, h1, h2, h3, h4, h5, h6) {
    text-align: start;
  }
  .rich hr {
    margin: 0.9rem 0;
    border: 0;
    border-top: 1px solid var(--line);
  }
  .rich :is(ul, ol) {
    padding-inline-start: 1.6rem;
  }
  .rich pre {
    margin: 0.7rem 0;
    padding: 0.6rem 0.8rem;
    border-radius: 0.5rem;
    background: var(--surface);
    overflow-x: auto;
  }
  .rich code {
    font-size: 0.9em;
  }
  .rich :not(pre) > code {
    padding: 0.1em 0.3em;
    border-radius: 0.3em;
    background: var(--surface);
  }
  .code {
    position: relative;
    margin: 0.7rem 0;
  }
  .code pre {
    margin: 0;
  }
  .code .show-diagram {
    margin-top: 0.3rem;
  }
  .code .diagram iframe {
    display: block;
    width: 100%;
    height: 6rem;
    margin-top: 0.5rem;
    border: 0;
    color-scheme: normal;
  }
  .code .copy {
    position: absolute;
    top: 0.3rem;
    inset-inline-end: 0.3rem;
    padding: 0.15rem 0.55rem;
    background: var(--raised);
    font-size: 0.8rem;
    opacity: 0;
  }
  .code:hover .copy,
  .copy:focus-visible {
    opacity: 1;
  }
  @media (hover: none) {
    .code .copy {
      opacity: 1;
    }
  }
  .spoiler:not(.shown) {
    border-radius: 0.3em;
    background: var(--quiet);
    color: transparent;
    cursor: pointer;
    user-select: none;
  }
  .spoiler:not(.shown) * {
    visibility: hidden;
  }
  .rich a {
    color: var(--accent);
  }
  .rich blockquote {
    margin: 0.5rem 0;
    padding-left: 0.8rem;
    border-left: 3px solid var(--line);
    color: var(--quiet);
  }
  .rich table {
    display: block;
    margin: 0.7rem 0;
    border-collapse: collapse;
    overflow-x: auto;
  }
  .rich :is(th, td) {
    padding: 0.25rem 0.6rem;
    border: 1px solid var(--line);
    /* A table that is too wide scrolls: words cut into pieces cannot be read. */
    overflow-wrap: break-word;
  }
`;
