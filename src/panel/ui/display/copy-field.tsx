import { ActionIcon, VisuallyHidden } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { IconCheck, IconCopy } from '../icons.tsx';
import classes from './copy-field.module.css';
import { copyText } from './copy-text.ts';

/** Code with a copy button. */
export function CopyField({ text, onCopied }: { text: string; onCopied?(): void }) {
  const { t } = useTranslation();
  const [outcome, setOutcome] = useState<'copied' | 'failed' | null>(null);

  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), 2500);
    return () => clearTimeout(timer);
  }, [outcome]);

  const copy = async (): Promise<void> => {
    const isCopied = await copyText(text);
    setOutcome(isCopied ? 'copied' : 'failed');
    if (isCopied) onCopied?.();
  };

  return (
    <div>
      <div className={classes.field} onCopy={onCopied}>
        <code className={classes.text}>{text}</code>
        <ActionIcon variant="subtle" color="gray" size={36} aria-label={t('app.copy')} onClick={() => void copy()}>
          {outcome === 'copied' ? <IconCheck /> : <IconCopy />}
        </ActionIcon>
      </div>
      <div aria-live="polite">
        {outcome === 'copied' && <VisuallyHidden>{t('app.copied')}</VisuallyHidden>}
        {outcome === 'failed' && <p className={classes.failed}>{t('app.copyFailed')}</p>}
      </div>
    </div>
  );
}
