import { Collapse, UnstyledButton } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { type ReactNode, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AttentionItem } from '../../api/types.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import classes from './attention-strip.module.css';

type AttentionStripProps = { items: readonly AttentionItem[]; children: ReactNode };

/** One line that says how much needs attention; it unfolds what. */
export function AttentionStrip({ items, children }: AttentionStripProps) {
  const { t } = useTranslation();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const urgent = items.filter(({ severity }) => severity === 'error').length;
  return (
    <section className={classes.strip} aria-label={t('home.attention')} data-urgent={urgent > 0 || undefined}>
      <h2 className={classes.heading}>
        <UnstyledButton
          className={classes.button}
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
        >
          <StatusLabel tone={urgent > 0 ? 'bad' : 'waiting'}>
            {t('home.attention.count', { count: items.length })}
          </StatusLabel>
          {urgent > 0 && <span className={classes.urgent}>{t('home.attention.urgent', { count: urgent })}</span>}
          <IconChevronRight size={18} stroke={1.6} aria-hidden="true" data-open={isOpen || undefined} />
        </UnstyledButton>
      </h2>
      <div id={id}>
        <Collapse expanded={isOpen}>
          <div className={classes.content}>{children}</div>
        </Collapse>
      </div>
    </section>
  );
}
