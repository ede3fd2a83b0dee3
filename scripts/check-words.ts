import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles, root } from './hash-inputs.ts';

/** Columns of a comment, its indentation and marks included. */
const MAX_COLUMNS = 100;
const folders = ['src', 'test', 'scripts', 'bench', 'contracts', 'docs', '.github'];
const topFiles = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];

/** Refused in code and in texts alike. */
const MEANWHILE = { pattern: /\bmeanwhile\b/i, use: 'in the meantime, at the same time' };

/** Words of this project's own making, in names or prose, and the field's words for them. */
const forbidden: readonly { pattern: RegExp; use: string }[] = [
  { pattern: /open-?surely/i, use: 'insert-recovering-commit' },
  { pattern: /\bpass-over\b|passOver/, use: 'skip-unreadable-channel' },
  { pattern: /hold-?places|\bPlaces\b|(?:Relay|Own|Queue)Places\b/, use: 'concurrency limit' },
  { pattern: /\bgive-back\b|\bgiveBack\b/, use: 'free, release' },
  { pattern: /option-?desk|\bdesks?\b/i, use: 'service' },
  { pattern: /write-?together/i, use: 'batch' },
  { pattern: /isStoreAway/, use: 'isStoreUnavailable' },
  { pattern: /\b[Ll]anes?\b|[a-z]Lanes?\b|\bLANES?\b/, use: 'queue' },
  { pattern: /wait-?at-?most\b/i, use: 'deadline' },
  {
    pattern: /keep-?lease|keep-?claims|keep-?failure|kept-?request/i,
    use: 'renew-lease, memory-leases, stored-failure',
  },
  { pattern: /endNameless/, use: 'failWithoutVendorId' },
  { pattern: /\bhastens?\b|\bhastened\b/i, use: 'pull forward' },
  { pattern: /leadsHere/, use: 'pointsToSelf' },
  { pattern: /RequestManner|\bmanners?\b/i, use: 'options' },
  { pattern: /mayComeAgain|freesKey/, use: 'retryable, releasesIdempotencyKey' },
  { pattern: /FrontDoor|\bfront door\b/i, use: 'request pipeline' },
  { pattern: /\bbury\b|\bburies\b|\bburied\b/i, use: 'write a tombstone' },
  { pattern: /spend-?code/i, use: 'consume-code' },
  { pattern: /change-?standing|\bstandings?\b/i, use: 'status or role' },
  {
    pattern: /own-identity|guard-move|pass-?challenge|speak-?oauth/i,
    use: 'find-or-create-user, check-, verify-captcha',
  },
  { pattern: /\bLetter\b|[a-z]Letters?\b|limit-letters/, use: 'mail' },
  { pattern: /sound-?parts/i, use: 'valid-parts' },
  { pattern: /\bjudges?\b|\bjudged\b|\bjudge[A-Z-]/, use: 'check' },
  { pattern: /stop-?list/i, use: 'shutdown' },
  { pattern: /\bexamine(?:Store|-)/, use: 'doctor checks' },
  { pattern: /\bToldError\b|told-error|\b(?:const|let) \{? ?told\b/, use: 'UserError, logFields' },
  { pattern: /still-?to-?come\b/i, use: 'laterValues' },
  { pattern: /\bpatience\b/i, use: 'deadline' },
  { pattern: /\bsurely\b/i, use: 'what is guaranteed, and how' },
  { pattern: /\bwhoever\b|\bwhosoever\b/i, use: 'the person: client, administrator, vendor' },
  { pattern: /\b(?:he|him|his|himself|she|her|herself)\b/, use: 'they' },
  { pattern: /\bnewcomers?\b/i, use: 'new user' },
  { pattern: /\bof before\b(?!\)|\.\w|\[)/, use: 'earlier, older' },
  { pattern: /^\s*(?:\/\*\*|\*|\/\/) So long\b/, use: 'How long' },
  { pattern: /\banew\b/, use: 'again, over, re-' },
  { pattern: /\bfor ever\b/, use: 'forever' },
  { pattern: /(?<![-'])\blately\b(?![-'])/, use: 'recently' },
  { pattern: /\bseldom\b/, use: 'rarely' },
  { pattern: /\bin vain\b/, use: 'without success, for nothing' },
  { pattern: /(?:^\s*(?:\/\*\*|\/\/)|[.:;)`']) Of (?!course\b)/, use: 'a sentence with a subject' },
  MEANWHILE,
  {
    pattern: /\b(?:function|const) (?!(?:anyOf|oneOf|isOneOf|asOf)\b)[a-z]\w*Of\b/,
    use: 'a verb or what it is for: readX, toX, xFor',
  },
];

/** What reads as translated in texts that people read, and how a native writer says it. */
const stilted: readonly { pattern: RegExp; use: string }[] = [
  { pattern: /\b(?:buys?|buying|bought)\b[\w ]{0,20} twice\b/i, use: 'may charge you twice' },
  { pattern: /\bwithin a day\b/i, use: 'in the last 24 hours' },
  { pattern: /\bper piece\b/i, use: 'number of' },
  { pattern: /(?<!\.)\bkilled\b/i, use: 'stopped, terminated' },
  MEANWHILE,
  { pattern: /\bas it should\b/i, use: 'properly' },
  { pattern: /\bturn(?:s|ed)? away\b|\bgives? out\b|\bgave out\b/i, use: 'reject; issue' },
  { pattern: /\bby (?:itself|themselves)\b/i, use: 'automatically' },
  { pattern: /\bOpenAI shapes?\b/i, use: 'OpenAI-compatible responses' },
  { pattern: /\bleads? to\b/i, use: 'point to, resolve to' },
  { pattern: /\bcannot be \w+ like this\b/i, use: 'is not valid' },
  { pattern: /\bas (?:you|it|they) may\b/i, use: 'has reached the limit' },
  { pattern: /\bat most .{1,40} (?:are|is) accepted\b/i, use: 'the limit is' },
  { pattern: /\btogether (?:larger|too large|too long)\b|\btoo (?:large|long) together\b/i, use: 'in total' },
  { pattern: /\bin all(?=[.,;:)'"]| \()/i, use: 'in total' },
  { pattern: /\b(?:be|as|give) a text\b/i, use: 'a string' },
  { pattern: /\bends? TLS\b/i, use: 'terminate' },
  { pattern: /\bdoes not know\b/i, use: 'can’t find, doesn’t recognize' },
  { pattern: /\b(?:is|are) resting\b/i, use: 'paused' },
  { pattern: /\bout of order\b/i, use: 'isn’t working' },
  { pattern: /\bis asked for\b/i, use: 'resolves, requests' },
  { pattern: /\b(?:broke|breaks) off\b/i, use: 'was cut off' },
  { pattern: /\bany more\b/i, use: 'no longer' },
  { pattern: /\bare spent or\b/i, use: 'has been spent' },
  { pattern: /\banswered (?:HTTP|with status|\$?\{+status)/i, use: 'responded with HTTP' },
  { pattern: /\b(?:songs?|music|images?|recording) of \d/i, use: '3-minute song, 2048x2048 image' },
  { pattern: /\bsummary: ['"`](?:The|Your|Whether|What|Who|Where|Why|How)\b/, use: 'a verb: List, Get, Check' },
];

/** Files of texts for people, and the lines of others that hold one. */
const readers: readonly { file: RegExp; line?: RegExp }[] = [
  { file: /^src\/panel\/i18n\/en\.json$/ },
  { file: /^src\/kernel\/reasons\// },
  { file: /^src\/auth\/mail\/words\/english\.ts$/ },
  { file: /^src\/(?:\w+\/)+errors\.ts$/ },
  { file: /^src\/plugins\/factory\/.*\.js$/, line: /\ben: |\blabel: |localized`|new Error\(/ },
  { file: /^src\/http\//, line: /\b(?:summary|description|message):|^\s+['"`]/ },
  { file: /^src\/(?:surfaces|relay|tasks|vendors|results)\//, line: /\bmessage: ?['"`]|^\s+(?:[?:] )?['"`]/ },
];

/**
 * Lines that may use a word, because it is somebody else's: `file` ends so, and the line has
 * `text`.
 */
const exceptions: readonly { file: string; text: string }[] = [];

/**
 * Finds forbidden words in names, comments, texts and documents below `base`, stilted ones in what
 * people read, comments of more than 100 columns, and what CONTRIBUTING.md says of files that is
 * not so. Each is `file:line: what`.
 */
export function checkWords(base: string): string[] {
  const files = [...folders.flatMap((folder) => listFiles(folder, base)), ...topFiles];
  const isRead = (file: string): boolean => readers.some((reader) => reader.file.test(file));
  return files
    .filter((file) => isChecked(file) || isRead(file))
    .flatMap((file) => {
      const lines = readFileSync(join(base, file), 'utf8').split('\n');
      const read = lines.flatMap((line, index) =>
        readers.some((reader) => reader.file.test(file) && reader.line?.test(line) !== false)
          ? findWords(line, stilted).map((what) => `${file}:${index + 1}: ${what}`)
          : [],
      );
      if (!isChecked(file)) return read;
      return [
        ...read,
        ...findWords(file).map((what) => `${file}: ${what}`),
        ...lines.flatMap((line, index) => checkLine(file, line).map((what) => `${file}:${index + 1}: ${what}`)),
        ...(file === 'CONTRIBUTING.md'
          ? findLostNames(base, lines.join('\n'), files).map((what) => `${file}: ${what}`)
          : []),
      ];
    });
}

/**
 * What a guide says of files and is not so: a path or a name of a file that does not exist, and a
 * name that a file does not declare, in "`move-task.ts` (`moveTask`)" or "`NEW_TASK` in
 * `insert-tasks.ts`".
 */
function findLostNames(base: string, text: string, files: readonly string[]): string[] {
  const locate = (path: string): string[] =>
    path.includes('/')
      ? ['', 'src', 'src/panel'].map((folder) => join(base, folder, path)).filter((file) => existsSync(file))
      : files.filter((file) => file.endsWith(`/${path}`)).map((file) => join(base, file));
  const named = [...text.matchAll(/`([\w-]+(?:\/[\w.-]+)*\.tsx?)`/g)].map(([, path = '']) => path);
  const declared = [
    ...[...text.matchAll(/`([\w./-]+\.tsx?)` \(`(\w+)`(?: or `(\w+)`)?\)/g)].flatMap(([, path = '', ...names]) =>
      names.flatMap((name) => (name === undefined ? [] : { path, name })),
    ),
    ...[...text.matchAll(/`(\w+)` in\s+`([\w./-]+\.tsx?)`/g)].map(([, name = '', path = '']) => ({ path, name })),
  ];
  const declares = (file: string, name: string): boolean =>
    new RegExp(`\\b(?:function\\*?|const|let|class|type|interface) ${name}\\b`).test(readFileSync(file, 'utf8'));
  return [
    ...named.filter((path) => locate(path).length === 0).map((path) => `${path} does not exist`),
    ...declared
      .filter(({ path, name }) => !locate(path).some((file) => declares(file, name)))
      .map(({ path, name }) => `${path} does not declare ${name}`),
  ];
}

/**
 * Texts in other languages, vendors' plugins, recorded answers and generated files are not ours to
 * word.
 */
function isChecked(file: string): boolean {
  if (/^src\/(panel\/i18n|plugins\/factory)\//.test(file) || /^test\/fixtures\//.test(file)) return false;
  if (/^(scripts\/check-words|test\/scripts\/check-style\.test)\.ts$/.test(file) || /\.gen\./.test(file)) return false;
  return /\.(ts|tsx|mjs|js|md|yml)$/.test(file);
}

function checkLine(file: string, line: string): string[] {
  if (exceptions.some((one) => file.endsWith(one.file) && line.includes(one.text))) return [];
  const isTooWide = /^\s*(\*|\/\/|\/\*)/.test(line) && line.length > MAX_COLUMNS && !/https?:\/\/\S{40,}/.test(line);
  return [
    ...findWords(line),
    ...(isTooWide ? [`a comment of ${line.length} columns, ${MAX_COLUMNS} is the ceiling`] : []),
  ];
}

function findWords(text: string, words = forbidden): string[] {
  const fault = words === forbidden ? 'is not a word of the field' : 'reads as translated';
  return words.flatMap(({ pattern, use }) => {
    const word = pattern.exec(text)?.[0];
    return word === undefined ? [] : [`"${word}" ${fault}: ${use}`];
  });
}

if (import.meta.main) {
  const findings = checkWords(root);
  for (const finding of findings) console.error(finding);
  process.exitCode = findings.length > 0 ? 1 : 0;
}
