import { Modal } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './palette-frame.module.css';

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
export function PaletteFrame({ typed, onType, onClose, children }: PaletteFrameProps) {
  const { t } = useTranslation();
  return (
    <Modal.Root opened onClose={onClose} size={600} yOffset="12vh">
      <Modal.Overlay />
      <Modal.Content aria-label={t('palette.title')} radius="md">
        <Suspense
          fallback={
            <input
              className={classes.input}
              // biome-ignore lint/a11y/noAutofocus: the palette is for typing
              autoFocus
              data-autofocus
              type="text"
              aria-label={t('palette.search')}
              placeholder={t('palette.placeholder')}
              autoComplete="off"
              spellCheck={false}
              maxLength={200}
              value={typed}
              onChange={(event) => onType(event.currentTarget.value)}
            />
          }
        >
          {children}
        </Suspense>
      </Modal.Content>
    </Modal.Root>
  );
}
