import { Button, Center, Code, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { Component, type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { roles, useRole } from '../../session/roles.ts';
import { copyText } from '../display/copy-field.tsx';
import { useFormat } from '../display/use-format.ts';
import { BrandMark } from './brand-mark.tsx';
import classes from './full-page.module.css';
import { Page } from './page.tsx';

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
};

/** A page that cannot be shown: the reason, and one action that may help. */
export function FullPageMessage({ heading, text, action, onAction }: FullPageMessageProps) {
  return (
    <Center component="main" mih="100dvh" p="lg" pos="relative">
      <div className={classes.brand}>
        <BrandMark />
      </div>
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
export class ErrorBoundary extends Component<
  { children: ReactNode; within?: boolean },
  { error: unknown; hasError: boolean }
> {
  override state = { error: undefined, hasError: false };

  static getDerivedStateFromError(error: unknown): { error: unknown; hasError: boolean } {
    return { error, hasError: true };
  }

  override render(): ReactNode {
    const { error, hasError } = this.state;
    return hasError ? <ErrorPage error={error} within={this.props.within ?? false} /> : this.props.children;
  }
}

/** Outside of the app frame nothing can be asked of the gateway, not even its name. */
function ErrorPage({ error, within }: { error: unknown; within: boolean }) {
  const { t } = useTranslation();
  const [outcome, setOutcome] = useState<'app.copied' | 'app.copyFailed' | null>(null);
  const details = [location.href, navigator.userAgent, (error instanceof Error && error.stack) || String(error)];
  const copy = async (): Promise<void> =>
    setOutcome((await copyText(details.join('\n'))) ? 'app.copied' : 'app.copyFailed');
  const actions = (
    <Stack gap="sm">
      <Group gap="sm">
        <Button onClick={() => window.location.reload()}>{t('error.reload')}</Button>
        <Button variant="default" onClick={() => void copy()}>
          {t('error.copyDetails')}
        </Button>
        <Button variant="default" component="a" href="/">
          {t('missing.home')}
        </Button>
      </Group>
      <Text size="sm" role="status">
        {outcome !== null && t(outcome)}
      </Text>
      {outcome === 'app.copyFailed' && <Code block>{details.join('\n')}</Code>}
    </Stack>
  );
  if (within) return <ErrorInFrame actions={actions} />;
  return (
    <Center component="main" mih="100dvh" p="lg">
      <Stack maw={480} gap="sm">
        <Title order={1} fz={26}>
          {t('error.crashed')}
        </Title>
        <Text c="dimmed">{t('error.crashedText')}</Text>
        {actions}
      </Stack>
    </Center>
  );
}

/** Names the page and the time, so that a screenshot says enough for a report. */
function ErrorInFrame({ actions }: { actions: ReactNode }) {
  const { t } = useTranslation();
  const format = useFormat();
  const isAdmin = useRole() >= roles.admin;
  const [at] = useState(() => Math.floor(Date.now() / 1000));
  return (
    <Page heading={t('error.crashed')} intro={t(isAdmin ? 'error.crashedReport' : 'error.crashedText')} narrow>
      {actions}
      <Text size="sm" c="dimmed" ff="monospace">
        {location.pathname} · {format.time(at)}
      </Text>
    </Page>
  );
}
