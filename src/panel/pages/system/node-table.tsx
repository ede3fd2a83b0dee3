import { Button, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { NodeReport } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import classes from './system.module.css';

type Node = NodeReport['nodes'][number];

/** The gateway's processes with a recent heartbeat. */
export function NodeTable({ nodes }: { nodes: readonly Node[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  // In whole minutes: nobody needs "9.2 min".
  const readUptime = ({ started_at, heartbeat_at }: Node): number => {
    const seconds = Math.max(0, heartbeat_at - started_at);
    return seconds < 60 ? seconds : seconds - (seconds % 60);
  };
  const up = format.durationLike(nodes.map(readUptime));
  const columns: readonly Column<Node>[] = [
    {
      key: 'id',
      heading: t('system.node'),
      render: ({ id, host, self }) => (
        <div className={classes.node}>
          <span title={id}>{host || id.slice(0, 8)}</span>
          <Text size="xs" c="dimmed">
            {[host && id.slice(0, 8), self && t('system.self')].filter(Boolean).join(' · ')}
          </Text>
        </div>
      ),
    },
    {
      key: 'alive',
      heading: t('system.nodeState'),
      render: ({ alive, drained, heartbeat_at: at }) => (
        <div>
          {alive && drained ? (
            <StatusLabel tone="waiting">{t('system.drained')}</StatusLabel>
          ) : (
            <StatusLabel tone={alive ? 'good' : 'bad'}>{t(alive ? 'system.alive' : 'system.gone')}</StatusLabel>
          )}
          <Text size="xs" c="dimmed">
            {format.ago(at)}
          </Text>
        </div>
      ),
    },
    {
      key: 'role',
      heading: t('system.role'),
      render: ({ role }) => t(role === 'master' ? 'system.role.master' : 'system.role.slave'),
    },
    { key: 'version', heading: t('system.version'), render: ({ version }) => version },
    {
      key: 'started',
      heading: t('system.started'),
      numeric: true,
      render: (node) => up(readUptime(node)),
    },
    ...(nodes.filter(({ alive }) => alive).length > 1
      ? [
          {
            key: 'service',
            heading: t('table.actions'),
            actions: true,
            render: (node: Node) => node.alive && <ServiceButton node={node} />,
          },
        ]
      : []),
  ];
  return <PlainTable label={t('system.nodes')} columns={columns} rows={nodes} rowKey={({ id }) => id} />;
}

/** Takes a node out of service, after a question, or puts it back. */
function ServiceButton({ node: { id, host, drained } }: { node: Node }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const change = useApiMutation<void>({
    request: () => ({ method: drained ? 'DELETE' : 'POST', path: `/api/node/${encodeURIComponent(id)}/drain` }),
    invalidates: ['/api/node'],
  });
  const ask = async (): Promise<void> => {
    const title = `${t('system.drain')}: ${host || id}`;
    const question = { title, text: t('system.drainText'), action: t('system.drain'), destructive: false };
    if (drained || (await confirm(question))) change.mutate();
  };
  return (
    <>
      <Button variant="default" size="compact-sm" loading={change.isPending} onClick={() => void ask()}>
        {t(drained ? 'system.resume' : 'system.drain')}
      </Button>
      {change.isError && <ErrorNotice error={change.error} />}
    </>
  );
}
