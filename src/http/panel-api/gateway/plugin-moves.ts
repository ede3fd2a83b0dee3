import { Elysia, t } from 'elysia';
import { AppError } from '../../../kernel/index.ts';
import type { PluginMove, PluginService } from '../../../plugins/index.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

type MoveDeps = { plugins: PluginService; audit: RecordAudit };

const to = t.String({
  minLength: 1,
  maxLength: 30,
  description: 'The key of the plugin that takes its place: stored, or shipped with the gateway.',
});

/** One plugin takes the place of another under a key of its own. */
export function pluginMoveRoutes(kit: Kit, { plugins, audit }: MoveDeps) {
  return new Elysia({ normalize: false, tags: ['Plugins'] })
    .use(kit)
    .get(
      '/api/plugin/task/:key/move',
      async ({ params, query }) => ok(describeMove(await plugins.previewMove(params.key, query.to))),
      {
        root: true,
        query: strictObject({ to }),
        detail: {
          summary: 'Preview what follows when another plugin takes the place of this one',
          description:
            'channels with the models that they would lose, prices (kept: the other plugin has one of its own for the model), lost_routes. Tasks stay with the versions that began them and are found under the new key.',
        },
      },
    )
    .post(
      '/api/plugin/task/:key/move',
      async ({ params: { key }, body, panel, origin }) => {
        const move = await withFreshMove(() => plugins.move({ from: key, ...body }));
        await audit(
          { panel, origin },
          {
            action: 'plugin.move',
            target: `plugin:${key}`,
            detail: { before: move.from, after: move.to, channels: move.channels.map(({ id }) => id) },
          },
        );
        return ok(describeMove(move));
      },
      {
        root: true,
        body: strictObject({
          to,
          digest: t.String({ maxLength: 200, description: 'That of the preview that you have read.' }),
        }),
        detail: {
          summary: 'Let another plugin take the place of this one',
          description:
            'Channels, prices and legacy channel types follow, and its tasks are found under the new key, in one step; this plugin is switched off. The way back is the same move from the other key. PLUGIN_MOVE_OUTDATED (409, details.move): it would change something else now, and nothing has changed. PLUGIN_CONFLICT: a third plugin has what the other one claims.',
        },
      },
    );
}

const describeMove = (move: PluginMove) => ({
  from: move.from,
  to: move.to,
  channels: move.channels,
  prices: move.prices,
  lost_routes: move.lostRoutes,
  unfinished_tasks: move.unfinishedTasks,
  conflict: move.conflict,
  digest: move.digest,
});

async function withFreshMove<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'plugins.move_outdated') throw error;
    const { move } = error.details as { move: PluginMove };
    throw new AppError(error.code, error.kind, { message: error, details: { move: describeMove(move) } });
  }
}
