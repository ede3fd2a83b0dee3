import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/display/use-format.ts';
import { isFileTooLarge, maxFileBytes } from './attached-files.ts';
import type { RequestDraft } from './use-request-draft.ts';

/** Attaches a chosen file to a field of the request; `error` says why the last one was not. */
export function useAttachFile(draft: RequestDraft): {
  error: string | null;
  attach(file: File | null, field: string): Promise<void>;
} {
  const { t } = useTranslation();
  const format = useFormat();
  const [error, setError] = useState<string | null>(null);
  const attach = async (file: File | null, field: string): Promise<void> => {
    if (file === null) return;
    const { name, size } = file;
    const isTooLarge = isFileTooLarge(file);
    setError(
      isTooLarge
        ? t('play.file.tooLarge', { name, size: format.bytes(size), limit: format.bytes(maxFileBytes) })
        : null,
    );
    if (isTooLarge) return;
    try {
      await draft.attach(file, field);
    } catch {
      setError(t('play.file.unreadable', { name }));
    }
  };
  return { error, attach };
}
