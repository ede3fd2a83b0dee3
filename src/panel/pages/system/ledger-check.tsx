import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { NodeReport } from '../../api/types.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import classes from './system.module.css';

/** Whether every balance equals the sum of its ledger entries, and which do not. */
export function LedgerCheck({ ledger }: { ledger: NodeReport['ledger'] }) {
  const { t } = useTranslation();
  const format = useFormat();
  const row = ({ quota, ledger: sum }: { quota: number; ledger: number }): string =>
    t('system.ledgerRow', { quota: format.money(quota), ledger: format.money(sum) });
  return (
    <div className={classes.ledger} data-trouble={ledger?.ok === false || undefined}>
      <dt>{t('system.ledger')}</dt>
      {ledger === null ? (
        <dd className={classes.note}>{t('system.ledgerPending')}</dd>
      ) : (
        <>
          <dd className={classes.value}>
            <StatusLabel tone={ledger.ok ? 'good' : 'bad'} wraps>
              {t(ledger.ok ? 'system.ledgerGood' : 'system.ledgerBad')}
            </StatusLabel>
          </dd>
          <dd className={classes.note}>{t('system.ledgerAt', { ago: format.ago(ledger.checked_at) })}</dd>
          {!ledger.ok && (
            <dd>
              <ul className={classes.mismatches}>
                {ledger.users.map((user) => (
                  <li key={user.user_id}>
                    <Anchor component={Link} to={`/users/${user.user_id}`}>
                      {t('system.ledgerUser', { id: user.user_id })}
                    </Anchor>
                    : {row(user)}
                  </li>
                ))}
                {ledger.tasks.map((task) => (
                  <li key={task.task_id}>
                    <Anchor component={Link} to={`/tasks/${encodeURIComponent(task.task_id)}`}>
                      {t('system.ledgerTask', { id: task.task_id })}
                    </Anchor>
                    : {row(task)}
                  </li>
                ))}
              </ul>
            </dd>
          )}
        </>
      )}
    </div>
  );
}
