import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
} from 'react';
import { useTranslation } from 'react-i18next';
import { useBlocker } from 'react-router';
import { useConfirm } from './confirm-dialog.tsx';

/** Whether something typed would be lost. */
type IsUnsaved = () => boolean;

type UnsavedChanges = {
  /** Returns how to remove the form again. */
  add(isUnsaved: IsUnsaved): () => void;
};

const UnsavedContext = createContext<UnsavedChanges | null>(null);

/** Tells the page, and a dialog around the form, of what a form would lose. */
export function useUnsavedChanges(isUnsaved: IsUnsaved): void {
  const owner = useContext(UnsavedContext);
  const read = useEffectEvent(isUnsaved);
  useEffect(() => owner?.add(() => read()), [owner]);
}

/** The forms below, of which each may have unsaved changes. */
function useForms(): { context: UnsavedChanges; isUnsaved: IsUnsaved } {
  const forms = useRef(new Set<IsUnsaved>());
  const context = useMemo<UnsavedChanges>(
    () => ({
      add: (form) => {
        forms.current.add(form);
        return () => forms.current.delete(form);
      },
    }),
    [],
  );
  const isUnsaved = useCallback((): boolean => [...forms.current].some((form) => form()), []);
  return { context, isUnsaved };
}

function useConfirmLoss(): () => Promise<boolean> {
  const { t } = useTranslation();
  const confirm = useConfirm();
  return () =>
    confirm({ title: t('settings.leaveTitle'), text: t('settings.leaveText'), action: t('settings.leaveAction') });
}

/** Asks before a page with unsaved changes is left, by a link or by closing the tab. */
export function UnsavedChangesOfPage({ children }: { children: ReactNode }) {
  const { context, isUnsaved } = useForms();
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
  const { context, isUnsaved } = useForms();
  const confirmLoss = useConfirmLoss();
  useUnsavedChanges(isUnsaved);
  const close = async (): Promise<void> => {
    if (!isUnsaved() || (await confirmLoss())) onClose();
  };
  const provide = (children: ReactNode) => <UnsavedContext value={context}>{children}</UnsavedContext>;
  return { close, provide };
}
