import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import type { Billing } from '../../../billing/index.ts';
import { type Json, sentence, userOwner, withoutMessage } from '../../../kernel/index.ts';
import type {
  Marketplace,
  MarketSource,
  MarketTrust,
  OfferedSource,
  SourceOffer,
  Uploaded,
} from '../../../plugins/index.ts';
import {
  MARKET_SOURCES,
  parseMarketSources,
  repinSources,
  replaceSources,
  type SettingsService,
} from '../../../settings/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';
import { readProof } from '../../pipeline/access-levels.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { answersIcon } from '../../responses/describe-answer.ts';
import { serveIcon } from '../../responses/serve-icon.ts';
import type { RecordAudit } from '../record-audit.ts';
import { auditVersion, describeOutcome, describeReview, withFreshPreview } from './describe-plugin.ts';
import { activateOptions, readPreviewDigest } from './plugins.ts';

const flag = t.Optional(t.Union([t.Literal('true'), t.Literal('false')]));
/** The maximal lengths are those of an index. */
const source = t.String({ minLength: 1, maxLength: 60, description: 'The name of a source.' });
const key = t.String({ minLength: 1, maxLength: 30 });
const version = t.String({ minLength: 1, maxLength: 200 });

const nullableKey = (description: string) => t.Union([t.String({ maxLength: 200 }), t.Null()], { description });

type MarketplaceRouteDeps = {
  auth: Auth;
  billing: Billing;
  marketplace: Marketplace;
  options: SettingsService;
  audit: RecordAudit;
};

