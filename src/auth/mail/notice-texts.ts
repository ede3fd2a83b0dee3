import type { MailLanguage } from './pick-language.ts';
import type { MailText, Notice, NoticeSubject } from './types.ts';

/** 2026-11-22 19:55 UTC */
const writeTime = (at: number): string => `${new Date(at * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** What the mail advises if the owner did not do this. */
type Advice = 'owner' | 'password' | 'others';

const adviceFor = ({ by, about }: Notice): Advice => {
  if (by !== 'owner') return 'others';
  return about === 'password_changed' || about === 'password_reset' ? 'password' : 'owner';
};

export const NOTICE_TEXTS: Record<MailLanguage, (notice: Notice, system: string) => MailText> = {
  en(notice, system) {
    const { origin, at, by, last } = notice;
    const account = `your account ${notice.username} at ${system}`;
    const [subject, sentence] = ENGLISH[notice.about](account, system, notice.provider);
    const actors = { administrator: 'An administrator did this.', operator: 'It was done at the server itself.' };
    const advice: Record<Advice, string> = {
      owner:
        'If it was not you, choose a new password at once, end your other sessions in the panel and tell the administrator.',
      password: 'If it was not you, ask for a new password by mail at once and tell the administrator.',
      others: 'If you did not expect this, ask the administrator.',
    };
    return {
      subject,
      lines: [
        sentence,
        `When: ${writeTime(at)}`,
        ...(by === 'owner' ? [] : [actors[by]]),
        ...(origin
          ? [
              `Device: ${origin.device || 'not a browser that we know'}`,
              `Address: ${origin.ip}${origin.untrustedProxy ? ` (told by ${origin.untrustedProxy}, which may be wrong)` : ''}`,
            ]
          : []),
      ],
      after: [
        ...(last
          ? ['There were many of these messages: further ones are not sent for an hour. Look at your sessions.']
          : []),
        advice[adviceFor(notice)],
      ],
    };
  },

  zh(notice, system) {
    const { origin, at, by, last } = notice;
    const account = `您在 ${system} 的账号 ${notice.username}`;
    const [subject, sentence] = CHINESE[notice.about](account, system, notice.provider);
    const actors = { administrator: '此操作由管理员执行。', operator: '此操作在服务器上直接执行。' };
    const advice: Record<Advice, string> = {
      owner: '如果不是您本人操作,请立即修改密码,在面板中结束其他会话,并通知管理员。',
      password: '如果不是您本人操作,请立即通过邮件重置密码并通知管理员。',
      others: '如果这不在您的预料之中,请联系管理员。',
    };
    return {
      subject,
      lines: [
        sentence,
        `时间:${writeTime(at)}`,
        ...(by === 'owner' ? [] : [actors[by]]),
        ...(origin
          ? [
              `设备:${origin.device || '未知的客户端'}`,
              `地址:${origin.ip}${origin.untrustedProxy ? `(由 ${origin.untrustedProxy} 提供,可能不准确)` : ''}`,
            ]
          : []),
      ],
      after: [...(last ? ['此类邮件较多:一小时内不再发送。请在面板中查看您的会话。'] : []), advice[adviceFor(notice)]],
    };
  },
};

type Sentences = Record<NoticeSubject, (account: string, system: string, provider: string) => [string, string]>;

const ENGLISH: Sentences = {
  new_device: (account, system) => [`New sign-in at ${system}`, `There was a sign-in to ${account} on a new device.`],
  password_changed: (account, system) => [
    `Your password for ${system} was changed`,
    `The password of ${account} was changed, and its other sessions have ended.`,
  ],
  password_reset: (account, system) => [
    `Your password for ${system} was changed`,
    `The password of ${account} was changed through a link that was sent to this address, and all its sessions have ended.`,
  ],
  two_factor_enabled: (account, system) => [
    `Two-factor sign-in was switched on at ${system}`,
    `Signing in to ${account} asks for a code of an authenticator app from now on.`,
  ],
  two_factor_disabled: (account, system) => [
    `Two-factor sign-in was switched off at ${system}`,
    `Signing in to ${account} no longer asks for a code of an authenticator app.`,
  ],
  backup_codes_replaced: (account, system) => [
    `Your backup codes for ${system} were replaced`,
    `New backup codes were made for ${account}; the former ones are dead.`,
  ],
  passkey_added: (account, system) => [`A passkey was added at ${system}`, `A passkey was added to ${account}.`],
  passkey_removed: (account, system) => [
    `A passkey was removed at ${system}`,
    `One or more passkeys were removed from ${account}.`,
  ],
  identity_bound: (account, system, provider) => [
    `A way to sign in was added at ${system}`,
    `${account.replace(/^y/, 'Y')} can be signed in to with an identity at ${provider} from now on.`,
  ],
  identity_unbound: (account, system, provider) => [
    `A way to sign in was removed at ${system}`,
    `The identity at ${provider} was taken off ${account}.`,
  ],
  address_changed: (account, system) => [
    `Your mail address at ${system} was changed`,
    `There is another mail address for ${account} now. This one no longer belongs to it.`,
  ],
  address_removed: (account, system) => [
    `Your mail address at ${system} was changed`,
    `This address was taken off ${account}.`,
  ],
  personal_token_made: (account, system) => [
    `A personal access token was made at ${system}`,
    `A personal access token was made for ${account}. Anyone who has it can act for the account.`,
  ],
  personal_token_removed: (account, system) => [
    `A personal access token was removed at ${system}`,
    `The personal access token of ${account} was removed.`,
  ],
  factors_removed: (account, system) => [
    `Your password for ${system} was changed`,
    `The password of ${account} was changed. Its second factor, passkeys, access token, identities and this mail address were taken off, and all its sessions have ended.`,
  ],
};

const CHINESE: Sentences = {
  new_device: (account, system) => [`${system} 有新的登录`, `${account} 在新设备上登录。`],
  password_changed: (account, system) => [`您在 ${system} 的密码已更改`, `${account} 的密码已更改,其他会话已结束。`],
  password_reset: (account, system) => [
    `您在 ${system} 的密码已更改`,
    `${account} 的密码已通过发送到此邮箱的链接更改,所有会话已结束。`,
  ],
  two_factor_enabled: (account, system) => [
    `${system} 的两步验证已开启`,
    `从现在起,登录${account} 需要验证器应用的验证码。`,
  ],
  two_factor_disabled: (account, system) => [
    `${system} 的两步验证已关闭`,
    `登录${account} 不再需要验证器应用的验证码。`,
  ],
  backup_codes_replaced: (account, system) => [
    `您在 ${system} 的备用码已更换`,
    `${account} 已生成新的备用码,旧的备用码已失效。`,
  ],
  passkey_added: (account, system) => [`${system} 添加了通行密钥`, `${account} 添加了一个通行密钥。`],
  passkey_removed: (account, system) => [`${system} 移除了通行密钥`, `${account} 移除了一个或多个通行密钥。`],
  identity_bound: (account, system, provider) => [
    `${system} 添加了登录方式`,
    `从现在起,可以使用 ${provider} 的身份登录${account}。`,
  ],
  identity_unbound: (account, system, provider) => [
    `${system} 移除了登录方式`,
    `${account} 已解除与 ${provider} 身份的绑定。`,
  ],
  address_changed: (account, system) => [
    `您在 ${system} 的邮箱地址已更改`,
    `${account} 已改用其他邮箱,此邮箱不再属于该账号。`,
  ],
  address_removed: (account, system) => [`您在 ${system} 的邮箱地址已更改`, `此邮箱已从${account} 中移除。`],
  personal_token_made: (account, system) => [
    `${system} 生成了个人访问令牌`,
    `${account} 生成了一个个人访问令牌。持有它的人可以代表该账号操作。`,
  ],
  personal_token_removed: (account, system) => [`${system} 移除了个人访问令牌`, `${account} 的个人访问令牌已移除。`],
  factors_removed: (account, system) => [
    `您在 ${system} 的密码已更改`,
    `${account} 的密码已更改,两步验证、通行密钥、访问令牌、绑定的身份和此邮箱已移除,所有会话已结束。`,
  ],
};
