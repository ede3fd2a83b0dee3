import type { SavedChannel, ShownNetwork } from '../../../channels/index.ts';
import { type PluginService, type PluginSummary, toKeyPattern, type VendorInfo } from '../../../plugins/index.ts';
import type { ChannelHealth } from '../../../reports/index.ts';
import type { SettingsService } from '../../../settings/index.ts';
import { panelCode } from '../../responses/errors.ts';
import { describeLimits } from './channel-capacity.ts';

type Channel = SavedChannel['channel'];

/**
 * Tasks that ended within a day; times are 0 if there was none. A channel created a moment ago has
 * no figures yet.
 */
export const describeHealth = (health?: ChannelHealth) => ({
  state: health?.state ?? ('idle' as const),
  succeeded: health?.succeeded ?? 0,
  failed: health?.failed ?? 0,
  /** Empty where none ended. */
  hours: health?.hours ?? [],
  in_flight: health?.inFlight ?? 0,
  last_success_at: health?.lastSuccessAt ?? 0,
  last_failure_at: health?.lastFailureAt ?? 0,
  last_failed_task: health?.lastFailedTask ?? '',
  /**
   * The error code of a failed submission, as its client got it; empty if the vendor failed a task.
   */
  last_failure_code: health?.lastFailureCode ? panelCode(health.lastFailureCode) : '',
  last_failure_reason: health?.lastFailureReason ?? '',
  last_failure_reason_sentence: health?.lastFailureSentence ?? null,
  /** Null: not tested since it was changed. failed_step is empty where none failed. */
  test: health?.lastTest ? describeTest(health.lastTest) : null,
});

const describeTest = ({ at, failedStep, message, sentence }: NonNullable<ChannelHealth['lastTest']>) => ({
  at,
  failed_step: failedStep,
  message,
  reason: sentence?.reason ?? null,
  params: sentence?.params ?? null,
});

export function describeChannel(
  channel: Channel,
  { keyHint, network }: { keyHint: string; network: ShownNetwork | undefined },
) {
  return {
    id: channel.id,
    name: channel.name,
    type: channel.type,
    key_hint: keyHint,
    base_url: channel.baseUrl,
    models: channel.models,
    groups: channel.groups,
    priority: channel.priority,
    weight: channel.weight,
    model_mapping: channel.modelMapping,
    task_plugin_key: channel.taskPluginKey,
    settings: channel.settings,
    status: channel.status,
    limits: channel.limits && describeLimits(channel.limits),
    pool: channel.pool,
    spill: channel.spill,
    proxy: network?.proxy ?? '',
    header_names: network?.headerNames ?? [],
    body_defaults: channel.bodyDefaults,
    used_quota: channel.usedQuota,
    created_at: channel.createdAt,
    updated_at: channel.updatedAt,
  };
}

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
