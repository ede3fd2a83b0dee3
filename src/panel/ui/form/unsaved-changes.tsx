import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
} from 'react';
import { useTranslation } from 'react-i18next';
import { useBlocker } from 'react-router';
import { useUnsavedInput } from '../../session/unsaved-input.ts';
import { useConfirm } from './confirm-dialog.tsx';

/** Whether something typed would be lost. */
type IsUnsaved = () => boolean;

type FormState = {
  isUnsaved: IsUnsaved;
  /** Whether it would be lost if saving fails. */
  isTyped: IsUnsaved;
  /** How to ask, if not about changes. */
  question?: () => Question | undefined;
};

type Question = { title: string; text: string; action: string; cancel?: string };

type UnsavedChanges = {
  /** Returns how to remove the form again. */
  add(form: FormState): () => void;
};

const UnsavedContext = createContext<UnsavedChanges | null>(null);

/** Tells the page, and a dialog around the form, of what a form would lose. */
export function useUnsavedChanges(isUnsaved: IsUnsaved, isTyped: IsUnsaved = isUnsaved, question?: Question): void {
  const owner = useContext(UnsavedContext);
  const readUnsaved = useEffectEvent(isUnsaved);
  const readQuestion = useEffectEvent(() => question);
  // The guard of the session asks while it renders, which an effect event forbids.
  const typed = useRef(isTyped);
  useLayoutEffect(() => {
    typed.current = isTyped;
  });
  useEffect(
    () =>
      owner?.add({ isUnsaved: () => readUnsaved(), isTyped: () => typed.current(), question: () => readQuestion() }),
    [owner],
  );
}

/** The forms below, of which each may have unsaved changes. */
function useForms(): Required<FormState> & { context: UnsavedChanges } {
  const forms = useRef(new Set<FormState>());
  const context = useMemo<UnsavedChanges>(
    () => ({
      add: (form) => {
        forms.current.add(form);
        return () => forms.current.delete(form);
      },
    }),
    [],
  );
  const isUnsaved = useCallback((): boolean => [...forms.current].some((form) => form.isUnsaved()), []);
  const isTyped = useCallback((): boolean => [...forms.current].some((form) => form.isTyped()), []);
  const question = (): Question | undefined => [...forms.current].find((form) => form.isUnsaved())?.question?.();
  return { context, isUnsaved, isTyped, question };
}

function useConfirmLoss(question: () => Question | undefined): () => Promise<boolean> {
  const { t } = useTranslation();
  const confirm = useConfirm();
  return () =>
    confirm(
      question() ?? {
        title: t('confirm.leaveTitle'),
        text: t('confirm.leaveText'),
        action: t('confirm.leaveAction'),
        cancel: t('confirm.leaveCancel'),
      },
    );
}

/** Asks before a page with unsaved changes is left, by a link or by closing the tab. */
export function UnsavedChangesOfPage({ children }: { children: ReactNode }) {
  const { context, isUnsaved, isTyped, question } = useForms();
  useUnsavedInput(isTyped);
  const confirmLoss = useConfirmLoss(question);
  const blocker = useBlocker(
    ({ currentLocation: from, nextLocation: to }) =>
      (from.pathname !== to.pathname || from.search !== to.search) && isUnsaved(),
  );
  const ask = useEffectEvent(async (): Promise<void> => {
    const mayLeave = await confirmLoss();
    if (blocker.state !== 'blocked') return;
    if (mayLeave) blocker.proceed();
    else blocker.reset();
  });
  useEffect(() => {
    if (blocker.state === 'blocked') void ask();
  }, [blocker.state]);
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent): void => {
      if (isUnsaved()) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, [isUnsaved]);
  return <UnsavedContext value={context}>{children}</UnsavedContext>;
}

/** For a dialog: its forms count for the page too, and `close` asks before they are lost. */
export function useUnsavedChangesOfDialog(onClose: () => void) {
  const { context, isUnsaved, isTyped, question } = useForms();
  const confirmLoss = useConfirmLoss(question);
  useUnsavedChanges(isUnsaved, isTyped);
  const close = async (): Promise<void> => {
    if (!isUnsaved() || (await confirmLoss())) onClose();
  };
  const provide = (children: ReactNode) => <UnsavedContext value={context}>{children}</UnsavedContext>;
  return { close, provide };
}
