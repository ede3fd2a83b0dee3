import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { NodeReport } from '../../api/types.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import classes from './system.module.css';

type Node = NodeReport['nodes'][number];

/** The gateway's processes with a recent heartbeat. */
export function NodeTable({ nodes }: { nodes: readonly Node[] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const readUptime = ({ started_at, heartbeat_at }: Node): number => Math.max(0, heartbeat_at - started_at);
  const up = format.durationLike(nodes.map(readUptime));
  const columns: readonly Column<Node>[] = [
    {
      key: 'id',
      heading: t('system.node'),
      render: ({ id, self }) => (
        <div className={classes.node}>
          <span>{id}</span>
          {self && (
            <Text size="xs" c="dimmed">
              {t('system.self')}
            </Text>
          )}
        </div>
      ),
    },
    {
      key: 'alive',
      heading: t('system.heartbeat'),
      render: ({ alive, heartbeat_at: at }) => (
        <div>
          <StatusLabel tone={alive ? 'good' : 'bad'}>{t(alive ? 'system.alive' : 'system.gone')}</StatusLabel>
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
  ];
  return <PlainTable label={t('system.nodes')} columns={columns} rows={nodes} rowKey={({ id }) => id} />;
}
