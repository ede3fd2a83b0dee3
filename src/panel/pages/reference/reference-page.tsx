import { Anchor, CloseButton, Kbd, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { Page } from '../../ui/page/page.tsx';
import { PublicFrame } from '../../ui/page/public-frame.tsx';
import { type ApiDocument, type Reference, readDocument } from './read-document.ts';
import classes from './reference.module.css';
import { ReferenceContents } from './reference-contents.tsx';
import { type Reader, useReader } from './use-reader.ts';

/** `/reference` without a session. */
export function PublicReferencePage() {
  const { t } = useTranslation();
  return (
    <PublicFrame
      actions={
        <Anchor component={Link} to="/sign-in" size="sm">
          {t('signIn.title')}
        </Anchor>
      }
    >
      <ReferencePage />
    </PublicFrame>
  );
}

/** `/reference`: the API as the gateway itself describes it, with the reader's key and models. */
export function ReferencePage() {
  const { t } = useTranslation();
  const document = useQuery({ queryKey: ['openapi'], queryFn: readOpenApi, staleTime: Number.POSITIVE_INFINITY });
  const reader = useReader();
  const [search, setSearch] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useSearchKey(field);
  const clear = (): void => {
    setSearch('');
    // The button goes with the text.
    field.current?.focus();
  };
  const isPhone = useMediaQuery('(max-width: 639px)');
  const fields = (
    <>
      <KeyInput reader={reader} />
      <Select
        label={t('reference.model')}
        data={[...reader.models]}
        value={reader.model === '' ? null : reader.model}
        placeholder={t('reference.noModel')}
        disabled={reader.models.length === 0}
        searchable
        allowDeselect={false}
        onChange={(model) => model !== null && reader.setModel(model)}
      />
    </>
  );
  return (
    <Page
      heading={t('nav.reference')}
      intro={t('reference.intro', { address: `${reader.origin}/v1` })}
      mark={
        document.data && (
          <Text size="sm" c="dimmed">
            {document.data.version} ·{' '}
            <Anchor href="/api/openapi.json" inherit>
              OpenAPI
            </Anchor>
          </Text>
        )
      }
    >
      <div className={classes.tools}>
        <TextInput
          ref={field}
          type="search"
          label={t('app.search')}
          placeholder={t('reference.search')}
          leftSection={<IconSearch size={17} stroke={1.6} aria-hidden="true" />}
          rightSection={
            search === '' ? (
              <Kbd aria-hidden="true" visibleFrom="sm">
                /
              </Kbd>
            ) : (
              <CloseButton aria-label={t('keys.clear')} onClick={clear} />
            )
          }
          autoComplete="off"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        {isPhone ? (
          <Collapsible label={t('reference.customize')}>
            <Stack gap="md">{fields}</Stack>
          </Collapsible>
        ) : (
          fields
        )}
      </div>
      <QueryResult query={document}>
        {(reference) => <ReferenceContents reference={reference} reader={reader} search={search.trim()} />}
      </QueryResult>
    </Page>
  );
}

async function readOpenApi(): Promise<Reference> {
  const response = await fetch('/api/openapi.json');
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return readDocument((await response.json()) as ApiDocument);
}

/** `/` goes to the search from anywhere on the page but another field. */
function useSearchKey(field: { current: HTMLInputElement | null }): void {
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const { target } = event;
      const isTyping = target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]');
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, [field]);
}

function KeyInput({ reader }: { reader: Reader }) {
  const { t } = useTranslation();
  const isSignedIn = useSessionSnapshot().phase === 'signed_in';
  return (
    <PasswordInput
      label={t('reference.key')}
      description={
        <>
          {t('reference.keyHint')}{' '}
          {isSignedIn && (
            <Anchor component={Link} to="/keys/new" inherit underline="always">
              {t('reference.createKey')}
            </Anchor>
          )}
        </>
      }
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      placeholder="sk-…"
      autoComplete="off"
      spellCheck={false}
      value={reader.typedKey}
      error={reader.isKeyRefused && t('reference.keyRefused')}
      onChange={(event) => reader.setKey(event.currentTarget.value.trim())}
    />
  );
}
