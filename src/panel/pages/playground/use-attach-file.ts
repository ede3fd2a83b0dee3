import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/display/use-format.ts';
import { attachedBytes, maxFileBytes } from './attached-files.ts';
import type { RequestDraft } from './use-request-draft.ts';

/** Attaches a chosen file to a field of the request; `error` says why the last one was not. */
export function useAttachFile(draft: RequestDraft): {
  error: string | null;
  attach(file: File | null, field: string): Promise<void>;
} {
  const { t } = useTranslation();
  const findFault = useFileFault();
  const [error, setError] = useState<string | null>(null);
  const attach = async (file: File | null, field: string): Promise<void> => {
    if (file === null) return;
    const fault = findFault(file, attachedBytes(draft, field));
    setError(fault);
    if (fault !== null) return;
    try {
      await draft.attach(file, field);
    } catch {
      setError(t('play.file.unreadable', { name: file.name }));
    }
  };
  return { error, attach };
}

/** What keeps a file from being attached beside others of so many bytes; null: nothing. */
export function useFileFault(): (file: File, others: number) => string | null {
  const { t } = useTranslation();
  const format = useFormat();
  return ({ name, size }, others) => {
    const limit = format.bytes(maxFileBytes);
    if (size > maxFileBytes) return t('play.file.tooLarge', { name, size: format.bytes(size), limit });
    return size + others > maxFileBytes ? t('play.file.tooMuch', { name, limit }) : null;
  };
}
