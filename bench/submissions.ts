import { atLeast, type Row } from './row.ts';
import { runClients } from './run-clients.ts';
import { openStage } from './stage.ts';

const CLIENTS = 32;
const WARM_UP_SECONDS = 2;
const SECONDS = 6;
const AIMS = { NORMAL: 500, FULL: 200 };

/**
 * Submissions a second on SQLite: each one reserved, sent to the vendor and stored before it is
 * answered, while the gateway polls what it has. The vendor's own count must equal the answers.
 */
export async function benchSubmissions(synchronous: 'NORMAL' | 'FULL'): Promise<Row[]> {
  const stage = await openStage({ SQLITE_SYNCHRONOUS: synchronous });
  try {
    let answered = 0;
    const submit = async () => {
      await stage.submit('a lighthouse in the fog [duration=600]');
      answered += 1;
    };
    await runClients(CLIENTS, WARM_UP_SECONDS, submit);
    const { perSecond, p50Ms, p99Ms } = await runClients(CLIENTS, SECONDS, submit);
    const { creates } = await stage.vendor.stats();
    if (creates !== answered) throw new Error(`${answered} submissions were answered, the vendor counts ${creates}`);
    return [
      {
        what: `submissions, SQLite ${synchronous}`,
        measured: `${perSecond.toFixed(0)}/s (p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms)`,
        aim: atLeast(perSecond, AIMS[synchronous], '/s'),
        figures: { per_second: perSecond, p50_ms: p50Ms, p99_ms: p99Ms, vendor_creates: answered },
      },
    ];
  } finally {
    await stage.stop();
  }
}
