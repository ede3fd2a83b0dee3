import { type PluginService, type PluginSummary, toKeyPattern, type VendorInfo } from '../../../plugins/index.ts';
import type { SettingsService } from '../../../settings/index.ts';

/** The plugins and groups that a channel form offers. */
export type ChannelChoices = {
  plugins: ReturnType<typeof describeChoice>[];
  groups: { name: string; ratio: number }[];
};

/** Administrators get only this: the plugins' sources and the options are for root. */
export async function readChannelChoices(deps: {
  plugins: PluginService;
  options: SettingsService;
}): Promise<ChannelChoices> {
  const serving = deps.plugins.current().plugins;
  const [plugins, options] = await Promise.all([deps.plugins.list(), deps.options.list()]);
  // The option's rule guarantees an object of numbers.
  const ratios = JSON.parse(options.find(({ key }) => key === 'groups')?.value ?? '{}') as Record<string, number>;
  return {
    plugins: plugins.map((plugin) => describeChoice(plugin, serving.get(plugin.key)?.manifest.vendor)),
    groups: Object.entries(ratios).map(([name, ratio]) => ({ name, ratio })),
  };
}

const describeChoice = (
  { key, version, meta, narrowedModels, runtimeStatus, hasIcon }: PluginSummary,
  vendor?: VendorInfo,
) => ({
  key,
  version,
  name: meta?.name ?? key,
  description: meta?.description ?? null,
  icon: meta?.icon ?? null,
  has_icon: hasIcon,
  base_url: meta?.baseUrl ?? '',
  models: narrowedModels ?? meta?.models ?? [],
  channel_types: meta?.channelTypes ?? [],
  /** It may be bound to a channel of type 60: an account at another gateway that has it. */
  addresses_gateways: meta?.upstreams?.includes('new_api') ?? false,
  /** `service_account`: the key is the JSON file of a service account. */
  credential: isServiceAccount(meta?.auth) ? ('service_account' as const) : ('key' as const),
  /** From the plugin's `vendorInfo`. */
  key_url: vendor?.keyUrl ?? '',
  /** How a key looks, the usual form first. */
  key_formats: vendor?.keyFormat ?? [],
  /** A regular expression for a key of one of these forms; empty: any may be right. */
  key_pattern: toKeyPattern(vendor?.keyFormat ?? []),
  /** A text of one language, where one is named. */
  key_help: (vendor?.keyHelp ?? null) as Record<string, string> | string | null,
  /** What the plugin suggests for this setting of a new channel. */
  not_found_grace_seconds: vendor?.notFoundGraceSeconds ?? 0,
  serves: runtimeStatus === 'registered' || runtimeStatus === 'disabled_fallback',
});

const isServiceAccount = (auth: unknown): boolean =>
  typeof auth === 'object' && auth !== null && 'type' in auth && auth.type === 'oauth2_jwt';
