import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'react-router';

export type Question = {
  title: string;
  /** What will happen, and what cannot be undone. */
  text: ReactNode;
  /** Label of the confirming button: a verb, never "OK". */
  action: string;
  /** Label of the button that does not; by default "Cancel". */
  cancel?: string;
  /** A text that must be typed first, for great losses. */
  typed?: string;
  /** false if nothing is destroyed. */
  destructive?: boolean;
};

type Confirm = (question: Question) => Promise<boolean>;

const ConfirmContext = createContext<Confirm>(async () => false);

/** Confirms an action that cannot be undone. Resolves to whether to proceed. */
export const useConfirm = (): Confirm => useContext(ConfirmContext);

export function ConfirmProvider({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const [question, setQuestion] = useState<Question | null>(null);
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const settle = useRef<(answer: boolean) => void>(() => {});

  const confirm = useCallback<Confirm>((next) => {
    settle.current(false);
    setTyped('');
    setQuestion(next);
    return new Promise((resolve) => {
      settle.current = resolve;
      // After the event that asks: the same Escape would close the question.
      setTimeout(() => settle.current === resolve && setOpen(true));
    });
  }, []);

  const answer = useCallback((value: boolean): void => {
    setOpen(false);
    settle.current(value);
    settle.current = () => {};
  }, []);
  // Leaving the page cancels the question.
  const { pathname } = useLocation();
  useEffect(() => () => answer(false), [pathname, answer]);
  const isBlocked = question?.typed !== undefined && typed.trim() !== question.typed;

  return (
    <ConfirmContext value={confirm}>
      {children}
      <Modal
        opened={isOpen}
        onClose={() => answer(false)}
        title={question?.title}
        // Stands above the sign-in that covers a page, too: its links ask before they leave the
        // page.
        zIndex={1100}
        closeButtonProps={{ 'aria-label': t('app.close') }}
      >
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (!isBlocked) answer(true);
          }}
        >
          <Stack gap="lg">
            <Text size="sm" component="div" lh={1.6}>
              {question?.text}
            </Text>
            {question?.typed !== undefined && (
              <TextInput
                label={<TypeLabel text={question.typed} />}
                value={typed}
                onChange={(event) => setTyped(event.currentTarget.value)}
                spellCheck={false}
                autoCapitalize="none"
                autoComplete="off"
                data-autofocus
              />
            )}
            <Group justify="flex-end" gap="sm">
              <Button
                variant="default"
                onClick={() => answer(false)}
                data-autofocus={question?.typed === undefined || undefined}
              >
                {question?.cancel ?? t('app.cancel')}
              </Button>
              <Button type="submit" color={question?.destructive === false ? undefined : 'red'} disabled={isBlocked}>
                {question?.action}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </ConfirmContext>
  );
}

/** What to type stands out of the sentence around it. */
function TypeLabel({ text }: { text: string }) {
  const { t } = useTranslation();
  const [before, after] = t('confirm.type', { text: '\n' }).split('\n');
  return (
    <>
      {before}
      <b>{text}</b>
      {after}
    </>
  );
}
