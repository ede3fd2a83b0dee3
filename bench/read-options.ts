/** What one run of a part is told. */
export type Sizes = {
  /** How long each rate is measured. */
  seconds: number;
  /** Tasks that wait for their vendor while polls are measured. */
  inFlight: number;
  /** Streams that are held open. */
  observers: number;
  /** Tasks in a large database. */
  tasks: number;
};

export type BenchOptions = Sizes & {
  /** Names of parts; empty: all. */
  only: string[];
  /** A checkout or an executable to compare with. */
  beside: string | undefined;
  repeat: number;
  json: string | undefined;
  markdown: string | undefined;
};

const DEFAULTS: Sizes = { seconds: 5, inFlight: 100_000, observers: 10_000, tasks: 1_000_000 };
const REPEAT_ALONE = 1;
const REPEAT_BESIDE = 3;

const NUMBERS: Record<string, keyof Sizes | 'repeat'> = {
  '--repeat': 'repeat',
  '--seconds': 'seconds',
  '--in-flight': 'inFlight',
  '--observers': 'observers',
  '--tasks': 'tasks',
};

export const usage = (parts: readonly string[]): string => `Usage: npm run bench -- [options]

  --only PART[,PART…]  ${parts.join(', ')}
  --peers              beside other programs: NEWAPI_BIN, POCKETBASE_BIN name their executables; as --only peers
  --beside DIR         the same load on another build too, in turns: a checkout (which is built) or an executable
  --repeat N           runs of each part on each build (default ${REPEAT_ALONE}; ${REPEAT_BESIDE} with --beside)
  --seconds N          how long each rate is measured (default ${DEFAULTS.seconds})
  --in-flight N        tasks in flight while polls are measured (default ${DEFAULTS.inFlight})
  --observers N        streams held open (default ${DEFAULTS.observers})
  --tasks N            tasks in the large database (default ${DEFAULTS.tasks})
  --json FILE          writes every figure of every run
  --markdown FILE      writes the table as docs/performance.md has it`;

/** @throws with a sentence for the caller where an argument is not understood. */
export function readOptions(args: readonly string[], parts: readonly string[]): BenchOptions {
  const left = [...args];
  const only: string[] = [];
  const texts: Record<string, string> = {};
  const numbers: Partial<Record<keyof Sizes | 'repeat', number>> = {};
  while (left.length > 0) {
    if (left[0] === '--peers') {
      only.push(...readParts('peers', parts));
      left.shift();
      continue;
    }
    const [name = '', value] = left.splice(0, 2);
    const number = NUMBERS[name];
    if (number === undefined && !['--only', '--beside', '--json', '--markdown'].includes(name))
      throw new Error(`${name} is not an option.`);
    if (value === undefined || value === '') throw new Error(`${name} needs a value.`);
    if (number !== undefined) numbers[number] = readCount(name, value);
    else if (name === '--only') only.push(...readParts(value, parts));
    else texts[name] = value;
  }
  const { repeat = texts['--beside'] === undefined ? REPEAT_ALONE : REPEAT_BESIDE, ...sizes } = numbers;
  return {
    ...DEFAULTS,
    ...sizes,
    only,
    beside: texts['--beside'],
    repeat,
    json: texts['--json'],
    markdown: texts['--markdown'],
  };
}

function readCount(name: string, value: string): number {
  const count = Number(value);
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`${name} takes a whole number from 1.`);
  return count;
}

function readParts(value: string, parts: readonly string[]): string[] {
  const names = value.split(',').map((name) => name.trim());
  for (const name of names) if (!parts.includes(name)) throw new Error(`There is no part "${name}".`);
  return names;
}
