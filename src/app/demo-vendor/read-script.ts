/** How many polls fail before they succeed again. */
type Times = number;

/** How a job behaves, from its prompt (`a cat [fail] [duration=2]`) or its field `script`. */
export type Script = {
  /** `fail`: ends as failed. */
  fail: boolean;
  /** `instant`: done at its creation. */
  instant: boolean;
  /** `duration=SECONDS`: how long it takes. */
  durationMs: number | undefined;
  /** `slow`: takes ten times as long. */
  slow: boolean;
  /** `delay=SECONDS`: every answer about the job, its creation included, waits this long. */
  delayMs: number;
  /** `404`: every poll answers that there is no such job. */
  lost: boolean;
  /** `429`, `500`, `garbage`: the first three polls, `=N` polls or `=always`. */
  rateLimited: Times;
  broken: Times;
  garbage: Times;
  /** `submit=429`, `400`, `500`: creates no job. `submit=garbage`: creates one, answers garbage. */
  submit: '429' | '400' | '500' | 'garbage' | undefined;
  /** `batch=404`: a batch with this job is answered 404 as a whole. */
  poisonsBatch: boolean;
  /** `seconds=N`: the length of the result, whatever was ordered. */
  actualSeconds: number | undefined;
  /** `bytes=N`: the file is padded to about this size, at most 64 MiB. */
  bytes: number;
};

const DEFAULT_TIMES = 3;
const MAX_BYTES = 64 * 1024 * 1024;

/** Reads the directives in square brackets; unknown ones are part of the prompt. */
export function readScript(text: string): Script {
  const directives = new Map<string, string>();
  for (const [, name = '', value = ''] of text.matchAll(/\[([a-z0-9]+)(?:=([a-z0-9.]+))?\]/g))
    directives.set(name, value);

  const number = (name: string): number | undefined => {
    const value = Number(directives.get(name) || Number.NaN);
    return Number.isFinite(value) && value >= 0 ? value : undefined;
  };
  const times = (name: string): Times => {
    if (!directives.has(name)) return 0;
    return directives.get(name) === 'always' ? Number.POSITIVE_INFINITY : (number(name) ?? DEFAULT_TIMES);
  };
  const seconds = number('duration');
  const submit = directives.get('submit');
  return {
    fail: directives.has('fail'),
    instant: directives.has('instant'),
    durationMs: seconds === undefined ? undefined : seconds * 1000,
    slow: directives.has('slow'),
    delayMs: (number('delay') ?? 0) * 1000,
    lost: directives.has('404'),
    rateLimited: times('429'),
    broken: times('500'),
    garbage: times('garbage'),
    submit: submit === '429' || submit === '400' || submit === '500' || submit === 'garbage' ? submit : undefined,
    poisonsBatch: directives.get('batch') === '404',
    actualSeconds: number('seconds'),
    bytes: Math.min(number('bytes') ?? 0, MAX_BYTES),
  };
}
