import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { PluginPreview } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { Section } from '../../ui/page/section.tsx';
import classes from './plugins.module.css';

type Changes = PluginPreview['permissions'];
type Permission = Changes['gained'][number];

const texts: Record<Permission['code'], TextKey> = {
  hosts: 'plugins.permission.hosts',
  channel_host: 'plugins.permission.channel_host',
  redirects: 'plugins.permission.redirects',
  any_host: 'plugins.permission.any_host',
  channel_key: 'plugins.permission.channel_key',
  access_token: 'plugins.permission.access_token',
  whole_context: 'plugins.permission.whole_context',
  client_headers: 'plugins.permission.client_headers',
  client_query: 'plugins.permission.client_query',
  client_files: 'plugins.permission.client_files',
  models: 'plugins.permission.models',
  protocols: 'plugins.permission.protocols',
  routes: 'plugins.permission.routes',
  channel_types: 'plugins.permission.channel_types',
};

/** Proper names, the same in every language. */
const protocolNames: Readonly<Record<string, string>> = {
  ...{ proto_video: 'OpenAI Videos', proto_responses: 'OpenAI Responses' },
};

const signs = { added: '+', removed: '−' } as const;

type PermissionsProps = {
  changes: Changes;
  isNew: boolean;
  /** Hosts, models and channel types that a marketplace keeps silent about. */
  unlisted?: ReadonlySet<string>;
  overrides?: readonly HostOverride[];
};

/** A channel whose base URL is another one than its plugin's. */
export type HostOverride = { channel: string; host: string };

/** What a plugin may do, in words; where another version serves, what it gains and loses first. */
export function PermissionSection({ changes, ...shown }: PermissionsProps) {
  const { t } = useTranslation();
  const { gained, lost } = changes;
  const isSame = gained.length + lost.length === 0;
  return (
    <Section heading={t('plugins.permissions')} intro={t('plugins.permissions.intro')}>
      {isSame && !shown.isNew && <Text size="sm">{t('plugins.permissions.same')}</Text>}
      <PermissionList changes={changes} {...shown} />
    </Section>
  );
}

export const PermissionList = ({ changes: { gained, lost, kept }, isNew, ...shown }: PermissionsProps) => (
  <ul className={classes.changes}>
    {lines(gained, isNew ? undefined : 'added', shown)}
    {lines(lost, 'removed')}
    {lines(kept, undefined, shown)}
  </ul>
);

/** What clients call the API that a plugin answers. */
export const protocolName = (name: string): string => protocolNames[name] ?? name;

const lines = (
  permissions: readonly Permission[],
  kind: keyof typeof signs | undefined,
  { unlisted, overrides = [] }: Pick<PermissionsProps, 'unlisted' | 'overrides'> = {},
) =>
  permissions.map((permission) => (
    <PermissionLine
      key={`${kind} ${permission.code}`}
      permission={permission}
      kind={kind}
      isUnlisted={permission.values.some((value) => unlisted?.has(readHost(value)))}
      overrides={permission.code === 'hosts' ? overrides : []}
    />
  ));

type PermissionLineProps = {
  permission: Permission;
  kind: keyof typeof signs | undefined;
  isUnlisted: boolean;
  overrides: readonly HostOverride[];
};

function PermissionLine({ permission, kind, isUnlisted, overrides }: PermissionLineProps) {
  const { t } = useTranslation();
  return (
    <li>
      {kind === undefined ? (
        <span className={classes.sign} aria-hidden="true">
          ·
        </span>
      ) : (
        <span className={classes.sign} data-kind={kind} role="img" aria-label={t(`plugins.change.${kind}`)}>
          {signs[kind]}
        </span>
      )}
      <span>
        <span className={classes.unlisted}>
          {t(texts[permission.code], { values: permission.values.map(protocolName).join(', ') })}
        </span>
        {isUnlisted && <StatusLabel tone="waiting">{t('plugins.permission.unlisted')}</StatusLabel>}
        {overrides.map(({ channel, host }) => (
          <Text key={`${channel} ${host}`} component="span" display="block" size="sm" c="dimmed">
            {t('plugins.permission.override', { channel, host })}
          </Text>
        ))}
      </span>
    </li>
  );
}

/** An address as the host that it names; other words as they are. */
export const readHost = (address: string): string => (URL.canParse(address) ? new URL(address).host : address);
