import { Button, Group, Radio, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import type { ApiKey, RotatedKey } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { ResourceNotFound } from '../../ui/display/empty-state.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { BackLink } from '../../ui/page/links.tsx';
import { Page } from '../../ui/page/page.tsx';
import { KeyShownOnce } from './key-shown-once.tsx';

/** How long the old key may still work, in seconds. */
const periods: readonly (readonly [seconds: number, label: TextKey])[] = [
  [0, 'keys.rotate.now'],
  [3600, 'keys.rotate.hour'],
  [86_400, 'keys.rotate.day'],
  [7 * 86_400, 'keys.rotate.week'],
];

/** Replaces a key, then shows the new one once, with a first request. */
export function RotateKeyPage() {
  const { t } = useTranslation();
  const { id = '' } = useParams();
  const [rotated, setRotated] = useState<RotatedKey | null>(null);
  const query = useApiQuery<ApiKey>(`/api/token/${encodeURIComponent(id)}`, { keepPrevious: false });
  if (rotated !== null) return <NewKey rotated={rotated} />;
  const name = query.data?.name;
  return (
    <Page
      heading={name === undefined ? t('keys.rotate') : t('keys.rotate.heading', { name })}
      intro={t('keys.rotate.intro')}
      back={<BackLink to="/keys">{t('nav.keys')}</BackLink>}
      narrow
    >
      <QueryResult
        query={query}
        notFound={
          <ResourceNotFound
            heading={t('keys.missing')}
            text={t('keys.missingText')}
            list={{ to: '/keys', name: 'keys.all' }}
          />
        }
      >
        {(apiKey) => <RotateForm apiKey={apiKey} onRotated={setRotated} onLost={() => void query.refetch()} />}
      </QueryResult>
    </Page>
  );
}

type RotateFormProps = { apiKey: ApiKey; onRotated(rotated: RotatedKey): void; onLost(): void };

function RotateForm({ apiKey, onRotated, onLost }: RotateFormProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const [seconds, setSeconds] = useState('86400');
  const [keep, setKeep] = useState('present');
  const { former_key: former, prefix } = apiKey;
  const rotate = useApiMutation<number, RotatedKey>({
    request: (keep_seconds) => ({
      method: 'POST',
      path: `/api/token/${apiKey.id}/rotate`,
      body: { keep_seconds, prefix, ...(former === null ? {} : { keep }) },
    }),
    invalidates: ['/api/token'],
    // The key is shown only once, so it is taken before anything is refetched.
    onResponse: onRotated,
    // The answer may be lost and the key rotated: then there are two to choose from.
    onError: onLost,
  });
  const kept = former !== null && keep === 'former' ? former.prefix : prefix;
  return (
    <Stack gap={28}>
      {rotate.isError && <ErrorNotice error={rotate.error} />}
      {former !== null && (
        <Radio.Group label={t('keys.rotate.which')} value={keep} onChange={setKeep}>
          <Stack gap="sm" mt="sm">
            <Radio value="present" label={t('keys.rotate.latest', { prefix })} />
            <Radio value="former" label={t('keys.rotate.former', { prefix: former.prefix })} />
          </Stack>
        </Radio.Group>
      )}
      <Radio.Group
        label={t('keys.rotate.keep', { prefix: kept })}
        {...(former === null
          ? {}
          : {
              description:
                keep === 'former'
                  ? t('keys.rotate.latestEnds', { prefix })
                  : t('keys.rotate.formerEnds', { prefix: former.prefix, time: format.time(former.until) }),
            })}
        value={seconds}
        onChange={setSeconds}
      >
        <Stack gap="sm" mt="sm">
          {periods.map(([value, label]) => (
            <Radio key={value} value={String(value)} label={t(label)} />
          ))}
        </Stack>
      </Radio.Group>
      <Group>
        <Button loading={rotate.isPending} onClick={() => rotate.mutate(Number(seconds))}>
          {t('keys.rotate')}
        </Button>
        <Button component={Link} to={`/keys/${apiKey.id}`} variant="default">
          {t('app.cancel')}
        </Button>
      </Group>
    </Stack>
  );
}

function NewKey({ rotated }: { rotated: RotatedKey }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { former_key: former } = rotated;
  const note =
    former === null
      ? t('keys.rotate.ended')
      : t('keys.rotate.until', { prefix: former.prefix, time: format.time(former.until) });
  const heading = t('keys.rotate.done', { name: rotated.name });
  return (
    <KeyShownOnce
      heading={heading}
      once={t('keys.rotate.made')}
      test={t('keys.rotate.test')}
      apiKey={rotated.key}
      models={rotated.models}
      keyId={rotated.id}
      note={note}
    />
  );
}
