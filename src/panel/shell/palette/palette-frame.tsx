import { Modal } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { PaletteInput } from './palette-input.tsx';

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
        <Suspense fallback={<PaletteInput value={typed} onChange={(event) => onType(event.currentTarget.value)} />}>
          {children}
        </Suspense>
      </Modal.Content>
    </Modal.Root>
  );
}
