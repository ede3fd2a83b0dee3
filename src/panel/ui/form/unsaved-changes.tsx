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
import { useTypedWork } from '../../session/typed-work.ts';
import { useConfirm } from './confirm-dialog.tsx';

/** Whether something typed would be lost. */
type IsUnsaved = () => boolean;

type FormState = {
  isUnsaved: IsUnsaved;
  /** The same if what is being saved fails. */
  isTyped: IsUnsaved;
};

type UnsavedChanges = {
  /** Returns how to remove the form again. */
  add(form: FormState): () => void;
};

const UnsavedContext = createContext<UnsavedChanges | null>(null);

/** Tells the page, and a dialog around the form, of what a form would lose. */
export function useUnsavedChanges(isUnsaved: IsUnsaved, isTyped: IsUnsaved = isUnsaved): void {
  const owner = useContext(UnsavedContext);
  const readUnsaved = useEffectEvent(isUnsaved);
  // The guard of the session asks while it renders, which an effect event forbids.
  const typed = useRef(isTyped);
  useLayoutEffect(() => {
    typed.current = isTyped;
  });
  useEffect(() => owner?.add({ isUnsaved: () => readUnsaved(), isTyped: () => typed.current() }), [owner]);
}

/** The forms below, of which each may have unsaved changes. */
function useForms(): FormState & { context: UnsavedChanges } {
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
  return { context, isUnsaved, isTyped };
}

function useConfirmLoss(): () => Promise<boolean> {
  const { t } = useTranslation();
  const confirm = useConfirm();
  return () =>
    confirm({ title: t('settings.leaveTitle'), text: t('settings.leaveText'), action: t('settings.leaveAction') });
}

/** Asks before a page with unsaved changes is left, by a link or by closing the tab. */
export function UnsavedChangesOfPage({ children }: { children: ReactNode }) {
  const { context, isUnsaved, isTyped } = useForms();
  useTypedWork(isTyped);
  const confirmLoss = useConfirmLoss();
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
  const { context, isUnsaved, isTyped } = useForms();
  const confirmLoss = useConfirmLoss();
  useUnsavedChanges(isUnsaved, isTyped);
  const close = async (): Promise<void> => {
    if (!isUnsaved() || (await confirmLoss())) onClose();
  };
  const provide = (children: ReactNode) => <UnsavedContext value={context}>{children}</UnsavedContext>;
  return { close, provide };
}
