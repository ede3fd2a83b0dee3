import { signIn } from '../../test/support/gateway.ts';
import type { Figure } from '../figures.ts';
import { formatRequest } from '../load/http-client.ts';
import { measureRequests } from '../load/measure-requests.ts';
import type { Run } from '../part.ts';
import { startBuild } from '../stage.ts';
import { prepareTasks } from './large-database.ts';
import { NO_LIMITS } from './requests.ts';

export const LISTS_CONNECTIONS = 8;
const FEW_TASKS = 1000;
/** The rows that grow with each task: of all tasks, of those with a status, of what they cost. */
const LISTS = {
  'first page of tasks': '/api/task?page=1&page_size=20',
  'first page of failed tasks': '/api/task?page=1&page_size=20&status=FAILURE',
  'page 40 of tasks': '/api/task?page=40&page_size=20',
  'part of a feed of tasks': '/api/task/feed?limit=20',
  'first page of the ledger': '/api/user/self/ledger?page=1&page_size=20',
} as const;

/** Pages of the panel's lists, of a thousand tasks and of many: the first page must not grow. */
export async function benchLists({ build, seconds, tasks }: Run): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const size of [FEW_TASKS, tasks]) {
    const { dataDir } = await prepareTasks(build, size);
    const gateway = await startBuild(build, { dataDir, env: NO_LIMITS });
    try {
      const { token } = await signIn(gateway.url);
      for (const [what, path] of Object.entries(LISTS)) {
        const text = formatRequest('GET', path, { headers: { authorization: `Bearer ${token}` } });
        const load = { gateway, seconds, connections: LISTS_CONNECTIONS, warmUpRequests: 50, next: () => text };
        figures.push(...(await measureRequests({ what: `${what} of ${size.toLocaleString('en')}`, ...load })));
      }
    } finally {
      await gateway.stop();
    }
  }
  return figures;
}
