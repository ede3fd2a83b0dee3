import { Elysia } from 'elysia';
import type { Reports } from '../../../reports/index.ts';
import type { Results } from '../../../results/index.ts';
import { LIST_LIMITS, taskState } from '../../../tasks/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';

/** What each model made last, for the cards of the catalogue: users see their own results. */
export function latestResultRoutes(kit: Kit, { reports, results }: { reports: Reports; results: Results }) {
  return new Elysia({ normalize: false, tags: ['Tasks in the panel'] }).use(kit).get(
    '/api/model/results',
    async ({ panel }) => {
      const found = await reports.latestResults(isAdmin(panel) ? {} : { userId: panel.user.id });
      const posters = await results.posters(found);
      const described = found.map((task) => {
        const { id, platform, model, status } = taskState(task);
        const poster = posters.get(task.taskId);
        return { id, platform, model, status, ...(poster && { poster }) };
      });
      return ok(described);
    },
    {
      user: true,
      detail: {
        summary: 'List the latest result of each model',
        description: `Your own results; for administrators those of all users. The newest come first, at most ${LIST_LIMITS.models}. A model may be missing if its last success lies behind ${LIST_LIMITS.fed.toLocaleString('en-US')} other tasks.`,
      },
    },
  );
}
