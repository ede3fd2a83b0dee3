import type { SavedChannel, ShownNetwork } from '../../../channels/index.ts';
import type { ChannelHealth } from '../../../reports/index.ts';
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
