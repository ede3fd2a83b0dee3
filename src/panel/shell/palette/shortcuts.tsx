import { ActionIcon } from '@mantine/core';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isDialogOpen } from '../../ui/form/form-dialog.tsx';
import { IconSearch } from '../../ui/icons.tsx';
import { moveInList } from './move-in-list.ts';
import { PaletteFrame } from './palette-frame.tsx';

const CommandPalette = lazy(async () => ({ default: (await import('./command-palette.tsx')).CommandPalette }));
const ShortcutList = lazy(async () => ({ default: (await import('./shortcut-list.tsx')).ShortcutList }));

/**
 * The keys of the whole panel, and a button for those who do not know them. The palette is loaded
 * soon after the first page, the list of shortcuts when it is first wanted.
 */
export function Shortcuts() {
  const { t } = useTranslation();
  const [open, setOpen] = useState<'palette' | 'list' | null>(null);
  const [typed, setTyped] = useState('');
  const close = (): void => {
    setOpen(null);
    setTyped('');
  };
  const before = useRef<Element | null>(null);
  // Both mount open, so they cannot tell what had the focus before.
  useEffect(() => {
    if (open !== null) {
      before.current ??= document.activeElement;
      return;
    }
    const target = before.current;
    before.current = null;
    // A page that was opened takes the focus itself.
    if (target instanceof HTMLElement && target.isConnected && document.activeElement === document.body) target.focus();
  }, [open]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || event.altKey) return;
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setTyped('');
        setOpen((now) => (now === 'palette' ? null : 'palette'));
        return;
      }
      if (event.ctrlKey || event.metaKey || isTyping(event.target) || isDialogOpen()) return;
      if (event.key === '?') setOpen('list');
      else if (event.key === '/' && focusSearch()) event.preventDefault();
      else if (event.key === 'j' || event.key === 'k') moveInList(event.key === 'j' ? 1 : -1);
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <ActionIcon
        variant="subtle"
        color="gray"
        size={40}
        aria-label={t('palette.open')}
        aria-keyshortcuts="Control+K Meta+K"
        aria-haspopup="dialog"
        title={t('palette.openHint')}
        onClick={() => setOpen('palette')}
      >
        <IconSearch />
      </ActionIcon>
      {open === 'palette' && (
        <PaletteFrame typed={typed} onType={setTyped} onClose={close}>
          <CommandPalette typed={typed} onClose={close} onShortcuts={() => setOpen('list')} />
        </PaletteFrame>
      )}
      <Suspense fallback={null}>{open === 'list' && <ShortcutList onClose={close} />}</Suspense>
    </>
  );
}

/** Whether the page has a search. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  field?.focus();
  field?.select();
  return field !== null;
}

/** Letters belong to the field or the editor that has the focus. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest('input, textarea, select, [role="textbox"], [role="combobox"]') !== null);
