import { Elysia, t } from 'elysia';
import type { PanelPrincipal, RequestOrigin } from '../../../auth/index.ts';
import type { Billing } from '../../../billing/index.ts';
import { sentence, userOwner } from '../../../kernel/index.ts';
import type { PluginService } from '../../../plugins/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { compressJson } from '../../responses/compress-json.ts';
import { answersIcon } from '../../responses/describe-answer.ts';
import { serveIcon } from '../../responses/serve-icon.ts';
import { languageQuery, textsInLanguage } from '../../responses/texts-in-language.ts';
import type { RecordAudit } from '../record-audit.ts';
import {
  auditVersion,
  describeDetail,
  describeOutcome,
  describeRuntime,
  describeSummary,
  describeVersion,
  withFreshPreview,
} from './describe-plugin.ts';

const flag = (description: string) => t.Optional(t.Union([t.Literal('true'), t.Literal('false')], { description }));
const versionQuery = t.Optional(
  t.String({ minLength: 1, maxLength: 200, description: 'Default: the serving version.' }),
);

/** What uploads and installations take to activate a version. */
export const activateOptions = {
  activate: t.Optional(
    t.Boolean({
      description: 'Activate the version as well, in the same transaction. Needs preview_digest.',
    }),
  ),
  preview_digest: t.Optional(
    t.String({
      maxLength: 200,
      description:
        'The digest of the preview that you have read. If the activation would now change something else, PLUGIN_PREVIEW_OUTDATED (409, details.preview), and nothing has changed.',
    }),
  ),
  share_models: t.Optional(
    t.Boolean({
      description:
        'Whether the plugin may claim models that other plugins claim too; kept with the plugin. Without it such a claim is PLUGIN_CONFLICT. Requests then go to any of their channels, each at its own price.',
    }),
  ),
};

type ActivateOptions = { activate?: boolean; preview_digest?: string; enabled?: boolean };

/** The digest with which a version is to be activated. @throws fields that do not fit together */
export function readPreviewDigest({ activate, preview_digest: digest, enabled }: ActivateOptions) {
  if (!activate) return {};
  if (digest === undefined) throw fieldError('preview_digest', 'required', sentence('http.preview_digest'));
  if (enabled === false) throw fieldError('enabled', 'wrong_value', sentence('http.activated_enabled'));
  return { previewDigest: digest };
}

const adoptQuery = flag(
  'The version also takes over all tasks that exist now: it polls the unfinished ones and reads the results of the finished ones, instead of the versions that began them. See replay in the preview first.',
);

const uploadOptions = {
  root: true,
  bodyLimit: 'source',
  body: strictObject({
    ...activateOptions,
    source: t.String({ minLength: 1, maxLength: 2 * 1024 * 1024, description: 'The whole module, at most 1 MiB.' }),
    remark: t.Optional(t.String({ maxLength: 2000, description: 'A note for administrators.' })),
    enabled: t.Optional(
      t.Boolean({
        description: 'Default true; false stores without serving. A version that is already stored keeps its value.',
      }),
    ),
    force: t.Optional(
      t.Boolean({
        description: 'Store although another plugin already has what this one claims, or disable a plugin in use.',
      }),
    ),
    icon: t.Optional(
      t.String({
        maxLength: 1024 * 1024,
        description: 'A base64 data URL of a PNG or SVG image of at most 512 KiB, decoded.',
      }),
    ),
    sourceSha256: t.Optional(
      t.String({ maxLength: 200, description: 'The SHA-256 that the source must have, in hex.' }),
    ),
  }),
  detail: {
    summary: 'Upload a plugin version',
    description:
      'The first version of a key serves at once, unless a built-in plugin is in use under it: by channels, prices, unfinished tasks or results of the last 30 days. Later ones wait for activation. outcome says which, in_use why, and preview what the activation would change. The same version with the same source only changes remark, icon and enabled. Errors, after which nothing has changed: PLUGIN_INVALID (422, details.errors: every fault with path, rule, message, hint, line, column), PLUGIN_ICON_INVALID (422), PLUGIN_CONFLICT (409, details.with), PLUGIN_VERSION_EXISTS (409: the version is stored with another source), PLUGIN_IN_USE (409), PLUGIN_PREVIEW_OUTDATED (409), PLUGIN_UNAVAILABLE (503).',
  },
} as const;

