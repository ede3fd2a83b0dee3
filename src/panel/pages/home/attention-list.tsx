import { Button } from '@mantine/core';
import { type ReactNode, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { AttentionItem } from '../../api/types.ts';
import { useRole } from '../../session/roles.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { actionText, attentionWords, isRemedyOnButton, targetPage } from './attention-item.ts';
import classes from './attention-list.module.css';

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
  const { title, facts, remedy } = attentionWords(item, t);
  const page = targetPage(item);
  const action = t(actionText(item));
  const isLinked = page !== null && role >= page.role;
  const variable = item.target.kind === 'setting' && page === null ? item.target.id : null;
  return (
    <li className={classes.item} data-linked={isLinked || undefined}>
      <div className={classes.words}>
        <h3 className={classes.title}>
          <StatusLabel tone={item.severity === 'error' ? 'bad' : 'waiting'}>{title}</StatusLabel>
          {item.severity === 'error' && <span className={classes.severity}>{t('home.attention.error')}</span>}
        </h3>
        {facts !== '' && <p>{facts}</p>}
        {remedy !== null && !(isLinked && isRemedyOnButton(item)) && <p className={classes.remedy}>{t(remedy)}</p>}
        {variable !== null && <p className={classes.remedy}>{t('home.attention.variable', { name: variable })}</p>}
      </div>
      {isLinked && (
        <Button
          className={classes.open ?? ''}
          component={Link}
          to={page.to}
          variant="default"
          size="xs"
          aria-label={`${action}: ${title}`}
        >
          {action}
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
          <span>{t('home.attention.count', { count: items.length })}</span>
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
