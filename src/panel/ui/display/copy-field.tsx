import { ActionIcon, Alert, Button, Stack, Text, VisuallyHidden } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { Fragment, type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './copy-field.module.css';
import { highlightCode } from './highlight-code.tsx';

type CopyFieldProps = {
  text: string;
  /** What is shown where that is easier to read or type. */
  shown?: string;
  /** A program is copied in parts, too; a text is selected as a whole. */
  isProgram?: boolean;
  /** Copying it is what the page is for: the button stands beside it, in words. */
  isPrimary?: boolean;
  onCopied?(): void;
};

/** Code with a copy button. */
export function CopyField({ text, shown = text, isProgram = false, isPrimary = false, onCopied }: CopyFieldProps) {
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

  const Icon = outcome === 'copied' ? IconCheck : IconCopy;
  const program = (
    <code className={classes.text} data-program={isProgram || undefined} data-word={!/[ /]/.test(shown) || undefined}>
      {isProgram ? wrapLines(text) : shown.includes(' ') ? keepFlagsWhole(shown) : breakAddress(shown)}
    </code>
  );
  return (
    <div>
      {isPrimary ? (
        <div className={classes.beside} onCopy={onCopied}>
          <div className={classes.field}>{program}</div>
          <Button leftSection={<Icon size={18} stroke={1.6} aria-hidden="true" />} onClick={() => void copy()}>
            {t(outcome === 'copied' ? 'app.copied' : 'app.copy')}
          </Button>
        </div>
      ) : (
        <div className={classes.field} onCopy={onCopied}>
          {program}
          <ActionIcon
            className={classes.copy ?? ''}
            variant="subtle"
            color="gray"
            size={36}
            aria-label={t('app.copy')}
            onClick={() => void copy()}
          >
            <Icon size={20} stroke={1.6} aria-hidden="true" />
          </ActionIcon>
        </div>
      )}
      <div aria-live="polite">
        {outcome === 'copied' && <VisuallyHidden>{t('app.copied')}</VisuallyHidden>}
        {outcome === 'failed' && <p className={classes.failed}>{t('app.copyFailed')}</p>}
      </div>
    </div>
  );
}

/** The columns by which the rest of a line that does not fit is indented further than its start. */
const furtherIndent = 2;

/** What a command has at the end of its lines, which stays beside the word before it. */
const lineGoesOn = ' \\\n';

/** Each line ends with its own newline, as what a reader selects does. */
const wrapLines = (program: string): ReactNode =>
  program.split(/(?<=\n)/).map((line, index) => {
    const hanging = line.search(/\S|$/) + furtherIndent;
    const end = line.endsWith(lineGoesOn) ? lineGoesOn : '';
    return (
      <span key={index} className={classes.line} style={{ paddingLeft: `${hanging}ch`, textIndent: `-${hanging}ch` }}>
        {highlightCode(line.slice(0, line.length - end.length))}
        <span className={classes.end}>{end}</span>
      </span>
    );
  });

/** A command that does not fit breaks before a flag. */
function keepFlagsWhole(text: string): ReactNode {
  const parts = text.split(/ (?=--)/);
  if (parts.length === 1) return text;
  return parts.map((part, index) => (
    <Fragment key={part}>
      {index > 0 && ' '}
      <span className={classes.part}>{part}</span>
    </Fragment>
  ));
}

/** An address that does not fit breaks after a slash, but for those of its scheme. */
const breakAddress = (text: string): ReactNode =>
  text.split(/(?<=[^/:]\/)/).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));

/**
 * Copies a text to the clipboard; false if the browser refuses. The Clipboard API exists in secure
 * contexts only. Over plain HTTP it falls back to `execCommand` on a selected text area.
 */
export async function copyText(text: string): Promise<boolean> {
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard !== undefined) {
    try {
      await clipboard.writeText(text);
      return true;
    } catch {
      // Permission denied: the fallback may still work.
    }
  }
  const textarea = document.createElement('textarea');
  const focused = document.activeElement;
  textarea.value = text;
  textarea.readOnly = true;
  textarea.style.position = 'fixed';
  textarea.style.opacity = '0';
  document.body.append(textarea);
  textarea.select();
  const copied = document.execCommand('copy');
  textarea.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}

type OneTimeSecretProps = {
  /** What the secret is. */
  heading: string;
  /** Says that the secret is not shown again, and what to do with it. */
  text: ReactNode;
  secret: string;
  /** By the button or by the reader's own means. */
  onCopied?(): void;
  children?: ReactNode;
};

/** A secret that the server shows once. It replaces the form that created it. */
export function OneTimeSecret({ heading, text, secret, onCopied, children }: OneTimeSecretProps) {
  return (
    <Alert color="gate" variant="light" title={heading} role="status">
      <Stack gap="sm">
        <Text size="sm" lh={1.6} component="div">
          {text}
        </Text>
        <CopyField text={secret} isPrimary {...(onCopied === undefined ? {} : { onCopied })} />
        {children}
      </Stack>
    </Alert>
  );
}
