import { Elysia, t } from 'elysia';
import type { PanelPrincipal, RequestOrigin } from '../../auth/index.ts';
import type { Json } from '../../kernel/index.ts';
import type { PluginDetail, PluginService, PluginSummary, PluginVersion, RuntimeStatus } from '../../plugins/index.ts';
import { httpErrors } from '../errors.ts';
import { type Kit, ok, strictObject } from '../kit.ts';
import type { RecordAudit } from '../record-audit.ts';

const flag = t.Optional(t.Union([t.Literal('true'), t.Literal('false')]));

const uploadOptions = {
  root: true,
  body: strictObject({
    source: t.String({ minLength: 1, description: 'The whole module, at most 1 MiB.' }),
    remark: t.Optional(t.String({ maxLength: 2000 })),
    enabled: t.Optional(t.Boolean({ description: 'false stores without serving.' })),
    force: t.Optional(t.Boolean({ description: 'Store although another plugin has what this one claims.' })),
    icon: t.Optional(t.String({ description: 'A base64 data URL of at most 512 KiB.' })),
    sourceSha256: t.Optional(t.String({ description: 'The SHA-256 that the source must have, in hex.' })),
  }),
  detail: { summary: 'Upload a plugin version' },
} as const;

/** Task plugins. */
export function pluginRoutes(kit: Kit, { plugins, audit }: { plugins: PluginService; audit: RecordAudit }) {
  type Upload = {
    body: typeof uploadOptions.body.static;
    panel: PanelPrincipal;
    origin: RequestOrigin;
  };
  async function upload({ body, panel, origin }: Upload) {
    const detail = await plugins.upload(body);
    const { key = '', version = '' } = detail.plugin ?? {};
    await audit(
      { panel, origin },
      {
        action: 'plugin.upload',
        target: `plugin:${key}@${version}`,
        detail: {
          source_hash: detail.sourceHash,
          enabled: detail.plugin?.enabled ?? false,
          active: detail.plugin?.active ?? false,
          force: body.force ?? false,
          icon_given: body.icon !== undefined,
        },
      },
    );
    return ok(describeDetail(detail));
  }

  return new Elysia({ normalize: false, tags: ['Plugins'] })
    .use(kit)
    .get('/api/plugin/task', async () => ok((await plugins.list()).map(describeSummary)), {
      root: true,
      detail: { summary: 'All plugins, what ships with the gateway included' },
    })
    .post('/api/plugin/task', upload, uploadOptions)
    .put('/api/plugin/task', upload, uploadOptions)
    .get('/api/plugin/task/runtime/status', () => ok(describeRuntime(plugins.runtimeStatus())), {
      root: true,
      detail: { summary: "This node's generation and what could not join it" },
    })
    .get(
      '/api/plugin/task/:key',
      async ({ params, query }) => ok(describeDetail(await plugins.detail(params.key, query.version))),
      {
        root: true,
        query: strictObject({ version: t.Optional(t.String()) }),
        detail: { summary: 'A plugin version with its source; the serving one unless named' },
      },
    )
    .get(
      '/api/plugin/task/:key/versions',
      async ({ params }) => ok((await plugins.versions(params.key)).map(describeVersion)),
      {
        root: true,
        detail: { summary: 'The stored versions of a plugin, the newest first' },
      },
    )
    .get(
      '/api/plugin/task/:key/icon',
      async ({ params, query }) => {
        const icon = await plugins.icon(params.key, query.version);
        if (!icon) throw httpErrors.not_found();
        return new Response(new Uint8Array(icon.bytes), {
          headers: {
            'content-type': icon.mimeType,
            'cache-control': 'private, max-age=3600',
            'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
          },
        });
      },
      {
        root: true,
        query: strictObject({ version: t.Optional(t.String()) }),
        detail: { summary: 'The logo of a plugin' },
      },
    )
    .post(
      '/api/plugin/task/:key/activate',
      async ({ params: { key }, body: { version }, panel, origin }) => {
        const before = (await plugins.versions(key)).find((row) => row.active)?.version ?? null;
        await plugins.activate(key, version);
        await audit(
          { panel, origin },
          { action: 'plugin.activate', target: `plugin:${key}`, detail: { before, after: version } },
        );
        return ok(null);
      },
      { root: true, body: strictObject({ version: t.String() }), detail: { summary: 'Let a stored version serve' } },
    )
    .post(
      '/api/plugin/task/:key/status',
      async ({ params: { key }, body: { enabled }, query, panel, origin }) => {
        const cascade = query.cascade === 'true';
        const force = query.force === 'true';
        const { pluginEnabled, disabledChannels } = await plugins.setEnabled(key, enabled, { cascade, force });
        await audit(
          { panel, origin },
          {
            action: 'plugin.status',
            target: `plugin:${key}`,
            detail: { after: { enabled: pluginEnabled, disabled_channels: disabledChannels }, cascade, force },
          },
        );
        return ok({ plugin_enabled: pluginEnabled, disabled_channels: disabledChannels });
      },
      {
        root: true,
        body: strictObject({ enabled: t.Boolean() }),
        query: strictObject({ cascade: flag, force: flag }),
        detail: { summary: 'Switch a plugin on or off; cascade disables its channels, force overrides running tasks' },
      },
    )
    .delete(
      '/api/plugin/task/:key/versions/:version',
      async ({ params: { key, version }, query, panel, origin }) => {
        const force = query.force === 'true';
        await plugins.deleteVersion(key, version, { force });
        await audit(
          { panel, origin },
          { action: 'plugin.delete', target: `plugin:${key}@${version}`, detail: { force } },
        );
        return ok(null);
      },
      { root: true, query: strictObject({ force: flag }), detail: { summary: 'Delete a stored version' } },
    )
    .post(
      '/api/plugin/task/:key/dryrun',
      async ({ params, body }) => ok(await plugins.dryRun(params.key, { ...body, args: (body.args ?? []) as Json[] })),
      {
        root: true,
        body: strictObject({
          hook: t.String({ minLength: 1 }),
          member: t.Optional(t.String()),
          path: t.Optional(t.Array(t.String(), { maxItems: 8 })),
          args: t.Optional(t.Array(t.Unknown())),
        }),
        detail: { summary: 'Call one hook and nothing more: no request is made' },
      },
    );
}

