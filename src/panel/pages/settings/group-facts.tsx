import { Anchor, Input, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { BackupsReport } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { nameGroup } from './option-texts.ts';
import classes from './settings.module.css';

/** The built-in providers that send people back to an address of the gateway. */
const redirecting = ['github', 'discord', 'linuxdo', 'oidc'];

/** What stands above the options of a group; nothing for most groups. */
export function GroupFacts({ group }: { group: string }) {
  if (redirecting.includes(group)) return <CallbackUrl provider={group} />;
  return group === 'backups' ? <BackupState /> : null;
}

function CallbackUrl({ provider }: { provider: string }) {
  const { t } = useTranslation();
  const url = useCallbackUrl(provider);
  const name = t(provider === 'oidc' ? 'settings.callbackProvider' : nameGroup(provider));
  return (
    <div className={classes.row}>
      <Input.Wrapper
        labelElement="div"
        label={t('settings.callback')}
        description={t('settings.callbackHelp', { name })}
      >
        <div className={classes.callback}>
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

/** Where backups go, and when the last one was made. */
function BackupState() {
  const { t } = useTranslation();
  const format = useFormat();
  const { data } = useApiQuery<BackupsReport>('/api/backup');
  if (data === undefined) return null;
  const { place, runs } = data;
  const last = runs.find(({ status }) => status === 'done');
  const sentences =
    place === null
      ? [t('system.backupNoPlace')]
      : [
          t('system.backupPlace', { place }),
          last ? t('settings.backup.last', { ago: format.ago(last.started_at) }) : t('system.backupNone'),
        ];
  return (
    <Text size="sm" className={classes.row ?? ''}>
      {sentences.join(' ')}{' '}
      <Anchor component={Link} to="/system" inherit underline="always">
        {t('nav.system')}
      </Anchor>
    </Text>
  );
}
