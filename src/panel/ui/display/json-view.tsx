import { ActionIcon, Text } from '@mantine/core';
import { IconCopy } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { copyText } from './copy-field.tsx';
import { highlightCode } from './highlight-code.tsx';
import classes from './json-view.module.css';
import { notifySuccess } from './notify.ts';

/** A value as indented, coloured JSON with a copy button. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const { t } = useTranslation();
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? 'null', [value]);
  const [hasFailed, setFailed] = useState(false);
  const copy = async (): Promise<void> => {
    const isCopied = await copyText(text);
    setFailed(!isCopied);
    if (isCopied) notifySuccess(t('app.copied'));
  };
  return (
    <div className={classes.frame}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section className={classes.scroll} tabIndex={0} aria-label={label}>
        <pre className={classes.text}>{useMemo(() => highlightCode(text), [text])}</pre>
      </section>
      <ActionIcon
        className={classes.copy}
        variant="default"
        size={32}
        aria-label={`${t('json.copy')}: ${label}`}
        onClick={() => void copy()}
      >
        <IconCopy size={20} stroke={1.6} aria-hidden="true" />
      </ActionIcon>
      {hasFailed && (
        <Text size="sm" c="var(--mantine-color-error)" mt={8} role="alert">
          {t('app.copyFailed')}
        </Text>
      )}
    </div>
  );
}
