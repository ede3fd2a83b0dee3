import { DEFAULT_FIELDS, MAX_CLIENT_SECRET, toProviderRecord, validateProvider, validateSlug } from '../auth/index.ts';
import { AppError, sha256Hex } from '../kernel/index.ts';
import type { SourceRow } from '../store/index.ts';
import { AUTH_STYLE, type NewOAuthProvider, type NewPlugin, type OAuthAuthStyle } from '../store/ports/index.ts';
import type { PlanContext } from './plan-context.ts';
import { findFault, readFlag, readNumber, readText } from './read-source.ts';

/** A stored version of a plugin; `active`: it served there. */
export type PlannedPlugin = { plugin: NewPlugin; active: boolean };

const MAX_SOURCE = 1024 * 1024;

/**
 * The plugins that were uploaded or installed there, with all their versions. Each is checked when
 * the gateway starts: one that this gateway does not take is listed with its faults, and serves
 * nothing.
 */
export async function planPlugins({ source, store, report, now }: PlanContext): Promise<PlannedPlugin[]> {
  const planned: PlannedPlugin[] = [];
  for (const row of await source.all('task_plugins')) {
    const [key, version] = [readText(row, 'key'), readText(row, 'version')];
    const id = `${key}@${version}`;
    const leave = (code: string, message: string) =>
      report.remark({ kind: 'plugin', id, name: '', effect: 'left', code, message });
    const fault = findPluginFault(row);
    const present = fault === undefined ? await store.plugins.byVersion(key, version) : undefined;
    if (fault !== undefined) leave('unreadable', fault);
    else if (present?.sourceHash === sha256Hex(readText(row, 'source'))) report.skip('plugin');
    else if ((await store.plugins.deletedSource(key, version)) !== undefined)
      leave('deleted_here', 'the version was deleted here: upload it where you want it again');
    else if (present) leave('version_taken', 'the version is stored here with another source');
    else planned.push({ plugin: toPlugin(row, now), active: readFlag(row, 'active') });
  }
  report.take('plugin', planned.length);
  return planned;
}

function findPluginFault(row: SourceRow): string | undefined {
  const fault = findFault(row, ['key', 'version', 'source', 'source_hash', 'icon', 'remark']);
  if (fault !== undefined) return fault;
  if (!/^[a-z0-9][a-z0-9_-]{0,29}$/.test(readText(row, 'key'))) return 'its key is not one that plugins have';
  const source = readText(row, 'source');
  if (source.length > MAX_SOURCE) return 'its source is larger than 1 MiB';
  // A source that was changed in the table is not the one that somebody reviewed.
  return sha256Hex(source) === readText(row, 'source_hash').toLowerCase()
    ? undefined
    : 'its source does not have the hash that stands beside it';
}

const toPlugin = (row: SourceRow, now: number): NewPlugin => ({
  key: readText(row, 'key'),
  version: readText(row, 'version'),
  apiVersion: readNumber(row, 'api_version') ?? 1,
  source: readText(row, 'source'),
  sourceHash: sha256Hex(readText(row, 'source')),
  // A picture is checked when it is uploaded.
  icon: null,
  enabled: readText(row, 'enabled') === '' || readFlag(row, 'enabled'),
  remark: readText(row, 'remark').slice(0, 2000),
  narrowedModels: null,
  createdAt: readNumber(row, 'created_at') || now,
});

export type PlannedProvider = { sourceId: string; provider: NewOAuthProvider };

const TEXTS = [
  ...([
    'name',
    'icon',
    'client_id',
    'authorization_endpoint',
    'token_endpoint',
    'user_info_endpoint',
    'scopes',
  ] as const),
  ...(['user_id_field', 'username_field', 'display_name_field', 'email_field', 'well_known'] as const),
  ...(['access_policy', 'access_denied_message'] as const),
];

/** Custom sign-in providers that work by the rules here, and their slugs by their id there. */
export async function planProviders(
  context: Omit<PlanContext, 'providers'>,
): Promise<{ planned: PlannedProvider[]; slugs: Map<string, string> }> {
  const { source, store, sourceKey, report } = context;
  const rows = await source.all('custom_oauth_providers');
  const present = await store.imports.targets(
    sourceKey,
    'provider',
    rows.map((row) => readText(row, 'id')),
  );
  const existing = new Map((await store.providers.all()).map((provider) => [provider.id, provider.slug]));
  const planned: PlannedProvider[] = [];
  const slugs = new Map<string, string>();
  const seen = new Set<string>();
  for (const row of rows) {
    const id = readText(row, 'id');
    const target = present.get(id);
    if (target !== undefined) {
      report.skip('provider');
      const slug = existing.get(target);
      if (slug !== undefined) slugs.set(id, slug);
      continue;
    }
    const remark = (effect: 'left' | 'changed', code: string, message: string) =>
      report.remark({ kind: 'provider', id, name: readText(row, 'slug').slice(0, 64), effect, code, message });
    const leave = (code: string, message: string) => remark('left', code, message);
    const fault = findFault(row, [...TEXTS, 'slug', 'client_secret']);
    if (fault !== undefined || seen.has(id)) {
      leave('unreadable', fault ?? 'another provider has its id');
      continue;
    }
    seen.add(id);
    try {
      const provider = toProvider(context, row);
      if ([...existing.values()].includes(provider.slug)) {
        leave('slug_taken', 'a provider here has its slug');
        continue;
      }
      if (planned.some((earlier) => earlier.provider.slug === provider.slug)) {
        leave('slug_taken', 'an earlier provider of the source has its slug');
        continue;
      }
      if (readText(row, 'client_secret').trim().length > MAX_CLIENT_SECRET) {
        remark('changed', 'secret_left', `its secret has more than ${MAX_CLIENT_SECRET} characters: enter it again`);
      }
      planned.push({ sourceId: id, provider });
      slugs.set(id, provider.slug);
    } catch (error) {
      // What the rules of providers refuse.
      if (!(error instanceof AppError)) throw error;
      leave('refused', error.message);
    }
  }
  report.take('provider', planned.length);
  return { planned, slugs };
}

function toProvider({ secretBox, now }: Omit<PlanContext, 'providers'>, row: SourceRow): NewOAuthProvider {
  const given = Object.fromEntries(
    TEXTS.flatMap((name) => (readText(row, name) === '' ? [] : [[name, readText(row, name)]])),
  );
  const style = readNumber(row, 'auth_style') ?? AUTH_STYLE.auto;
  const fields = validateProvider({
    ...DEFAULT_FIELDS,
    ...given,
    enabled: readFlag(row, 'enabled'),
    auth_style: (Object.values<number>(AUTH_STYLE).includes(style) ? style : AUTH_STYLE.auto) as OAuthAuthStyle,
  });
  const whole = readText(row, 'client_secret').trim();
  const secret = whole.length > MAX_CLIENT_SECRET ? '' : whole;
  return {
    slug: validateSlug(readText(row, 'slug')),
    ...toProviderRecord(fields),
    clientSecretSealed: secret === '' ? '' : secretBox.seal(secret),
    createdAt: now,
    updatedAt: now,
  };
}