/** Plugins that others publish. The gateway fetches them; the browser contacts no other site. */
export function marketplaceRoutes(kit: Kit, { auth, billing, marketplace, options, audit }: MarketplaceRouteDeps) {
  async function readSources(): Promise<Json> {
    const view = (await options.list()).find((each) => each.key === MARKET_SOURCES);
    return JSON.parse(view?.value ?? '[]') as Json;
  }

  return new Elysia({ normalize: false, tags: ['Marketplace'] })
    .use(kit)
    .get(
      '/api/plugin/task/marketplace',
      async ({ query }) => ok((await marketplace.list({ refresh: query.refresh === 'true' })).map(describeOffer)),
      {
        root: true,
        query: strictObject({ refresh: flag }),
        detail: {
          summary: 'List marketplace plugins by source',
          description:
            'Cached for five minutes; refresh=true reads the sources now. A source that cannot be read has an error and no plugins.',
        },
      },
    )
    .get('/api/plugin/task/marketplace/sources', async () => ok(await readSources()), {
      root: true,
      detail: { summary: 'List marketplace sources' },
    })
    .put(
      '/api/plugin/task/marketplace/sources',
      async ({ request, body, panel, origin }) => {
        await auth.proofs.require(panel, readProof(request), 'settings.security');
        const sources = parseMarketSources(body);
        if (!sources.ok) throw fieldError(sources.error.field, 'wrong_value', sources.error);
        const done = await options.revise(MARKET_SOURCES, (text) => replaceSources(text, body));
        if (!done.ok) throw fieldError('', 'wrong_value', done.error);
        if (done.value) {
          const { before, after } = done.value;
          await audit(
            { panel, origin },
            { action: 'option.set', target: `option:${MARKET_SOURCES}`, detail: { before, after } },
          );
        }
        return ok(await readSources());
      },
      {
        root: true,
        documentsProof: { scope: 'settings.security' },
        body: t.Array(
          strictObject({
            name: t.String({ maxLength: 200 }),
            index_url: t.String({ maxLength: 2048 }),
            public_key: t.Optional(
              t.Union([t.String({ maxLength: 200 }), t.Null()], {
                description:
                  'The key that must have signed the index. Left out: as before; null: none, until the source is used the next time.',
              }),
            ),
          }),
          { maxItems: 20 },
        ),
        detail: { summary: 'Set the marketplace sources', description: `The same as the option ${MARKET_SOURCES}.` },
      },
    )
    .post(
      '/api/plugin/task/marketplace/key',
      async ({ request, body, panel, origin }) => {
        await auth.proofs.require(panel, readProof(request), 'settings.security');
        const found = parseMarketSources(await readSources());
        const named = found.ok ? found.value.find(({ name }) => name === body.source) : undefined;
        if (!named) throw fieldError('source', 'wrong_value', sentence('http.market_source', { name: body.source }));
        const change = {
          indexUrl: named.indexUrl,
          from: body.known_key ?? undefined,
          to: body.public_key ?? undefined,
        };
        const done = await options.revise(MARKET_SOURCES, (text) => repinSources(text, change));
        if (!done.ok) throw fieldError('public_key', 'wrong_value', done.error);
        if (!done.value) {
          throw fieldError('known_key', 'wrong_value', sentence('http.market_key'));
        }
        await audit(
          { panel, origin },
          {
            action: 'plugin.market_key_accept',
            target: `marketplace:${named.name}`,
            detail: { index_url: named.indexUrl, before: body.known_key, after: body.public_key },
          },
        );
        return ok(await readSources());
      },
      {
        root: true,
        documentsProof: { scope: 'settings.security' },
        body: strictObject({
          source,
          known_key: nullableKey('The key that the source is pinned to; null: none.'),
          public_key: nullableKey('The key that is accepted instead; null: the next index may be unsigned.'),
        }),
        detail: {
          summary: "Accept a marketplace's new signing key",
          description:
            'For a source that is refused because its key or signature changed. Refused if the source is pinned to another key than known_key in the meantime.',
        },
      },
    )
    .get(
      '/api/plugin/task/marketplace/source',
      async ({ query }) => ok(describeSource(await marketplace.read(query))),
      {
        root: true,
        query: strictObject({ source, key, version: t.Optional(version) }),
        detail: {
          summary: "Compare an offered version's source with the active one",
        },
      },
    )
    .get('/api/plugin/task/marketplace/icon', async ({ query }) => serveIcon(await marketplace.icon(query)), {
      root: true,
      query: strictObject({ source, key }),
      detail: { summary: "Get an offered plugin's logo", ...answersIcon },
    })
    .post(
      '/api/plugin/task/marketplace/preview',
      async ({ body, panel }) => {
        const { share_models: shareModels, ...name } = body;
        const preview = await marketplace.preview({ ...name, shareModels }, userOwner(panel.user.id));
        return ok(describeReview(billing, body.key, preview));
      },
      {
        root: true,
        body: strictObject({ source, key, version, share_models: activateOptions.share_models }),
        detail: { summary: 'Preview activating an offered version' },
      },
    )
    .post(
      '/api/plugin/task/marketplace/install',
      async ({ body, panel, origin }) => {
        const { activate, preview_digest: _, share_models: shareModels, ...wanted } = body;
        const digest = readPreviewDigest(body);
        const detail = await withFreshPreview(billing, () =>
          marketplace.install(
            { ...wanted, ...digest, ...(shareModels === undefined ? {} : { shareModels }) },
            userOwner(panel.user.id),
          ),
        );
        await audit(
          { panel, origin },
          {
            action: 'plugin.install',
            target: `plugin:${body.key}@${body.version}`,
            detail: {
              source: body.source,
              before: auditVersion(detail.before),
              after: auditVersion(detail.plugin),
              force: body.force ?? false,
              activated: activate ?? false,
              ...(shareModels === undefined ? {} : { share_models: shareModels }),
            },
          },
        );
        return ok({ ...describeInstalled(detail), ...describeOutcome(billing, detail) });
      },
      {
        root: true,
        body: strictObject({
          source,
          key,
          version,
          sha256: t.Optional(
            t.String({ maxLength: 200, description: 'The hash that you were shown; refused if it has changed since.' }),
          ),
          force: t.Optional(
            t.Boolean({ description: 'Install although another plugin already has what this one claims.' }),
          ),
          enabled: t.Optional(t.Boolean({ description: 'false stores without serving.' })),
          ...activateOptions,
        }),
        detail: {
          summary: 'Install an offered version',
          description:
            'The first version of a plugin serves at once, unless a built-in one is in use under its key; a later one waits until it is activated. outcome says which, in_use why, and preview what the activation would change.',
        },
      },
    );
}

