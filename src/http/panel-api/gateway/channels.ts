import { Elysia, t } from 'elysia';
import type { Auth, PanelPrincipal } from '../../../auth/index.ts';
import { type Billing, checkCostPrices } from '../../../billing/index.ts';
import {
  type CapacityService,
  type ChannelChange,
  type ChannelInput,
  type Channels,
  channelErrors,
  mapModel,
  type SavedChannel,
} from '../../../channels/index.ts';
import { type JsonObject, withoutUndefined } from '../../../kernel/index.ts';
import { findDriver, type PluginService } from '../../../plugins/index.ts';
import type { ChannelHealth, Reports } from '../../../reports/index.ts';
import type { SettingsService } from '../../../settings/index.ts';
import type { Tasks } from '../../../tasks/index.ts';
import { readProof } from '../../pipeline/access-levels.ts';
import { isRoot } from '../../pipeline/admit-request.ts';
import { paged, pageQuery, readId, readPage } from '../../pipeline/paging.ts';
import { integerSchema, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { compressJson } from '../../responses/compress-json.ts';
import { languageQuery, textsInLanguage } from '../../responses/texts-in-language.ts';
import type { AnswerOnce } from '../idempotent-answers.ts';
import type { RecordAudit } from '../record-audit.ts';
import { describeCapacity, limitsBody, readLimits } from './channel-capacity.ts';
import { credentialsBody, readCredential, showCredential } from './channel-credentials.ts';
import { describeChannel, describeHealth, readChannelChoices } from './describe-channel.ts';

type Channel = SavedChannel['channel'];

const optional = {
  base_url: t.Optional(t.String({ maxLength: 2048, description: "Empty: the plugin's default address." })),
  groups: t.Optional(t.Array(t.String({ maxLength: 64 }), { maxItems: 1000 })),
  priority: t.Optional(
    integerSchema({ minimum: -1_000_000, maximum: 1_000_000, description: 'The highest is tried first.' }),
  ),
  weight: t.Optional(
    integerSchema({ minimum: 0, maximum: 1_000_000, description: 'The share among channels of equal priority.' }),
  ),
  model_mapping: t.Optional(
    t.Record(t.String(), t.String({ maxLength: 191 }), {
      maxProperties: 1000,
      description: "Maps a client's model name to the vendor's.",
    }),
  ),
  task_plugin_key: t.Optional(t.String({ maxLength: 200, description: 'The plugin of a channel of type 61.' })),
  settings: t.Optional(
    t.Record(t.String(), t.Unknown(), {
      maxProperties: 100,
      description:
        'Read by the plugin, but for cost_prices (what the vendor bills: a price expression for each model or *, in USD), retry_on_5xx, balance_script (a module with buildBalanceRequest and parseBalanceResponse; root alone may change it), balance_alert_usd (a warning below so many US dollars) and not_found_grace_seconds: for so many seconds after its submission a task that the vendor does not find counts as a failed poll (0, the default: it ends).',
    }),
  ),
  status: t.Optional(t.Union([t.Literal(1), t.Literal(2)], { description: '1 enabled, 2 disabled.' })),
  proxy: t.Optional(
    t.String({
      maxLength: 1000,
      description:
        'scheme://user:password@host:port with http, https, socks5 or socks5h; direct: none; empty: that of the gateway. Answers show it without user and password.',
    }),
  ),
  headers: t.Optional(
    t.Record(t.String({ maxLength: 100 }), t.Union([t.String({ maxLength: 4096 }), t.Null()]), {
      maxProperties: 16,
      description:
        "Further headers of requests to the channel's host, which override none of the plugin's. They replace the stored ones; a value of null stays as it was. Answers have their names only.",
    }),
  ),
  body_defaults: t.Optional(
    t.Union([t.Record(t.String(), t.Unknown(), { maxProperties: 100 }), t.Null()], {
      description: 'For a relay: fields that are added to a JSON body that lacks them.',
    }),
  ),
  spill: t.Optional(
    t.Boolean({
      description: 'Whether channels of a lower priority serve while this one has no room; true by default.',
    }),
  ),
  ...limitsBody,
};
const required = {
  name: t.String({ maxLength: 500 }),
  type: integerSchema({ minimum: 1, maximum: 1_000_000 }),
  models: t.Array(t.String({ maxLength: 191 }), { maxItems: 1000 }),
};
const key = t.Optional(
  t.String({ maxLength: 32 * 1024, description: "The vendor's credential. This route never returns it." }),
);
const createBody = strictObject({
  ...required,
  key,
  credentials: t.Optional(credentialsBody),
  ...optional,
});
const updateBody = strictObject({
  name: t.Optional(required.name),
  type: t.Optional(required.type),
  key,
  models: t.Optional(required.models),
  ...optional,
});

/** Channels: the operator's accounts at vendors. */
export function channelRoutes(
  kit: Kit,
  deps: {
    auth: Auth;
    billing: Billing;
    channels: Channels;
    capacity: CapacityService;
    plugins: PluginService;
    options: SettingsService;
    reports: Reports;
    tasks: Pick<Tasks, 'queue'>;
    audit: RecordAudit;
    once: AnswerOnce;
  },
) {
  const { auth, channels, reports, audit, once } = deps;

  const describe = (channel: Channel) => {
    const [only, ...others] = channels.accounts(channel);
    const keyHint = others.length === 0 ? (only?.credential.keyHint ?? '') : '';
    return describeChannel(channel, { keyHint, network: channels.shownNetwork(channel) });
  };

  const describeWithPrices = async (channel: Channel) => {
    const isPriced = (model: string): boolean => {
      const upstreamModel = mapModel(channel.modelMapping, model);
      const pluginKey = findDriver(deps.plugins.current(), channel, upstreamModel)?.key ?? '*';
      return deps.billing.prices.find(pluginKey, model, upstreamModel) !== undefined;
    };
    return {
      ...describe(channel),
      unpriced_models: channel.models.filter((model) => !isPriced(model)),
      capacity: await describeCapacity(deps, channel),
    };
  };

  const show = async (channel: Channel, health: ReadonlyMap<number, ChannelHealth>) => ({
    ...(await describeWithPrices(channel)),
    key_readable: channels.accounts(channel).every(channels.isReadable),
    credentials: channels.accounts(channel).map((account) => showCredential(deps, account.credential, account)),
    health: describeHealth(health.get(channel.id)),
  });

  const requireKeyProof = (panel: PanelPrincipal, proof: string | undefined) =>
    auth.proofs.require(panel, proof, 'channel.key.read');

  /**
   * A user who may read the key may also send it to another address. An invalid proof is refused,
   * not ignored.
   */
  async function mayMoveKey(panel: PanelPrincipal, proof: string | undefined): Promise<boolean> {
    if (proof === undefined || !isRoot(panel)) return false;
    await requireKeyProof(panel, proof);
    return true;
  }

  const statuses = { '1': 1, '2': 2 } as const;
  return new Elysia({ normalize: false, tags: ['Channels'] })
    .use(kit)
    .get(
      '/api/channel',
      async ({ query }) => {
        const page = readPage(query);
        const { keyword = '', status } = query;
        const filter = { keyword: keyword.trim(), ...(status ? { status: statuses[status] } : {}) };
        const found = await channels.list(page, filter);
        const health = await reports.channelHealth();
        return ok(
          paged(page, { ...found, items: await Promise.all(found.items.map((channel) => show(channel, health))) }),
        );
      },
      {
        admin: true,
        query: strictObject({
          ...pageQuery,
          keyword: t.Optional(
            t.String({
              maxLength: 100,
              description: "A part of a name, an address, a model, a group or a plugin's key",
            }),
          ),
          status: t.Optional(t.Union([t.Literal('1'), t.Literal('2')], { description: '1 enabled, 2 disabled' })),
        }),
        detail: {
          summary: 'List channels',
          description:
            'unpriced_models have no price yet. health counts the tasks that ended in the last 24 hours, and hours those of each hour, the oldest first, or nothing where none ended; its state is idle, good, degraded (below 90 % successes) or failing (below 50 %, with three failures or more, or the latest test failed). test: the latest test since the channel was changed. key_readable is false if no CRYPTO_SECRET decrypts the key. used_quota is the quota paid for tasks of the channel.',
        },
      },
    )
    .get(
      '/api/channel/choices',
      async ({ query }) => ok(textsInLanguage(await readChannelChoices(deps), query.language)),
      {
        admin: true,
        query: strictObject(languageQuery),
        mapResponse: compressJson,
        detail: {
          summary: 'List the plugins and groups a channel can use',
          description:
            'models are those that the plugin serves; base_url is empty if the plugin has no default address. credential: key, or service_account for the JSON file of a service account.',
        },
      },
    )
    .get(
      '/api/channel/:id',
      async ({ params }) => ok(await show(await channels.get(readId(params.id)), await reports.channelHealth())),
      {
        admin: true,
        detail: { summary: 'Get a channel, without its key' },
      },
    )
    .post(
      '/api/channel',
      ({ body, panel, origin, request, set }) =>
        once({ panel, request, body, set }, async () => {
          const { name, type, key, models } = body;
          refuseScript(panel, undefined, body.settings);
          const credentials = body.credentials?.map(readCredential);
          const saved = await channels.create({ name, type, key, credentials, models, ...readOptional(body) });
          const after = describe(saved.channel);
          await audit(
            { panel, origin },
            {
              action: 'channel.create',
              target: `channel:${after.id}`,
              detail: { after, base_url_source: saved.baseUrlSource },
            },
          );
          return ok(await describeWithPrices(saved.channel));
        }),
      {
        admin: true,
        bodyLimit: 'configuration',
        body: createBody,
        detail: {
          summary: 'Create a channel',
          description:
            'unpriced_models: those that have no price yet. The option billing.unpriced decides who may use them.',
        },
      },
    )
    .put(
      '/api/channel/:id',
      async ({ params, body, panel, origin, request }) => {
        const { name, type, key, models } = body;
        const change: ChannelChange = { ...withoutUndefined({ name, type, key, models }), ...readOptional(body) };
        if (change.settings) refuseScript(panel, (await channels.get(readId(params.id))).settings, change.settings);
        const saved = await channels.update(readId(params.id), change, {
          mayMoveKey: await mayMoveKey(panel, readProof(request)),
        });
        // What the vendor said of the former key says nothing about this one.
        if (key !== undefined) await deps.capacity.wake(saved.channel, 'account');
        const after = describe(saved.channel);
        await audit(
          { panel, origin },
          {
            action: 'channel.update',
            target: `channel:${after.id}`,
            detail: {
              before: describe(saved.before),
              after,
              key_changed: key !== undefined,
              base_url_source: saved.baseUrlSource,
            },
          },
        );
        return ok(await describeWithPrices(saved.channel));
      },
      {
        admin: true,
        documentsProof: {
          scope: 'channel.key.read',
          when: 'for root, if base_url, type or task_plugin_key changes, or the proxy of an address with http, and key or the value of a header is not sent again, or a removed key may serve tasks',
        },
        bodyLimit: 'configuration',
        body: updateBody,
        detail: { summary: 'Update a channel' },
      },
    )
    .post(
      '/api/channel/:id/key',
      async ({ params, panel, origin, request }) => {
        await requireKeyProof(panel, readProof(request));
        const channel = await channels.get(readId(params.id));
        const key = channels.key(channels.onlyAccount(channel));
        await audit({ panel, origin }, { action: 'channel.key_view', target: `channel:${channel.id}`, detail: {} });
        return ok({ key });
      },
      {
        root: true,
        critical: true,
        perUser: 'channel-key',
        documentsProof: { scope: 'channel.key.read' },
        detail: { summary: "Get a channel's key" },
      },
    )
    .delete(
      '/api/channel/:id',
      async ({ params, panel, origin }) => {
        const before = describe(await channels.delete(readId(params.id)));
        await audit(
          { panel, origin },
          { action: 'channel.delete', target: `channel:${before.id}`, detail: { before } },
        );
        return ok(null);
      },
      { admin: true, detail: { summary: 'Delete a channel; its running tasks fail and are refunded' } },
    );
}

/**
 * A script gets the key of its channel: root alone adds or changes one. Removing it takes no right.
 * @throws channels.script_root_only
 */
function refuseScript(
  panel: PanelPrincipal,
  stored: Readonly<Record<string, unknown>> = {},
  { balance_script: script }: Readonly<Record<string, unknown>> = {},
): void {
  if (script === undefined || script === '' || script === stored.balance_script || isRoot(panel)) return;
  throw channelErrors.script_root_only({ param: 'settings.balance_script' });
}

function readOptional(
  body: Partial<typeof createBody.static>,
): Omit<Partial<ChannelInput>, 'name' | 'type' | 'key' | 'credentials' | 'models'> {
  checkCostPrices(body.settings as JsonObject | undefined);
  return withoutUndefined({
    baseUrl: body.base_url,
    groups: body.groups,
    priority: body.priority,
    weight: body.weight,
    modelMapping: body.model_mapping,
    taskPluginKey: body.task_plugin_key,
    settings: body.settings as JsonObject | undefined,
    status: body.status,
    limits: body.limits && readLimits(body.limits),
    proxy: body.proxy,
    headers: body.headers,
    bodyDefaults: body.body_defaults as JsonObject | null | undefined,
    pool: body.pool,
    spill: body.spill,
  });
}
