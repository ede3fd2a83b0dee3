import { Switch } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Channel } from '../../api/types.ts';
import { useChange } from '../../api/use-api.ts';
import { FailureNotice } from '../../ui/display/error-notice.tsx';

type ChannelSwitchProps = { channel: Pick<Channel, 'id' | 'name' | 'status'>; label?: string };

/** Takes a channel into service or out of it at once; tasks that it already has are finished. */
export function ChannelSwitch({ channel, label }: ChannelSwitchProps) {
  const { t } = useTranslation();
  const change = useChange<boolean>({
    request: (on) => ({ method: 'PUT', path: `/api/channel/${channel.id}`, body: { status: on ? 1 : 2 } }),
    stale: ['/api/channel'],
  });
  // What was asked for is shown until the answer is there.
  const isOn = change.isPending ? change.variables : channel.status === 1;
  return (
    <>
      <Switch
        checked={isOn}
        onChange={(event) => change.mutate(event.currentTarget.checked)}
        {...(label === undefined ? { 'aria-label': t('channels.switch', { name: channel.name }) } : { label })}
      />
      {change.isError && <FailureNotice error={change.error} />}
    </>
  );
}
