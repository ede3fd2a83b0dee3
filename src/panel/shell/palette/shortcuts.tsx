import { ActionIcon, Modal } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isDialogOpen } from '../../ui/form/form-dialog.tsx';
import { PaletteInput } from './palette-input.tsx';

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
        <IconSearch size={20} stroke={1.6} aria-hidden="true" />
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

type PaletteFrameProps = {
  /** What was typed before the palette is loaded. */
  typed: string;
  onType(typed: string): void;
  onClose(): void;
  children: ReactNode;
};

/**
 * The dialog of the palette, part of every page: it is open, and takes what is typed, before the
 * palette itself is loaded. Otherwise the letters would go to the field behind it.
 */
function PaletteFrame({ typed, onType, onClose, children }: PaletteFrameProps) {
  const { t } = useTranslation();
  return (
    <Modal.Root opened onClose={onClose} size={600} yOffset="12vh">
      <Modal.Overlay />
      <Modal.Content aria-label={t('palette.title')} radius="md">
        <Suspense
          fallback={
            <PaletteInput onCancel={onClose} value={typed} onChange={(event) => onType(event.currentTarget.value)} />
          }
        >
          {children}
        </Suspense>
      </Modal.Content>
    </Modal.Root>
  );
}

/** What opens a row: its first link or button. */
const opener = 'a[href], button:not([disabled])';
const rows = 'main table tbody tr, main [data-list-row]';

/** Where the keys were last, so that they go on there when one comes back to the list. */
let last = { page: '', at: -1 };

/**
 * Moves the focus to the opener of the next row of the page's list, or of the one before. Enter
 * then opens it, as with any link.
 */
function moveInList(step: 1 | -1): void {
  const targets = [...document.querySelectorAll<HTMLElement>(rows)].flatMap((row) => {
    const target = row.querySelector<HTMLElement>(opener);
    return target === null ? [] : [{ row, target }];
  });
  if (targets.length === 0) return;
  const present = targets.findIndex(({ row }) => row.contains(document.activeElement));
  const page = location.pathname + location.search;
  const from = present < 0 && last.page === page ? last.at : present;
  const next = from < 0 ? (step === 1 ? 0 : targets.length - 1) : from + step;
  const at = Math.max(0, Math.min(next, targets.length - 1));
  last = { page, at };
  const found = targets[at];
  found?.target.focus();
  found?.row.scrollIntoView({ block: 'nearest' });
}
