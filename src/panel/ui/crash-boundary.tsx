import { Component, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { FullPageMessage } from './full-page.tsx';

/** Catches what a page throws while it renders, a chunk that cannot be loaded included. */
export class CrashBoundary extends Component<{ children: ReactNode }, { crashed: boolean }> {
  override state = { crashed: false };

  static getDerivedStateFromError(): { crashed: boolean } {
    return { crashed: true };
  }

  override render(): ReactNode {
    return this.state.crashed ? <CrashPage /> : this.props.children;
  }
}

function CrashPage() {
  const { t } = useTranslation();
  return (
    <FullPageMessage
      heading={t('error.crashed')}
      text={t('error.crashedText')}
      action={t('error.reload')}
      onAction={() => window.location.reload()}
    />
  );
}
