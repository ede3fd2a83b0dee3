import { Component, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { FullPageMessage } from './full-page.tsx';

/**
 * Catches errors thrown while rendering, including chunks that fail to load. `within`: inside the
 * app frame.
 */
export class ErrorBoundary extends Component<{ children: ReactNode; within?: boolean }, { crashed: boolean }> {
  override state = { crashed: false };

  static getDerivedStateFromError(): { crashed: boolean } {
    return { crashed: true };
  }

  override render(): ReactNode {
    return this.state.crashed ? <ErrorPage within={this.props.within ?? false} /> : this.props.children;
  }
}

function ErrorPage({ within }: { within: boolean }) {
  const { t } = useTranslation();
  return (
    <FullPageMessage
      within={within}
      bare
      heading={t('error.crashed')}
      text={t('error.crashedText')}
      action={t('error.reload')}
      onAction={() => window.location.reload()}
    />
  );
}
