import { Switch, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import { pluginDependentPaths, pluginPath } from '../../api/plugin-paths.ts';
import type { PluginSummary } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useApiMutation, withQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { RuleText } from './plugin-errors.tsx';

const states: Record<PluginSummary['runtime_status'], { text: TextKey; tone: Tone }> = {
  registered: { text: 'plugins.state.registered', tone: 'good' },
  not_registered: { text: 'plugins.state.not_registered', tone: 'bad' },
  compile_failed: { text: 'plugins.state.compile_failed', tone: 'bad' },
  disabled: { text: 'plugins.state.disabled', tone: 'quiet' },
  disabled_fallback: { text: 'plugins.state.disabled_fallback', tone: 'waiting' },
};

/** The built-in version where a version is chosen, such as "1.0.0 · Built-in". */
export const nameBuiltIn = (version: string | undefined, t: TFunction): string =>
  [version ?? '', t('plugins.source.factory')].filter((part) => part !== '').join(' · ');

/** Shows which of the five runtime states a plugin is in. */
export function PluginStateWord({ plugin }: { plugin: Pick<PluginSummary, 'runtime_status'> }) {
  const { t } = useTranslation();
  const { text, tone } = states[plugin.runtime_status];
  return <StatusLabel tone={tone}>{t(text)}</StatusLabel>;
}

/** Shows the state, and why the plugin does not serve. */
export function PluginState({ plugin }: { plugin: PluginSummary }) {
  return (
    <>
      <PluginStateWord plugin={plugin} />
      {plugin.runtime_error !== undefined && (
        <Text size="xs" c="dimmed" mt={2} maw={280}>
          <RuleText said={{ ...plugin.runtime_error_sentence, message: plugin.runtime_error }} />
        </Text>
      )}
    </>
  );
}

type StatusChange = { enabled: boolean; cascade: boolean };
type PluginUsage = { channels: string[]; running: number };

/** The most channels that a question names. */
const mostNamed = 5;

/**
 * Enables or disables a plugin. If channels or tasks use it, the server refuses and says which, and
 * it is confirmed what will end. `label` is for a switch that stands alone.
 */
export function PluginSwitch({ plugin, label }: { plugin: PluginSummary; label?: string }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const format = useFormat();
  const name = plugin.meta?.name ?? plugin.key;
  const change = useApiMutation<StatusChange>({
    request: ({ enabled, cascade }) => ({
      method: 'POST',
      path: withQuery(`${pluginPath(plugin.key)}/status`, cascade ? { cascade: 'true', force: 'true' } : {}),
      body: { enabled },
    }),
    invalidates: pluginDependentPaths,
    onSuccess: (_answer, { enabled }) =>
      notifySuccess(t(enabled ? 'plugins.switchedOn' : 'plugins.switchedOff', { name })),
  });

  async function confirmAndDisable({ channels, running }: PluginUsage): Promise<void> {
    const count = channels.length;
    const quoted = channels.slice(0, mostNamed).map((text) => t('error.quoted', { text }));
    const names = count > mostNamed ? `${quoted.join(', ')}, …` : format.list(quoted);
    const sentences = [
      count > 0 && t('plugins.switchOffChannels', { count, shown: format.number(count), names }),
      running > 0 && t('plugins.switchOffRunning', { count: running, shown: format.number(running) }),
    ];
    const text = sentences.filter(Boolean).join(' ');
    const isConfirmed = await confirm({
      title: t('plugins.switchOffTitle', { name }),
      text,
      action: t('plugins.switchOff'),
    });
    if (isConfirmed) change.mutate({ enabled: false, cascade: true });
  }

  return (
    <div>
      <Switch
        checked={plugin.enabled}
        disabled={change.isPending}
        label={label}
        aria-label={t('plugins.switchName', { name })}
        onChange={(event) =>
          change.mutate(
            { enabled: event.currentTarget.checked, cascade: false },
            {
              onError: (error) => {
                const usage = readUsage(error);
                if (usage !== null) void confirmAndDisable(usage);
              },
            },
          )
        }
      />
      {change.isError && readUsage(change.error) === null && <ErrorNotice error={change.error} />}
    </div>
  );
}

/** The usage that an error reports; null for other errors. */
function readUsage(error: Error): PluginUsage | null {
  if (!(error instanceof ApiError) || error.code !== 'PLUGIN_IN_USE') return null;
  const { channels, in_flight_count: running } = error.details as {
    channels: { name: string }[];
    in_flight_count: number;
  };
  return { channels: channels.map((channel) => channel.name), running };
}
