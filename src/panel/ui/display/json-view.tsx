import { ActionIcon, Text } from '@mantine/core';
import { IconCopy } from '@tabler/icons-react';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { copyText } from './copy-field.tsx';
import classes from './json-view.module.css';
import { notifySuccess } from './notify.ts';

/** Matches a string and whether it is a key, or a number or literal. */
const token = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/g;

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
        <pre className={classes.text}>{useMemo(() => highlight(text), [text])}</pre>
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

function highlight(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    const [whole, string, colon] = match;
    parts.push(text.slice(end, match.index));
    const kind = string === undefined ? classes.plain : colon === undefined ? classes.string : classes.name;
    parts.push(
      <span key={match.index} className={kind}>
        {string ?? whole}
      </span>,
      colon ?? '',
    );
    end = match.index + whole.length;
  }
  return [...parts, text.slice(end)];
}
