import { Button, Group, Modal } from '@mantine/core';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useUnsavedChangesOfDialog } from './unsaved-changes.tsx';

const DialogContext = createContext({ close: () => {}, setPending: (_isPending: boolean) => {} });

type FormDialogProps = {
  isOpen: boolean;
  onClose(): void;
  title: string;
  size: 'md' | 'lg' | 'xl';
  /** A form that ends with `FormDialogButtons`. */
  children: ReactNode;
};

/**
 * A dialog with a form. It cannot be closed while the request runs: closing would not stop the
 * request, and the answer would close whichever dialog is open by then. What was typed is lost by
 * its cancel button only, or after a question.
 */
export function FormDialog({ isOpen, onClose, title, size, children }: FormDialogProps) {
  const { t } = useTranslation();
  const [isPending, setPending] = useState(false);
  const close = (): void => {
    if (!isPending) onClose();
  };
  const unsaved = useUnsavedChangesOfDialog(close);
  return (
    <Modal
      opened={isOpen}
      onClose={() => void unsaved.close()}
      size={size}
      title={title}
      closeButtonProps={{ 'aria-label': t('app.close'), disabled: isPending }}
    >
      <DialogContext value={{ close, setPending }}>{unsaved.provide(children)}</DialogContext>
    </Modal>
  );
}

/** The padding of a dialog's body. */
const PADDING = 'var(--mb-padding, var(--mantine-spacing-md))';
/** While the form scrolls, on a phone too. The line says that it goes on below. */
const stickyFooter = {
  position: 'sticky',
  zIndex: 1,
  bottom: 0,
  margin: `0 calc(-1 * ${PADDING}) calc(-1 * ${PADDING})`,
  padding: `12px ${PADDING} ${PADDING}`,
  borderTop: '1px solid var(--tg-line)',
  background: 'var(--mantine-color-body)',
} as const;

type FormDialogButtonsProps = {
  action: string;
  isPending: boolean;
  /** What the form needs first is missing. */
  isDisabled?: boolean;
};

/** The cancel and submit buttons of a `FormDialog`. */
export function FormDialogButtons({ action, isPending, isDisabled = false }: FormDialogButtonsProps) {
  const { t } = useTranslation();
  const { close, setPending } = useContext(DialogContext);
  useEffect(() => {
    setPending(isPending);
    return () => setPending(false);
  }, [isPending, setPending]);
  return (
    <Group justify="flex-end" gap="sm" style={stickyFooter}>
      <Button variant="default" disabled={isPending} onClick={close}>
        {t('app.cancel')}
      </Button>
      <Button type="submit" loading={isPending} disabled={isDisabled}>
        {action}
      </Button>
    </Group>
  );
}

/** Whether a dialog or an open panel has the keys, such as the palette. */
export const isDialogOpen = (): boolean => document.querySelector('[role="dialog"]') !== null;
