// What agents write as formulas: TeX that people use is understood, what reaches for the page or grows
// without end is not.
import { expect, test } from "vitest";
import { treeOf } from "../src/view/rich-text/formula.ts";

const r = String.raw;

test.each([
  r`\frac{a}{b} + \sqrt[3]{x^2} \le \sum_{i=0}^n \binom{n}{i}`,
  r`\begin{pmatrix} a & b \\ c & d \end{pmatrix}`,
  r`\begin{aligned} x &= 1 \\ y &= 2 \end{aligned} \tag{1}`,
  r`\begin{cases} 1 & x > 0 \\ 0 & \text{otherwise} \end{cases}`,
  r`\mathbb{R} \mathcal{L} \mathrm{d}x \operatorname{softmax} \vec v \hat{x} \cancel{y} \boxed{z}`,
])("understands %s", (source) => {
  expect(treeOf(source, true)?.type).toBe("math");
});

test.each([
  r`\href{javascript:alert(1)}{x}`,
  r`\url{https://evil.example}`,
  r`\includegraphics{https://evil.example/x.png}`,
  r`\htmlData{a=b}{x}`,
  r`\class{copy}{x}`,
  r`\id{place}{x}`,
  r`\style{position:fixed}{x}`,
  r`\color{red;background:url(//evil.example)}x`,
  r`\def\a{\a\a}\a`,
  `\\edef\\a{xx}${r`\edef\a{\a\a}`.repeat(17)}\\a`,
  r`\newcommand{\a}{x}\a`,
  r`\gdef\frac#1{x}`,
  r`\let\a=\frac`,
  `${"{".repeat(1900)}${"}".repeat(1900)}`,
  `\\frac{`,
  "x".repeat(100_000),
  " ",
])("leaves as source what is no formula for people: %.60s", (source) => {
  expect(treeOf(source, true)).toBeNull();
});

test("one formula leaves nothing behind for the next", () => {
  expect(treeOf(r`\global\def\frac#1#2{x}`, false)).toBeNull();
  expect(JSON.stringify(treeOf(r`\frac{a}{b}`, false))).toContain("mfrac");
});

test("a formula of four thousand signs is drawn, a longer one stays source", () => {
  expect(treeOf("x".repeat(4_000), false)?.type).toBe("math");
  expect(treeOf("x".repeat(4_001), false)).toBeNull();
});
