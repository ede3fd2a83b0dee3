import { Anchor, Text } from '@mantine/core';
import { Trans } from 'react-i18next';
import { Link } from 'react-router';
import type { GatewayStatus } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';

type Legal = Pick<GatewayStatus, 'user_agreement_enabled' | 'privacy_policy_enabled'>;

export const hasLegalTexts = (status: Legal): boolean => status.user_agreement_enabled || status.privacy_policy_enabled;

const texts = {
  line: { both: 'legal.line.both', agreement: 'legal.line.agreement', policy: 'legal.line.policy' },
  consent: { both: 'legal.consent.both', agreement: 'legal.consent.agreement', policy: 'legal.consent.policy' },
} as const satisfies Record<string, Record<string, TextKey>>;

/**
 * A sentence with links to the gateway's legal texts. They open in a new tab, so that nothing typed
 * is lost.
 */
export function LegalText({ status, sentence }: { status: Legal; sentence: keyof typeof texts }) {
  const both = status.user_agreement_enabled && status.privacy_policy_enabled;
  const { [both ? 'both' : status.user_agreement_enabled ? 'agreement' : 'policy']: key } = texts[sentence];
  const link = (to: string) => <Anchor component={Link} to={to} target="_blank" inherit underline="always" />;
  return <Trans i18nKey={key} components={{ agreement: link('/user-agreement'), policy: link('/privacy-policy') }} />;
}

/** What people agree to by signing in; renders nothing when the gateway has no legal texts. */
export function LegalLine({ status }: { status: Legal }) {
  if (!hasLegalTexts(status)) return null;
  return (
    <Text size="xs" c="dimmed" lh={1.55}>
      <LegalText status={status} sentence="line" />
    </Text>
  );
}
