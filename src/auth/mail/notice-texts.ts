import type { MailText, Notice, Say } from './types.ts';

/** 2026-11-22 19:55 UTC */
const writeTime = (at: number): string => `${new Date(at * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** What the mail advises if the owner did not do this. */
const adviceFor = ({ by, about }: Notice) => {
  if (by !== 'owner') return 'advice.others';
  return about === 'password_changed' || about === 'password_reset' ? 'advice.password' : 'advice.owner';
};

const ACTORS = { administrator: 'notice.byAdministrator', operator: 'notice.byOperator' } as const;

/** Tells the owner of an account what happened to it. */
export function writeNotice(notice: Notice, say: Say): MailText {
  const { about, by, origin, at, last, username, provider } = notice;
  return {
    subject: say(`${about}.subject`),
    lines: [
      say(about, { provider }),
      say('notice.account', { username }),
      say('notice.when', { time: writeTime(at) }),
      ...(by === 'owner' ? [] : [say(ACTORS[by])]),
      ...(origin ? describeOrigin(origin, say) : []),
    ],
    after: [...(last ? [say('notice.last')] : []), say(adviceFor(notice))],
  };
}

function describeOrigin({ device, ip, untrustedProxy: proxy }: NonNullable<Notice['origin']>, say: Say): string[] {
  return [
    say('notice.device', { device: device || say('notice.unknownDevice') }),
    say('notice.address', { ip: proxy ? say('notice.proxy', { ip, proxy }) : ip }),
  ];
}
