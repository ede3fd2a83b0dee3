import { type DragEvent, useEffect, useEffectEvent } from 'react';
import type { RequestDraft } from './use-request-draft.ts';

/** The field of a dropped or pasted file; a second one goes beside the first. */
const field = 'image';

/** Attaches what is dropped on the playground or pasted into the page. */
export function useDroppedFiles(draft: RequestDraft) {
  const attach = (files: FileList | null | undefined): boolean => {
    const images = [...(files ?? [])].filter(({ type }) => /^(?:image|video|audio)\//.test(type));
    const taken = new Set(Object.keys(draft.body));
    for (const file of images) {
      let name = field;
      for (let number = 2; taken.has(name); number += 1) name = `${field}_${number}`;
      taken.add(name);
      // The browser could not read it; there is nothing to attach.
      void draft.attach(file, name).catch(() => {});
    }
    return images.length > 0;
  };
  const paste = useEffectEvent((event: globalThis.ClipboardEvent) => {
    if (attach(event.clipboardData?.files)) event.preventDefault();
  });
  useEffect(() => {
    const onPaste = (event: globalThis.ClipboardEvent): void => paste(event);
    document.addEventListener('paste', onPaste);
    return () => document.removeEventListener('paste', onPaste);
  }, []);
  return {
    onDragOver: (event: DragEvent) => {
      if (event.dataTransfer.types.includes('Files')) event.preventDefault();
    },
    onDrop: (event: DragEvent) => {
      if (attach(event.dataTransfer.files)) event.preventDefault();
    },
  };
}
