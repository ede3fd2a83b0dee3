import { useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/display/use-format.ts';
import { isFileTooLarge, maxFileBytes } from './attached-files.ts';
import type { RequestDraft } from './use-request-draft.ts';

/** The field of a dropped or pasted file; a second one goes beside the first. */
const field = 'image';

const isMedia = ({ type }: File): boolean => /^(?:image|video|audio)\//.test(type);
const carriesFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') === true;

/** Attaches what is dropped on the playground or pasted into the page. */
export function useDroppedFiles(draft: RequestDraft) {
  const { t } = useTranslation();
  const format = useFormat();
  const [isOver, setOver] = useState(false);
  /** Why the last file was not attached. */
  const [fault, setFault] = useState<string | null>(null);
  const findFault = (file: File): string | null => {
    const { name, size } = file;
    if (!isMedia(file)) return t('play.file.otherKind', { name });
    if (!isFileTooLarge(file)) return null;
    return t('play.file.tooLarge', { name, size: format.bytes(size), limit: format.bytes(maxFileBytes) });
  };
  const attach = (files: Iterable<File>): void => {
    setFault(null);
    const taken = new Set([...Object.keys(draft.body), ...Object.keys(draft.reading)]);
    for (const file of files) {
      const found = findFault(file);
      if (found !== null) {
        setFault(found);
        continue;
      }
      let name = field;
      for (let number = 2; taken.has(name); number += 1) name = `${field}_${number}`;
      taken.add(name);
      draft.attach(file, name).catch(() => setFault(t('play.file.unreadable', { name: file.name })));
    }
  };
  const paste = useEffectEvent((event: ClipboardEvent) => {
    const { clipboardData: data } = event;
    // Office programs put a picture of the copied words beside them; the field wants the words.
    if (data === null || data.files.length === 0 || (isField(event.target) && data.types.includes('text/plain')))
      return;
    event.preventDefault();
    attach(data.files);
  });
  const drag = useEffectEvent((event: DragEvent) => {
    if (!carriesFiles(event)) return;
    // Otherwise the browser opens a dropped file in place of the page.
    event.preventDefault();
    // The pointer leaves the page where it enters nothing else.
    setOver(event.type === 'dragover' || (event.type === 'dragleave' && event.relatedTarget !== null));
    if (event.type === 'drop' && event.dataTransfer) attach(event.dataTransfer.files);
  });
  useEffect(() => {
    const onPaste = (event: ClipboardEvent): void => paste(event);
    const onDrag = (event: DragEvent): void => drag(event);
    const dragging = ['dragover', 'dragleave', 'drop'] as const;
    document.addEventListener('paste', onPaste);
    for (const name of dragging) document.addEventListener(name, onDrag);
    return () => {
      document.removeEventListener('paste', onPaste);
      for (const name of dragging) document.removeEventListener(name, onDrag);
    };
  }, []);
  return { isOver, fault };
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.closest('input, textarea') !== null);
