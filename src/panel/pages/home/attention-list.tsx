import { Button } from '@mantine/core';
import { type ReactNode, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { translateOrQuote } from '../../api/say-sentence.ts';
import type { AttentionItem } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useRole } from '../../session/roles.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { targetPage } from './attention-item.ts';
import classes from './attention-list.module.css';

const texts: Readonly<Record<AttentionItem['code'], { title: TextKey; remedy: TextKey }>> = {
  plugin_suspended: { title: 'home.attention.plugin_suspended', remedy: 'home.attention.plugin_suspended.remedy' },
  plugin_keeps_path: { title: 'home.attention.plugin_keeps_path', remedy: 'home.attention.plugin_keeps_path.remedy' },
  plugin_failed: { title: 'home.attention.plugin_failed', remedy: 'home.attention.plugin_failed.remedy' },
  plugin_failing: { title: 'home.attention.plugin_failing', remedy: 'home.attention.plugin_failing.remedy' },
  plugin_rolled_back: {
    title: 'home.attention.plugin_rolled_back',
    remedy: 'home.attention.plugin_rolled_back.remedy',
  },
  credential_exposed: {
    title: 'home.attention.credential_exposed',
    remedy: 'home.attention.credential_exposed.remedy',
  },
  plugin_revoked: { title: 'home.attention.plugin_revoked', remedy: 'home.attention.plugin_revoked.remedy' },
  plugin_revoked_tasks: {
    title: 'home.attention.plugin_revoked_tasks',
    remedy: 'home.attention.plugin_revoked_tasks.remedy',
  },
  channel_failing: { title: 'home.attention.channel_failing', remedy: 'home.attention.channel_failing.remedy' },
  channel_degraded: { title: 'home.attention.channel_degraded', remedy: 'home.attention.channel_degraded.remedy' },
  channel_key_ends: { title: 'home.attention.channel_key_ends', remedy: 'home.attention.channel_key_ends.remedy' },
  channel_key_unreadable: {
    title: 'home.attention.channel_key_unreadable',
    remedy: 'home.attention.channel_key_unreadable.remedy',
  },
  channel_key_refused: {
    title: 'home.attention.channel_key_refused',
    remedy: 'home.attention.channel_key_refused.remedy',
  },
  channel_balance_empty: {
    title: 'home.attention.channel_balance_empty',
    remedy: 'home.attention.channel_balance_empty.remedy',
  },
  channel_balance_low: {
    title: 'home.attention.channel_balance_low',
    remedy: 'home.attention.channel_balance_low.remedy',
  },
  channel_resting: { title: 'home.attention.channel_resting', remedy: 'home.attention.channel_resting.remedy' },
  polls_late: { title: 'home.attention.polls_late', remedy: 'home.attention.polls_late.remedy' },
  queue_stalled: { title: 'home.attention.queue_stalled', remedy: 'home.attention.queue_stalled.remedy' },
  vendor_job_unrecorded: {
    title: 'home.attention.vendor_job_unrecorded',
    remedy: 'home.attention.vendor_job_unrecorded.remedy',
  },
  tasks_overdue: { title: 'home.attention.tasks_overdue', remedy: 'home.attention.tasks_overdue.remedy' },
  alert_webhook_failing: {
    title: 'home.attention.alert_webhook_failing',
    remedy: 'home.attention.alert_webhook_failing.remedy',
  },
  webhooks_late: { title: 'home.attention.webhooks_late', remedy: 'home.attention.webhooks_late.remedy' },
  model_unpriced: { title: 'home.attention.model_unpriced', remedy: 'home.attention.model_unpriced.remedy' },
  price_refuses: { title: 'home.attention.price_refuses', remedy: 'home.attention.price_refuses.remedy' },
  price_unused: { title: 'home.attention.price_unused', remedy: 'home.attention.price_unused.remedy' },
  channel_unserved: { title: 'home.attention.channel_unserved', remedy: 'home.attention.channel_unserved.remedy' },
  results_blocked: { title: 'home.attention.results_blocked', remedy: 'home.attention.results_blocked.remedy' },
  results_lost: { title: 'home.attention.results_lost', remedy: 'home.attention.results_lost.remedy' },
  proxy_not_listed: { title: 'home.attention.proxy_not_listed', remedy: 'home.attention.proxy_not_listed.remedy' },
  address_missing: { title: 'home.attention.address_missing', remedy: 'home.attention.address_missing.remedy' },
  setting_unsafe: { title: 'home.attention.setting_unsafe', remedy: 'home.attention.setting_unsafe.remedy' },
  setting_doubtful: { title: 'home.attention.setting_doubtful', remedy: 'home.attention.setting_doubtful.remedy' },
  certificate_fault: { title: 'home.attention.certificate_fault', remedy: 'home.attention.certificate_fault.remedy' },
  ledger_mismatch: { title: 'home.attention.ledger_mismatch', remedy: 'home.attention.ledger_mismatch.remedy' },
  data_damaged: { title: 'home.attention.data_damaged', remedy: 'home.attention.data_damaged.remedy' },
  node_gone: { title: 'home.attention.node_gone', remedy: 'home.attention.node_gone.remedy' },
  node_versions_differ: {
    title: 'home.attention.node_versions_differ',
    remedy: 'home.attention.node_versions_differ.remedy',
  },
  disk_unwritable: { title: 'home.attention.disk_unwritable', remedy: 'home.attention.disk_unwritable.remedy' },
  maintenance_on: { title: 'home.attention.maintenance_on', remedy: 'home.attention.maintenance_on.remedy' },
  retention_undecided: {
    title: 'home.attention.retention_undecided',
    remedy: 'home.attention.retention_undecided.remedy',
  },
  backup_failed: { title: 'home.attention.backup_failed', remedy: 'home.attention.backup_failed.remedy' },
  backup_overdue: { title: 'home.attention.backup_overdue', remedy: 'home.attention.backup_overdue.remedy' },
  backup_unsealed: { title: 'home.attention.backup_unsealed', remedy: 'home.attention.backup_unsealed.remedy' },
  backup_not_pruned: { title: 'home.attention.backup_not_pruned', remedy: 'home.attention.backup_not_pruned.remedy' },
  disk_low: { title: 'home.attention.disk_low', remedy: 'home.attention.disk_low.remedy' },
  clock_stepped: { title: 'home.attention.clock_stepped', remedy: 'home.attention.clock_stepped.remedy' },
  clock_differs: { title: 'home.attention.clock_differs', remedy: 'home.attention.clock_differs.remedy' },
  no_master: { title: 'home.attention.no_master', remedy: 'home.attention.no_master.remedy' },
};

