import { Anchor, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Trans, useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { GatewayStatus } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';

type Legal = Pick<GatewayStatus, 'user_agreement_enabled' | 'privacy_policy_enabled'>;

export const hasLegalTexts = (status: Legal): boolean => status.user_agreement_enabled || status.privacy_policy_enabled;

const texts = {
  line: { both: 'legal.line.both', agreement: 'legal.line.agreement', policy: 'legal.line.policy' },
  consent: { both: 'legal.consent.both', agreement: 'legal.consent.agreement', policy: 'legal.consent.policy' },
} as const satisfies Record<string, Record<string, TextKey>>;

/** It opens in a new tab, so that nothing typed is lost. */
const LegalLink = ({ to, children }: { to: string; children?: ReactNode }) => (
  <Anchor component={Link} to={to} target="_blank" inherit underline="always">
    {children}
  </Anchor>
);

/** A sentence with links to the gateway's legal texts. */
export function LegalText({ status, sentence }: { status: Legal; sentence: keyof typeof texts }) {
  const both = status.user_agreement_enabled && status.privacy_policy_enabled;
  const { [both ? 'both' : status.user_agreement_enabled ? 'agreement' : 'policy']: key } = texts[sentence];
  const components = { agreement: <LegalLink to="/user-agreement" />, policy: <LegalLink to="/privacy-policy" /> };
  return <Trans i18nKey={key} components={components} />;
}

/**
 * The legal texts below a sign-in. A provider may create an account there, so the line says what is
 * accepted by that; renders nothing when the gateway has no legal texts.
 */
export function LegalLine({ status }: { status: Legal & Pick<GatewayStatus, 'register_enabled'> }) {
  const { t } = useTranslation();
  if (!hasLegalTexts(status)) return null;
  return (
    <Text size="xs" c="dimmed" lh={1.55} component="div">
      {status.register_enabled ? (
        <LegalText status={status} sentence="line" />
      ) : (
        <Group gap={16}>
          {status.user_agreement_enabled && <LegalLink to="/user-agreement">{t('legal.agreement')}</LegalLink>}
          {status.privacy_policy_enabled && <LegalLink to="/privacy-policy">{t('legal.policy')}</LegalLink>}
        </Group>
      )}
    </Text>
  );
}