const describeVersion = (version: PluginVersion) => ({
  id: version.id,
  key: version.key,
  version: version.version,
  api_version: version.apiVersion,
  source_hash: version.sourceHash,
  enabled: version.enabled,
  active: version.active,
  remark: version.remark,
  has_icon: version.hasIcon,
  narrowed_models: version.narrowedModels,
  created_at: version.createdAt,
});

const describeDetail = (detail: PluginDetail) => ({
  plugin: detail.plugin ? describeVersion(detail.plugin) : null,
  layer: detail.layer === 'database' ? ('override' as const) : ('factory' as const),
  meta: detail.meta,
  source: detail.source,
  source_hash: detail.sourceHash,
  has_icon: detail.hasIcon,
  errors: detail.errors,
});

const describeSummary = (plugin: PluginSummary) => ({
  key: plugin.key,
  version: plugin.version,
  meta: plugin.meta,
  source: plugin.source,
  enabled: plugin.enabled,
  active: plugin.active,
  source_hash: plugin.sourceHash,
  has_icon: plugin.hasIcon,
  remark: plugin.remark,
  runtime_status: plugin.runtimeStatus,
  ...(plugin.runtimeError === undefined ? {} : { runtime_error: plugin.runtimeError }),
  ...(plugin.factoryMeta === undefined ? {} : { factory_meta: plugin.factoryMeta }),
  channel_count: plugin.channelCount,
  in_flight_count: plugin.inFlightCount,
});

const describeRuntime = ({ lastRebuild, ...status }: RuntimeStatus) => ({
  current_generation: status.currentGeneration,
  generation_published_at: status.generationPublishedAt,
  database_revision: status.databaseRevision,
  ...(status.databaseError === undefined ? {} : { database_error: status.databaseError }),
  last_rebuild: {
    status: lastRebuild.status,
    attempted_at: lastRebuild.attemptedAt,
    generation: lastRebuild.generation,
    database_revision: lastRebuild.databaseRevision,
    plugin_error_count: lastRebuild.pluginErrorCount,
    ...(lastRebuild.error === undefined ? {} : { error: lastRebuild.error }),
  },
  plugin_errors: status.pluginErrors,
});
