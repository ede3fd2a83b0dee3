import { useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { useFileFault } from './attach-file.tsx';
import { attachedBytes, chooseFileField } from './attached-files.ts';
import type { RequestDraft } from './use-request-draft.ts';

const isMedia = ({ type }: File): boolean => /^(?:image|video|audio)\//.test(type);
const isText = ({ type }: File): boolean => type.startsWith('text/');
/** Longer texts are not lyrics and no speech, and a form holds them badly. */
const maxTextBytes = 256 * 1024;
const carriesFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') === true;

/** Attaches what is dropped on the playground or pasted into the page. */
export function useDroppedFiles(offer: CallableModel, draft: RequestDraft) {
  const { t } = useTranslation();
  const format = useFormat();
  const [isOver, setOver] = useState(false);
  /** Why the last file was not attached. */
  const [fault, setFault] = useState<string | null>(null);
  const findSizeFault = useFileFault();
  const findFault = (file: File, field: string | null, others: number): string | null => {
    const { name, size } = file;
    if (!isMedia(file) && field === null) return t('play.file.otherKind', { name });
    if (field === null) return t('play.file.notTaken', { name, model: offer.model });
    if (!isText(file)) return findSizeFault(file, others);
    const sizes = { size: format.bytes(size), limit: format.bytes(maxTextBytes) };
    return size > maxTextBytes ? t('play.file.tooLarge', { name, ...sizes }) : null;
  };
  const read = async (file: File, field: string): Promise<void> => {
    if (isText(file)) draft.setField(field, await file.text());
    else await draft.attach(file, field);
  };
  const attach = (files: Iterable<File>): void => {
    setFault(null);
    const typed = Object.entries(draft.body).flatMap(([name, value]) => (value === '' ? [] : [name]));
    const taken = new Set([...typed, ...Object.keys(draft.reading)]);
    let others = attachedBytes(draft);
    for (const file of files) {
      const field = chooseFileField(offer, file.type, taken);
      const found = findFault(file, field, others);
      setFault((before) => found ?? before);
      if (found !== null || field === null) continue;
      taken.add(field);
      if (!isText(file)) others += file.size;
      read(file, field).catch(() => setFault(t('play.file.unreadable', { name: file.name })));
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
