import { Anchor, Drawer, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { UsageRow } from '../../api/types.ts';
import { ServerText } from '../../ui/display/server-text.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { TaskBill } from '../tasks/task-bill.tsx';
import classes from './bill-list.module.css';

type BillDrawerProps = { row: UsageRow | null; keyName: string | null; onClose(): void };

/** Explains one bill. */
export function BillDrawer({ row, keyName, onClose }: BillDrawerProps) {
  const { t } = useTranslation();
  return (
    <Drawer
      opened={row !== null}
      onClose={onClose}
      position="right"
      size={520}
      title={row?.model}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      {row !== null && <BillDetails row={row} keyName={keyName} />}
    </Drawer>
  );
}

function BillDetails({ row, keyName }: { row: UsageRow; keyName: string | null }) {
  const { t } = useTranslation();
  const format = useFormat();
  const status = row.kind === 'refund' ? ('FAILURE' as const) : ('SUCCESS' as const);
  return (
    <Stack gap="lg">
      <Stack gap={4}>
        <Text size="sm" c="dimmed">
          {format.time(row.created_at)}
          {keyName !== null && ` · ${t('usage.byKey', { name: keyName })}`}
        </Text>
        <Anchor component={Link} to={`/tasks/${row.task_id}`} className={classes.task}>
          {row.task_id}
        </Anchor>
        {row.bill.reason !== undefined && (
          <Text size="sm" mt={4}>
            <ServerText text={row.bill.reason} />
          </Text>
        )}
      </Stack>
      <TaskBill task={{ status, bill: row.bill, ledger: [], platform: row.plugin_key, model: row.model }} />
    </Stack>
  );
}