const refreshMs = 60_000;

/** What an administrator should look at, each with a remedy; renders nothing if all is well. */
export function AttentionList() {
  const role = useRole();
  const { data = [], error } = useApiQuery<AttentionItem[]>('/api/attention', { refreshMs });
  // A failed query must not look as if all were well.
  if (data.length === 0) return error && <ErrorNotice error={error} />;
  return (
    <AttentionStrip items={data}>
      {(items) => (
        <ul className={classes.items}>
          {items.map(({ key, item }) => (
            <Item key={key} item={item} role={role} />
          ))}
        </ul>
      )}
    </AttentionStrip>
  );
}

function Item({ item, role }: { item: AttentionItem; role: number }) {
  const { t } = useTranslation();
  const { title, remedy } = texts[item.code];
  const page = targetPage(item);
  const variable = item.target.kind === 'setting' && page === null ? item.target.id : null;
  return (
    <li className={classes.item}>
      <div className={classes.words}>
        <h3 className={classes.title}>
          <StatusLabel tone={item.severity === 'error' ? 'bad' : 'waiting'}>{t(title)}</StatusLabel>
          <span className={classes.severity}>
            {t(item.severity === 'error' ? 'home.attention.error' : 'home.attention.warning')}
          </span>
        </h3>
        <p>{t(remedy)}</p>
        {variable !== null && <p>{t('home.attention.variable', { name: variable })}</p>}
        <p className={classes.detail}>{translateOrQuote(item, t)}</p>
      </div>
      {page !== null && role >= page.role && (
        <Button
          component={Link}
          to={page.to}
          variant="default"
          size="xs"
          aria-label={t('home.attention.lookAt', { what: t(title) })}
        >
          {t('home.attention.look')}
        </Button>
      )}
    </li>
  );
}

/** Keys that stay the same while figures in the messages change, so that buttons keep the focus. */
function withKeys(items: readonly AttentionItem[]): { key: string; item: AttentionItem }[] {
  const seen = new Map<string, number>();
  return items.map((item) => {
    const name = `${item.code} ${item.target.id}`;
    const nth = seen.get(name) ?? 0;
    seen.set(name, nth + 1);
    return { key: `${name} ${nth}`, item };
  });
}

type AttentionStripProps = {
  items: readonly AttentionItem[];
  children(items: ReturnType<typeof withKeys>): ReactNode;
};

/** Items that are shown before the rest is asked for. */
const unfolded = 3;

/** How much needs attention, the first items, and a button that unfolds the others. */
function AttentionStrip({ items, children }: AttentionStripProps) {
  const { t } = useTranslation();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const urgent = items.filter(({ severity }) => severity === 'error').length;
  const keyed = withKeys(items);
  const rest = Math.max(0, items.length - unfolded);
  // One more item takes hardly more room than a button.
  const isFolded = rest > 1;
  return (
    <section className={classes.strip} aria-label={t('home.attention')} data-urgent={urgent > 0 || undefined}>
      <h2 className={classes.heading}>
        <span className={classes.summary}>
          <StatusLabel tone={urgent > 0 ? 'bad' : 'waiting'}>
            {t('home.attention.count', { count: items.length })}
          </StatusLabel>
          {urgent > 0 && <span className={classes.urgent}>{t('home.attention.urgent', { count: urgent })}</span>}
        </span>
      </h2>
      <div className={classes.content} id={id}>
        {children(isOpen || !isFolded ? keyed : keyed.slice(0, unfolded))}
        {isFolded && (
          <Button
            variant="subtle"
            size="xs"
            mt="sm"
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? t('task.timeline.less') : t('task.timeline.more', { count: rest })}
          </Button>
        )}
      </div>
    </section>
  );
}
