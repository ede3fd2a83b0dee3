import { cpus, loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';
import { benchContent } from '../bench/content.ts';
import { benchFairness } from '../bench/fairness.ts';
import { benchHookCalls } from '../bench/hook-call.ts';
import { benchObservers } from '../bench/observers.ts';
import { benchPolling } from '../bench/polling.ts';
import { benchRequests } from '../bench/requests.ts';
import type { Row } from '../bench/row.ts';
import { benchSessions } from '../bench/sessions.ts';
import { benchStart } from '../bench/start.ts';
import { benchSubmissions } from '../bench/submissions.ts';
import { benchTransfers } from '../bench/transfers.ts';
import { buildExecutable } from './build.ts';

/**
 * npm run bench: one table of what the executable does, over real HTTP, with the demo vendor as a
 * process of its own. `--only NAME` measures one part, `--json FILE` writes the figures. Exit code
 * 1: an aim was missed.
 */
const PARTS: Record<string, () => Promise<Row[]>> = {
  start: benchStart,
  hook: benchHookCalls,
  requests: benchRequests,
  sessions: benchSessions,
  normal: () => benchSubmissions('NORMAL'),
  full: () => benchSubmissions('FULL'),
  fairness: benchFairness,
  content: benchContent,
  memory: benchTransfers,
  observers: benchObservers,
  polling: benchPolling,
};

const USAGE = `Usage: npm run bench -- [--only ${Object.keys(PARTS).join('|')}] [--json FILE]`;

async function main(args: string[]): Promise<number> {
  let only: string | undefined;
  let file: string | undefined;
  while (args.length > 0) {
    const [name, value] = args.splice(0, 2);
    if (name === '--only' && value !== undefined && value in PARTS) only = value;
    else if (name === '--json' && value !== undefined) file = value;
    else {
      console.error(`Not understood: ${[name, value].join(' ')}\n${USAGE}`);
      return 2;
    }
  }
  if (process.platform !== 'linux') {
    console.error('The bench reads memory and processor time from /proc and runs on Linux alone.');
    return 2;
  }
  if (process.env.TASKGATE_BINARY === undefined) await buildExecutable();

  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`;
  console.log(`${machine}; load before the bench ${loadavg()[0]?.toFixed(1)}\n`);
  const begun = performance.now();
  const rows: Row[] = [];
  for (const [name, measure] of Object.entries(PARTS)) {
    if (only !== undefined && name !== only) continue;
    const measured = await measure();
    for (const row of measured) console.log(line(row));
    rows.push(...measured);
  }
  console.log(`\n${rows.length} lines in ${((performance.now() - begun) / 1000).toFixed(0)} s`);
  if (file !== undefined) {
    const figures = rows.map(({ what, figures, aim }) => ({ what, ...figures, ...(aim && { aim }) }));
    await Bun.write(file, `${JSON.stringify({ machine, rows: figures }, null, 2)}\n`);
  }
  return rows.every(({ aim }) => aim?.met !== false) ? 0 : 1;
}

function line({ what, measured, aim }: Row): string {
  const verdict = aim ? `${aim.text.padEnd(14)} ${aim.met ? 'met' : 'MISSED'}` : '';
  return `${what.padEnd(42)} ${measured.padEnd(60)} ${verdict}`.trimEnd();
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`\nThe bench failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
