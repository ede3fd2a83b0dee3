import { Alert, Button, Code, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { MarketplacePlugin, MarketplaceSource } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { useMutationWithProof } from '../../ui/security-proof/security-proof.tsx';
import classes from './marketplace.module.css';

const states: Record<MarketplacePlugin['state'], { text: TextKey; tone: Tone }> = {
  not_installed: { text: 'market.state.not_installed', tone: 'quiet' },
  up_to_date: { text: 'market.state.up_to_date', tone: 'good' },
  upgradable: { text: 'market.state.upgradable', tone: 'waiting' },
  diverged: { text: 'market.state.diverged', tone: 'bad' },
};

export function MarketState({ state, version }: { state: MarketplacePlugin['state']; version: string }) {
  const { t } = useTranslation();
  return (
    <StatusLabel tone={states[state].tone}>
      {t(states[state].text as 'market.state.upgradable', { version })}
    </StatusLabel>
  );
}

type Trust = NonNullable<MarketplaceSource['trust']>;
type Key = NonNullable<Trust['key']>;

const reasons: Record<NonNullable<Trust['reason']>, { title: TextKey; text: TextKey }> = {
  key_changed: { title: 'market.trust.key_changed', text: 'market.trust.key_changed.text' },
  signature_missing: { title: 'market.trust.signature_missing', text: 'market.trust.signature_missing.text' },
  tampered: { title: 'market.trust.tampered', text: 'market.trust.tampered.text' },
  rolled_back: { title: 'market.trust.rolled_back', text: 'market.trust.rolled_back.text' },
  undated: { title: 'market.trust.undated', text: 'market.trust.undated.text' },
};

/** Whether a source is signed, and with which key. */
export function TrustLabel({ trust }: { trust: MarketplaceSource['trust'] }) {
  const { t } = useTranslation();
  if (trust === null) return null;
  if (trust.state === 'unsigned') return <StatusLabel tone="waiting">{t('market.trust.unsigned')}</StatusLabel>;
  if (trust.state === 'refused') return <StatusLabel tone="bad">{t('market.trust.refused')}</StatusLabel>;
  return <StatusLabel tone="good">{t('market.trust.signed', { key: trust.key?.id ?? '' })}</StatusLabel>;
}

/** What an administrator must know of a signed source: it is refused, or past its end. */
export function TrustNotice({ source, trust }: { source: string; trust: MarketplaceSource['trust'] }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (trust?.expired && trust.expires_at !== null) {
    return (
      <Alert color="yellow" variant="light" title={t('market.trust.expired')} mb="md">
        <Text size="sm">{t('market.trust.expired.text', { date: format.date(trust.expires_at) })}</Text>
      </Alert>
    );
  }
  return trust?.state === 'refused' && trust.reason !== null ? (
    <Refusal source={source} trust={trust} reason={trust.reason} />
  ) : null;
}

function Refusal({ source, trust, reason }: { source: string; trust: Trust; reason: NonNullable<Trust['reason']> }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const { key: known, seen_key: seen } = trust;
  const accept = useMutationWithProof<{ public_key: string | null }>({
    scope: 'settings.security',
    request: ({ public_key }) => ({
      method: 'POST',
      path: '/api/plugin/task/marketplace/key',
      body: { source, known_key: known?.public_key ?? null, public_key },
    }),
    invalidates: ['/api/plugin/task/marketplace', '/api/option'],
    onSuccess: () => notifySuccess(t('app.saved')),
  });
  const isUnsigned = reason === 'signature_missing';
  const canAccept = isUnsigned || (reason === 'key_changed' && seen !== null && seen.public_key !== null);
  const action = t(isUnsigned ? 'market.trust.acceptUnsigned' : 'market.trust.acceptKey');
  const ask = async (): Promise<void> => {
    const text = t(isUnsigned ? 'market.trust.acceptUnsigned.text' : 'market.trust.acceptKey.text', {
      source,
      key: seen?.id ?? '',
    });
    if (await confirm({ title: action, text, action })) accept.mutate({ public_key: seen?.public_key ?? null });
  };
  return (
    <Alert color="red" variant="light" role="alert" title={t(reasons[reason].title)} mb="md">
      <Stack gap="sm">
        <Text size="sm">
          {t(reasons[reason].text)} {reason === 'key_changed' && !canAccept && t('market.trust.enterKey')}
        </Text>
        {accept.isError && <ErrorNotice error={accept.error} />}
        <dl className={classes.keys}>
          <dt>{t('market.trust.known')}</dt>
          <dd>
            <KeyName value={known} />
          </dd>
          <dt>{t('market.trust.seen')}</dt>
          <dd>
            <KeyName value={seen} />
          </dd>
        </dl>
        {canAccept && (
          <div>
            <Button size="xs" color="red" variant="outline" loading={accept.isPending} onClick={() => void ask()}>
              {action}
            </Button>
          </div>
        )}
      </Stack>
    </Alert>
  );
}

function KeyName({ value }: { value: Key | null }) {
  const { t } = useTranslation();
  if (value === null) return <>{t('market.trust.none')}</>;
  return (
    <>
      {value.id} {value.public_key !== null && <Code className={classes.key}>{value.public_key}</Code>}
    </>
  );
}
