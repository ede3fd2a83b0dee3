import { Button, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { IconSend } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CodeRequest } from '../../ui/code/generate-code.ts';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { JsonView } from '../../ui/display/json-view.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import type { Parameter } from './read-document.ts';
import classes from './try-request.module.css';
import type { Call } from './use-call.ts';
import type { Reader } from './use-reader.ts';
import { useSendPrice } from './use-send-price.ts';

type TryRequestProps = {
  call: Call;
  reader: Reader;
  needsKey: boolean;
  /** It begins something that has a price. */
  isCharged: boolean;
};

/**
 * Sends the request that the page shows, with the key that the reader has entered. What a path
 * needs is asked for at once; the rest can be changed.
 */
export function TryRequest({ call, reader, needsKey, isCharged }: TryRequestProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const price = useSendPrice(isCharged ? call : { ...call, quoted: null }, reader);
  const [isKeyMissing, setKeyMissing] = useState(false);
  const send = useMutation({ mutationFn: sendRequest });
  if (!call.canSend) return null;
  const submit = (): void => {
    setKeyMissing(needsKey);
    if (!needsKey && call.request !== null) send.mutate(call.request);
  };
  const toInput = ({ name, in: place }: Parameter) => (
    <TextInput
      key={`${place} ${name}`}
      label={<code>{name}</code>}
      required={place === 'path'}
      autoComplete="off"
      spellCheck={false}
      value={call.values[name] ?? ''}
      onChange={(event) => call.setValue(name, event.currentTarget.value)}
    />
  );
  const [asked, others] = [true, false].map((isAsked) =>
    call.parameters.filter(({ in: place }) => (place === 'path') === isAsked).map(toInput),
  );
  return (
    <section className={classes.try} aria-label={t('reference.tryIt')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <Stack gap="sm">
          {asked}
          <Group gap="sm">
            <Button
              type="submit"
              variant="default"
              loading={send.isPending}
              leftSection={<IconSend size={17} stroke={1.6} aria-hidden="true" />}
            >
              {isCharged && price !== null && price > 0
                ? t('reference.sendFor', { amount: format.money(price) })
                : t('reference.send')}
            </Button>
            {isCharged && price === null && (
              <Text size="sm" c="dimmed">
                {t('reference.tryCharged')}
              </Text>
            )}
          </Group>
          {(others?.length !== 0 || call.bodyText !== undefined) && (
            <Collapsible label={t('reference.editRequest')}>
              <Stack gap="sm">
                {call.bodyText !== undefined && (
                  <Textarea
                    label={t('reference.body')}
                    classNames={{ input: classes.mono }}
                    rows={Math.min(14, call.bodyText.split('\n').length)}
                    spellCheck={false}
                    value={call.bodyText}
                    onChange={(event) => call.setBodyText(event.currentTarget.value)}
                  />
                )}
                {others}
              </Stack>
            </Collapsible>
          )}
        </Stack>
      </form>
      <div aria-live="polite" className={classes.outcome}>
        {isKeyMissing && needsKey && <Text size="sm">{t('reference.keyNeeded')}</Text>}
        {send.isError && <Text size="sm">{send.error.message}</Text>}
        {send.data !== undefined && <Outcome {...send.data} />}
      </div>
    </section>
  );
}

type SentOutcome = { status: string; ms: number; json?: unknown; text?: string; blob?: Blob };

async function sendRequest({ url, method = 'POST', headers, body, apiKey }: CodeRequest): Promise<SentOutcome> {
  const begun = performance.now();
  // To where the panel is: links may have another address, which other origins do not reach.
  const response = await fetch(new URL(url).pathname + new URL(url).search, {
    method,
    headers: {
      ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    credentials: 'omit',
  });
  const type = response.headers.get('content-type') ?? '';
  const isText = /json|^text\//.test(type);
  const text = isText ? await response.text() : '';
  const said = { status: `${response.status} ${response.statusText}`.trim(), ms: performance.now() - begun };
  if (!isText) return { ...said, blob: await response.blob() };
  if (!type.includes('json')) return { ...said, text };
  return { ...said, json: JSON.parse(text) as unknown };
}

function Outcome({ status, ms, json, text, blob }: SentOutcome) {
  const { t } = useTranslation();
  const format = useFormat();
  const [link, setLink] = useState('');
  useEffect(() => {
    if (blob === undefined || blob.size === 0) return;
    const made = URL.createObjectURL(blob);
    setLink(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return (
    <Stack gap={8}>
      <Text size="sm">
        <strong>{status}</strong> · {format.number(Math.round(ms))} ms
      </Text>
      {json !== undefined && <JsonView value={json} label={t('reference.response', { status })} />}
      {text !== undefined && <pre className={classes.lines}>{text}</pre>}
      {link !== '' && blob !== undefined && (
        <a href={link} download="result">
          {t('reference.save', { size: format.bytes(blob.size) })}
        </a>
      )}
    </Stack>
  );
}
