import { useTranslation } from 'react-i18next';
import type { CaseFile } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { Section } from '../../ui/page/section.tsx';
import { actionTexts, signInTexts } from '../audit/audit-texts.ts';
import classes from './case.module.css';

/** Actions that the log of everything names the object of: here it is this one. */
const ownActionTexts: Readonly<Record<string, TextKey>> = {
  'channel.create': 'case.audit.channel.create',
  'channel.credential_add': 'case.audit.channel.credential_add',
  'channel.credential_update': 'case.audit.channel.credential_update',
  'channel.credential_remove': 'case.audit.channel.credential_remove',
  'channel.key_view': 'case.audit.channel.key_view',
  'channel.wake': 'case.audit.channel.wake',
  'channel.clear_ceilings': 'case.audit.channel.clear_ceilings',
  'channel.clear_abandoned': 'case.audit.channel.clear_abandoned',
  'channel.test': 'case.audit.channel.test',
  'channel.update': 'case.audit.channel.update',
  'task.links.revoke': 'case.audit.task.links.revoke',
  'task.move_to_front': 'case.audit.task.move_to_front',
  'task.answer': 'case.audit.task.answer',
  'task.cancel': 'case.audit.task.cancel',
  'task.retry': 'case.audit.task.retry',
  'user.create': 'case.audit.user.create',
  'user.disable': 'case.audit.user.disable',
  'user.enable': 'case.audit.user.enable',
  'user.links.revoke': 'case.audit.user.links.revoke',
  'user.passkey.reset': 'case.audit.user.passkey.reset',
  'user.sessions.revoke': 'case.audit.user.sessions.revoke',
  'user.token.revoke': 'case.audit.user.token.revoke',
  'user.two_factor.reset': 'case.audit.user.two_factor.reset',
  'user.unbind': 'case.audit.user.unbind',
  'user.update': 'case.audit.user.update',
};

/** What was done to the object of a case file, and by whom. */
export function Audit({ audit }: { audit: CaseFile['audit'] }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <Section heading={t('nav.audit')}>
      <ul className={`${classes.rows} ${classes.events}`}>
        {audit.map(({ at, username, action }) => {
          const text = ownActionTexts[action] ?? actionTexts[action];
          const signIn = signInTexts[action];
          const name = username || t('case.gateway');
          return (
            <li key={`${at} ${action} ${username}`}>
              <span>{signIn ? t(signIn, { name }) : `${name} ${text === undefined ? action : t(text)}`}</span>
              <span className={classes.note}>{format.exactTime(at)}</span>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}
