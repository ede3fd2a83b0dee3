import type { Figure } from '../figures.ts';
import { formatRequest } from '../load/http-client.ts';
import { measureRequests } from '../load/measure-requests.ts';
import { startScript } from '../load/start-script.ts';
import type { Run } from '../part.ts';
import { benchHookInProcess } from './hooks.ts';

/** The least programs that could do a row, of no build: what is left to be won. */
export async function benchReference({ seconds }: Run): Promise<Figure[]> {
  const server = await startScript('least/server.ts');
  try {
    const text = formatRequest('GET', '/');
    const what = 'least: constant answer of the framework, one select';
    return [
      ...(await measureRequests({ what, gateway: server, seconds, next: () => text })),
      ...(await benchHookInProcess()),
    ];
  } finally {
    await server.stop();
  }
}