const describeSourceName = ({ name, indexUrl, publicKey }: MarketSource) => ({
  name,
  index_url: indexUrl,
  ...(publicKey === undefined ? {} : { public_key: publicKey }),
});

const iconPath = (source: string, key: string): string =>
  `/api/plugin/task/marketplace/icon?${new URLSearchParams({ source, key })}`;

const describeOffer = (offer: SourceOffer) => ({
  source: describeSourceName(offer.source),
  name: offer.name,
  ...(offer.error === undefined ? {} : { error: offer.error.message, error_sentence: withoutMessage(offer.error) }),
  trust: offer.trust ? describeTrust(offer.trust, offer.isExpired) : null,
  fetched_at: offer.fetchedAt,
  plugins: offer.plugins.map((plugin) => ({
    key: plugin.key,
    name: plugin.name,
    description: plugin.description ?? null,
    icon: plugin.icon ?? null,
    ...(plugin.iconFile ? { icon_url: iconPath(offer.source.name, plugin.key) } : {}),
    sort_priority: plugin.sortPriority,
    website: plugin.website ?? null,
    channel_types: plugin.channelTypes,
    models: plugin.models,
    latest: plugin.latest,
    /** The newest version that this gateway takes, as far as it has looked; null: none. */
    offered: plugin.offered,
    versions: plugin.versions.map((each) => ({
      version: each.version,
      sha256: each.sha256,
      min_api_version: each.minApiVersion,
      allowed_hosts: each.allowedHosts,
      base_url: each.baseUrl ?? null,
      stored: each.stored,
      active: each.active,
      /** null: nobody has looked yet. */
      taken: each.verdict?.taken ?? null,
      needs: each.verdict?.taken === false ? each.verdict.needs : [],
    })),
    ...(plugin.installed
      ? { installed: { version: plugin.installed.version, source_hash: plugin.installed.sourceHash } }
      : {}),
    state: plugin.state,
    replaces: plugin.replaces,
  })),
  revoked: offer.revoked.map(({ key, version, reason }) => ({ key, version, reason })),
  skipped: offer.skipped.map(({ message, reason, params, ...place }) => ({
    ...place,
    reason: message,
    reason_sentence: { reason, params },
  })),
});

/** reason is set while the source is refused; key is the known key, seen_key that of the index. */
function describeTrust(trust: MarketTrust, isExpired: boolean) {
  const none = { reason: null, key: null, seen_key: null, serial: null, expires_at: null, expired: false };
  switch (trust.state) {
    case 'unsigned':
      return { ...none, state: trust.state };
    case 'signed':
      return {
        ...none,
        state: trust.state,
        key: describeKey(trust.key),
        serial: trust.serial,
        expires_at: trust.expiresAt,
        expired: isExpired,
      };
    case 'refused':
      return {
        ...none,
        state: trust.state,
        reason: trust.reason,
        key: describeKey(trust.known),
        seen_key: trust.seen ? describeKey(trust.seen) : null,
      };
  }
}

const describeKey = ({ id, text }: { id: string; text?: string }) => ({ id, public_key: text ?? null });

const describeSource = ({ sourceHash, current, differences, ...offered }: OfferedSource) => ({
  ...offered,
  differences: differences.map(({ message }) => message),
  difference_sentences: differences.map(withoutMessage),
  source_hash: sourceHash,
  current: current && { version: current.version, source: current.source, source_hash: current.sourceHash },
});

const describeInstalled = ({ plugin, meta, sourceHash, hasIcon }: Uploaded) => ({
  key: plugin?.key,
  version: plugin?.version,
  source_hash: sourceHash,
  has_icon: hasIcon,
  enabled: plugin?.enabled ?? false,
  active: plugin?.active ?? false,
  meta,
});
