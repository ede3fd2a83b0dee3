import { Button, Center, Loader, Stack, Text, Title } from '@mantine/core';
import { Component, type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { BrandMark } from './brand-mark.tsx';
import classes from './full-page.module.css';

/**
 * Shown while a page loads, in the whole window or `within` the app frame. There it appears after a
 * short delay, so that quick answers do not flicker; a whole window is never empty.
 */
export function FullPageLoader({ within = false }: { within?: boolean }) {
  const { t } = useTranslation();
  const [visible, setVisible] = useState(!within);
  useEffect(() => {
    const timer = setTimeout(() => setVisible(true), 250);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Center mih={within ? '50dvh' : '100dvh'} role="status" aria-label={t('app.loading')}>
      {visible && <Loader size={28} aria-hidden="true" />}
    </Center>
  );
}

type FullPageMessageProps = {
  heading: string;
  text: string;
  action: string;
  onAction(): void;
  /** Inside the app frame, which has the main landmark. */
  within?: boolean;
  /** Without the gateway's name: nothing can be asked of it. */
  bare?: boolean;
};

/** A page that cannot be shown: the reason, and one action that may help. */
export function FullPageMessage({
  heading,
  text,
  action,
  onAction,
  within = false,
  bare = within,
}: FullPageMessageProps) {
  return (
    <Center component={within ? 'div' : 'main'} mih={within ? '60dvh' : '100dvh'} p="lg" pos="relative">
      {!bare && (
        <div className={classes.brand}>
          <BrandMark />
        </div>
      )}
      <Stack maw={420} gap="sm" align="flex-start">
        <Title order={1} fz={26}>
          {heading}
        </Title>
        <Text c="dimmed">{text}</Text>
        <Button mt="sm" onClick={onAction}>
          {action}
        </Button>
      </Stack>
    </Center>
  );
}

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
