import { Switch } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { PluginSummary } from '../../api/types.ts';
import { useChange, withQuery } from '../../api/use-api.ts';
import { useConfirm } from '../../ui/confirm.tsx';
import { FailureNotice } from '../../ui/failure-notice.tsx';
import { tellDone } from '../../ui/tell.ts';
import { pluginPath, staleWithPlugins } from './plugin-paths.ts';

type Wish = { enabled: boolean; cascade: boolean };

/** Switches a plugin on or off; where channels or tasks need it, says what ends with it and asks. */
export function PluginSwitch({ plugin }: { plugin: PluginSummary }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const name = plugin.meta?.name ?? plugin.key;
  const change = useChange<Wish>({
    request: ({ enabled, cascade }) => ({
      method: 'POST',
      path: withQuery(`${pluginPath(plugin.key)}/status`, cascade ? { cascade: 'true', force: 'true' } : {}),
      body: { enabled },
    }),
    stale: staleWithPlugins,
    onSuccess: (_answer, { enabled }) => tellDone(t(enabled ? 'plugins.switchedOn' : 'plugins.switchedOff', { name })),
  });
  const { channel_count: channels, in_flight_count: running } = plugin;

  const turn = async (enabled: boolean): Promise<void> => {
    const isNeeded = channels > 0 || running > 0;
    if (!enabled && isNeeded) {
      const text = t('plugins.switchOffText', { name, channels, running });
      if (!(await confirm({ title: t('plugins.switchOffTitle', { name }), text, action: t('plugins.switchOff') })))
        return;
    }
    change.mutate({ enabled, cascade: !enabled && isNeeded });
  };

  return (
    <div>
      <Switch
        checked={plugin.enabled}
        disabled={change.isPending}
        aria-label={t('plugins.switchName', { name })}
        onChange={(event) => void turn(event.currentTarget.checked)}
      />
      {change.isError && <FailureNotice error={change.error} />}
    </div>
  );
}
