import { Switch } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { channelStatus } from '../../api/record-status.ts';
import type { Channel } from '../../api/types.ts';
import { useApiMutation } from '../../api/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';

type ChannelSwitchProps = { channel: Pick<Channel, 'id' | 'name' | 'status'>; label?: string };

/** Enables or disables a channel at once. Tasks it already accepted are finished. */
export function ChannelSwitch({ channel, label }: ChannelSwitchProps) {
  const { t } = useTranslation();
  const change = useApiMutation<boolean>({
    request: (on) => ({
      method: 'PUT',
      path: `/api/channel/${channel.id}`,
      body: { status: on ? channelStatus.enabled : channelStatus.disabled },
    }),
    invalidates: ['/api/channel'],
  });
  // Shows the requested state until the answer arrives.
  const isOn = change.isPending ? change.variables : channel.status === channelStatus.enabled;
  return (
    <>
      <Switch
        checked={isOn}
        onChange={(event) => change.mutate(event.currentTarget.checked)}
        {...(label === undefined ? { 'aria-label': t('channels.switch', { name: channel.name }) } : { label })}
      />
      {change.isError && <ErrorNotice error={change.error} />}
    </>
  );
}