type PluginRouteDeps = { plugins: PluginService; billing: Billing; audit: RecordAudit };

/** Task plugins: list, upload, activate, enable, narrow, delete. */
export function pluginRoutes(kit: Kit, { plugins, billing, audit }: PluginRouteDeps) {
  type Upload = {
    body: typeof uploadOptions.body.static;
    panel: PanelPrincipal;
    origin: RequestOrigin;
  };
  async function upload({ body, panel, origin }: Upload) {
    const { activate, preview_digest: _, share_models: shareModels, ...uploaded } = body;
    const digest = readPreviewDigest(body);
    const detail = await withFreshPreview(billing, () =>
      plugins.upload(
        { ...uploaded, ...digest, ...(shareModels === undefined ? {} : { shareModels }) },
        userOwner(panel.user.id),
      ),
    );
    const { key = '', version = '' } = detail.plugin ?? {};
    await audit(
      { panel, origin },
      {
        action: 'plugin.upload',
        target: `plugin:${key}@${version}`,
        detail: {
          before: auditVersion(detail.before),
          after: auditVersion(detail.plugin),
          force: body.force ?? false,
          activated: activate ?? false,
          ...(shareModels === undefined ? {} : { share_models: shareModels }),
          icon_given: body.icon !== undefined,
        },
      },
    );
    return ok({ ...describeDetail(detail), ...describeOutcome(billing, detail) });
  }

  return new Elysia({ normalize: false, tags: ['Plugins'] })
    .use(kit)
    .get(
      '/api/plugin/task',
      async ({ query }) => ok(textsInLanguage((await plugins.list()).map(describeSummary), query.language)),
      {
        root: true,
        query: strictObject(languageQuery),
        mapResponse: compressJson,
        detail: {
          summary: 'List plugins, including built-in ones',
          description:
            'Sorted by sortPriority, then by key. runtime_status: registered (serves), not_registered (in conflict; runtime_error names the other plugin), compile_failed, disabled, disabled_fallback (the stored version is disabled and the one that ships with the gateway serves).',
        },
      },
    )
    .post('/api/plugin/task', upload, uploadOptions)
    .put('/api/plugin/task', upload, uploadOptions)
    .get('/api/plugin/task/runtime/status', () => ok(describeRuntime(plugins.runtimeStatus())), {
      root: true,
      detail: {
        summary: "Get this node's plugin revision and load errors",
        description:
          'Nodes with the same database_revision have read the same plugins. database_error: the database does not answer, and the published generation stays.',
      },
    })
    .get(
      '/api/plugin/task/:key',
      async ({ params, query }) => ok(describeDetail(await plugins.detail(params.key, query.version))),
      {
        root: true,
        query: strictObject({ version: versionQuery }),
        detail: {
          summary: 'Get a plugin version with its source',
          description:
            'plugin is null for a built-in one. If a stored source does not pass the checks, meta is null and errors lists the faults.',
        },
      },
    )
    .get(
      '/api/plugin/task/:key/versions',
      async ({ params }) => ok((await plugins.versions(params.key)).map(describeVersion)),
      {
        root: true,
        detail: { summary: "List a plugin's stored versions, newest first" },
      },
    )
    .get(
      '/api/plugin/task/:key/icon',
      async ({ params, query }) => serveIcon(await plugins.icon(params.key, query.version)),
      {
        root: true,
        query: strictObject({ version: versionQuery }),
        detail: { summary: "Get a plugin's logo", ...answersIcon },
      },
    )
    .post(
      '/api/plugin/task/:key/activate',
      async ({
        params: { key },
        body: { version, preview_digest: previewDigest, share_models: shareModels },
        query,
        panel,
        origin,
      }) => {
        const adopt = query.adopt === 'true';
        const options = {
          adopt,
          owner: userOwner(panel.user.id),
          ...(previewDigest === undefined ? {} : { previewDigest }),
          ...(shareModels === undefined ? {} : { shareModels }),
        };
        const { before, after, adoptedTasks } = await withFreshPreview(billing, () =>
          plugins.activate(key, version, options),
        );
        await audit(
          { panel, origin },
          {
            action: 'plugin.activate',
            target: `plugin:${key}`,
            detail: {
              before: auditVersion(before),
              after: auditVersion(after) ?? { serving: 'factory' },
              ...(shareModels === undefined ? {} : { share_models: shareModels }),
              ...(adopt ? { adopted: { unfinished_tasks: adoptedTasks } } : {}),
            },
          },
        );
        return ok(null);
      },
      {
        root: true,
        body: strictObject({
          version: t.String({ minLength: 1, maxLength: 200, description: 'A stored version, or factory.' }),
          preview_digest: activateOptions.preview_digest,
          share_models: activateOptions.share_models,
        }),
        query: strictObject({ adopt: adoptQuery }),
        detail: {
          summary: 'Activate a stored or built-in version',
          description:
            'Enables the plugin as well. A version without a narrowing takes over that of the version it replaces, except for models it does not have. With factory the stored versions stay, but none of them is active, including later uploads, until you activate one. Requests in progress end on the version they began with, and so do tasks, unless adopt=true. PLUGIN_INVALID, PLUGIN_CONFLICT, PLUGIN_PREVIEW_OUTDATED: nothing has changed.',
        },
      },
    )
    .post(
      '/api/plugin/task/:key/status',
      async ({ params: { key }, body: { enabled }, query, panel, origin }) => {
        const cascade = query.cascade === 'true';
        const force = query.force === 'true';
        const done = await plugins.setEnabled(key, enabled, { cascade, force });
        await audit(
          { panel, origin },
          {
            action: 'plugin.status',
            target: `plugin:${key}`,
            detail: {
              before: done.before,
              after: { enabled: done.pluginEnabled, disabled_channels: done.disabledChannels },
              cascade,
              force,
            },
          },
        );
        return ok({
          plugin_enabled: done.pluginEnabled,
          disabled_channels: done.disabledChannels,
          in_flight_count: done.inFlightCount,
        });
      },
      {
        root: true,
        body: strictObject({ enabled: t.Boolean() }),
        query: strictObject({
          cascade: flag('Also disable the enabled channels that use the plugin.'),
          force: flag('Even if tasks are unfinished: they wait until the plugin is enabled again.'),
        }),
        detail: {
          summary: 'Enable or disable a plugin',
          description:
            'Applies to its stored versions and to the built-in one. PLUGIN_IN_USE (409, details: channels, in_flight_count): cascade or force is needed.',
        },
      },
    )
    .put(
      '/api/plugin/task/:key/models',
      async ({ params: { key }, body: { models }, panel, origin }) => {
        const { before, after } = await plugins.narrow(key, models);
        await audit(
          { panel, origin },
          {
            action: 'plugin.narrow',
            target: `plugin:${key}@${after.version}`,
            detail: { before: before.narrowedModels, after: after.narrowedModels },
          },
        );
        return ok(describeVersion(after));
      },
      {
        root: true,
        body: strictObject({
          models: t.Union(
            [t.Null(), t.Array(t.String({ minLength: 1, maxLength: 191 }), { minItems: 1, maxItems: 1000 })],
            {
              description: 'The models that the plugin serves; null: all models of its manifest.',
            },
          ),
        }),
        detail: {
          summary: "Limit the active version's models",
          description:
            'Its protocol claims and routes serve only these models. Later uploads of the key, and versions that replace this one, take the narrowing over. A built-in plugin is narrowed too, through upgrades; its id and created_at are 0. PLUGIN_INVALID: the plugin has no such model. PLUGIN_CONFLICT: another plugin has one of the models.',
        },
      },
    )
    .delete(
      '/api/plugin/task/:key/versions/:version',
      async ({ params: { key, version }, query, panel, origin }) => {
        const force = query.force === 'true';
        const adopt = query.adopt === 'true';
        const { before, successor } = await plugins.deleteVersion(key, version, { force, adopt });
        await audit(
          { panel, origin },
          {
            action: 'plugin.delete',
            target: `plugin:${key}@${version}`,
            detail: { before: auditVersion(before), after: { serving: successor }, force, ...(adopt ? { adopt } : {}) },
          },
        );
        return ok(null);
      },
      {
        root: true,
        query: strictObject({
          force: flag('Even if it is in use, or the version that replaces it cannot serve.'),
          adopt: adoptQuery,
        }),
        detail: {
          summary: 'Delete a stored version',
          description:
            'The newest remaining version replaces the active one, otherwise the built-in one. PLUGIN_INVALID, PLUGIN_CONFLICT: the replacement could not serve. PLUGIN_IN_USE: there is no replacement, and channels or tasks need the plugin.',
        },
      },
    );
}
