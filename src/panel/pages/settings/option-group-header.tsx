import { Alert, Anchor, Input, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { BackupsReport } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { LocalAddressNotice } from '../../ui/display/local-address-notice.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { WithCode } from '../../ui/display/with-code.tsx';
import { nameGroup } from './option-texts.ts';
import classes from './settings.module.css';

/** The built-in providers that send people back to an address of the gateway. */
const redirecting = ['github', 'discord', 'linuxdo', 'oidc'];

/** What stands above the options of a group; nothing for most groups. */
export function OptionGroupHeader({ group }: { group: string }) {
  if (redirecting.includes(group)) return <CallbackUrl provider={group} />;
  return group === 'backups' ? <BackupState /> : null;
}

function CallbackUrl({ provider }: { provider: string }) {
  const { t } = useTranslation();
  const url = useCallbackUrl(provider);
  const help =
    provider === 'oidc' ? t('settings.callbackHelpOidc') : t('settings.callbackHelp', { name: t(nameGroup(provider)) });
  return (
    <div className={classes.row}>
      <Input.Wrapper labelElement="div" label={t('settings.callback')} description={help}>
        <div className={classes.callback}>
          <LocalAddressNotice url={url} />
          <CopyField text={url} />
        </div>
      </Input.Wrapper>
    </div>
  );
}

/** Where a provider sends people back: the gateway's own address, not the one of this page. */
export function useCallbackUrl(slug: string): string {
  const { data: status } = useGatewayStatus();
  return `${status?.server_address || window.location.origin}/oauth/${slug}`;
}

/** Whether no backup can be made, since there is nowhere to put it. */
export const useHasNoBackups = (enabled: boolean): boolean =>
  useApiQuery<BackupsReport>('/api/backup', { enabled }).data?.place === null;

/** Where backups go, and when the last one was made. */
function BackupState() {
  const { t } = useTranslation();
  const format = useFormat();
  const { data } = useApiQuery<BackupsReport>('/api/backup');
  if (data === undefined) return null;
  const { place, runs } = data;
  const last = runs.find(({ status }) => status === 'done');
  if (place === null) {
    return (
      <div className={classes.row}>
        <Alert color="yellow" variant="light" mb={8} p="xs">
          <Text size="sm">
            <WithCode isMarked text={t('system.backupOff')} />
          </Text>
        </Alert>
        <CopyField text="BACKUP_TO=/var/backups/taskgate" />
      </div>
    );
  }
  const latest = last ? t('settings.backup.last', { ago: format.ago(last.started_at) }) : t('system.backupNone');
  return (
    <Text size="sm" className={classes.row ?? ''}>
      {t('system.backupPlace', { place })} {latest}{' '}
      <Anchor component={Link} to="/system" inherit underline="always">
        {t('settings.backup.view')}
      </Anchor>
    </Text>
  );
}
