// Writes down what a function answers to each of many inputs. A test compares the whole table with the one in
// a file: `await expect(answerTable(inputs, ask)).toMatchFileSnapshot("tables/NAME.txt")`. A wanted change is
// taken up with `vitest run ... -u` and read in the diff.

/** One row for each input: the input, then the answer, or what was thrown. */
export function answerTable<Input>(inputs: readonly Input[], ask: (input: Input) => unknown): string {
  return inputs.map((input) => `${shown(input)}\n  ${outcome(() => ask(input))}\n`).join("");
}

/** The same for what answers later; one after another. */
export async function laterAnswerTable<Input>(
  inputs: readonly Input[],
  ask: (input: Input) => Promise<unknown>,
): Promise<string> {
  let table = "";
  for (const input of inputs) {
    const answer = await ask(input).then(
      (value) => () => value,
      (error: unknown) => () => {
        throw error;
      },
    );
    table += `${shown(input)}\n  ${outcome(answer)}\n`;
  }
  return table;
}

function outcome(ask: () => unknown): string {
  try {
    return shown(ask());
  } catch (error) {
    const { name, message, code } = error as Error & { readonly code?: string };
    return `throws ${code ?? name}: ${message}`;
  }
}

function shown(value: unknown): string {
  const words = JSON.stringify(value, (_key, each: unknown) =>
    each instanceof Map || each instanceof Set ? [...each] : each === undefined ? "(undefined)" : each,
  );
  return words === undefined ? "(undefined)" : words;
}
