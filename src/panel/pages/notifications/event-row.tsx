import { Anchor, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { StatusLabel } from '../../ui/display/status-label.tsx';

/** What the user may learn of, and whether it comes by each way; empty where it never does. */
export type EventRow = {
  name: string;
  /** When it happens. */
  text: string;
  /** What is missing for it to arrive, or where it is set. */
  note?: ReactNode;
  browser?: ReactNode;
  email?: ReactNode;
  webhook?: ReactNode;
};

export const NoteLink = ({ to, children }: { to: string; children: string }) => (
  <Anchor component={Link} to={to} inherit underline="always">
    {children}
  </Anchor>
);

/** A switch at the height of the text beside it, by a space without width. */
export const AtText = ({ children }: { children: ReactNode }) => (
  <Group component="span" gap={0} wrap="nowrap">
    {'\u200b'}
    {children}
  </Group>
);

/** Whether it comes by this way, and what sets that up or changes it. */
export function OnOff({ isOn, action }: { isOn: boolean; action?: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Group component="span" gap="2px 12px" wrap="nowrap">
      <StatusLabel tone={isOn ? 'good' : 'quiet'}>
        {t(isOn ? 'notifications.gatewayOn' : 'notifications.gatewayOff')}
      </StatusLabel>
      {action}
    </Group>
  );
}

/** Why the account gets no email, and where that is mended. */
export function NoMail({ cause, isRoot }: { cause: 'server' | 'address'; isRoot: boolean }) {
  const { t } = useTranslation();
  if (cause === 'address')
    return (
      <>
        {t('notifications.noAddress')} <NoteLink to="/profile">{t('notifications.addAddress')}</NoteLink>
      </>
    );
  return (
    <>
      {t('notifications.noMailServer')}{' '}
      {isRoot && <NoteLink to="/settings/mail">{t('notifications.setUpMail')}</NoteLink>}
    </>
  );
}
