import { NOTICE_TEXTS } from './notice-texts.ts';
import type { MailLanguage } from './pick-language.ts';
import type { MailContent, MailText } from './types.ts';

/** Codes and links appear only in the body: subjects show on locked screens. */
export const MAIL_TEXTS: Record<MailLanguage, (content: MailContent, system: string) => MailText> = {
  en(content, system) {
    switch (content.kind) {
      case 'verify':
      case 'bind':
        return {
          subject: `Confirm your mail address for ${system}`,
          lines: [
            content.kind === 'verify'
              ? `This address was given to create an account at ${system}. If it was you, enter this code:`
              : `This address was given for an account at ${system}. If it was you, enter this code:`,
          ],
          code: content.code,
          after: [
            `It is valid for ${content.minutes} minutes and works once. Nobody of ${system} will ever ask you for it.`,
            'If it was not you, do nothing: without the code nothing happens.',
          ],
        };
      case 'account_exists':
        return {
          subject: `You have an account at ${system}`,
          lines: [
            `This address was given to create an account at ${system}. There is one already, so no code was made.`,
            `If it was you, sign in: ${content.loginUrl}`,
          ],
          link: { label: 'Choose a new password', url: content.resetUrl },
          after: ['If it was not you, do nothing: nothing has changed.'],
        };
      case 'reset':
        return {
          subject: `Choose a new password for ${system}`,
          lines: [`A new password was requested for your account ${content.username} at ${system}.`],
          link: { label: 'Choose a new password', url: content.link },
          after: [
            `The link is valid for ${content.minutes} minutes and works once. A new password ends all sessions of the account.`,
            'If it was not you, do nothing: your password stays as it is.',
          ],
        };
      case 'notice':
        return NOTICE_TEXTS.en(content, system);
      case 'backup_failed':
        return {
          subject: `A back-up of ${system} failed`,
          lines: [`The daily back-up of ${system} failed: ${content.reason}.`],
          after: ['It is tried again in an hour. The page System of the panel shows all back-ups.'],
        };
      case 'backup_overdue':
        return {
          subject: `No back-up of ${system} was made`,
          lines: [`A back-up of ${system} is made each day, but none was made for ${content.hours} hours.`],
          after: ['The page System of the panel shows all back-ups, and the log says why none was begun.'],
        };
      case 'test':
        return {
          subject: `Test mail of ${system}`,
          lines: [`Mails of ${system} arrive: this one was sent to try the settings.`],
          after: [],
        };
    }
  },

  zh(content, system) {
    switch (content.kind) {
      case 'verify':
      case 'bind':
        return {
          subject: `确认您在 ${system} 的邮箱地址`,
          lines: [
            content.kind === 'verify'
              ? `有人想用此邮箱在 ${system} 注册账号。如果是您本人,请输入以下验证码:`
              : `有人想将此邮箱用于 ${system} 的账号。如果是您本人,请输入以下验证码:`,
          ],
          code: content.code,
          after: [
            `验证码 ${content.minutes} 分钟内有效,仅可使用一次。${system} 的任何人都不会向您索要它。`,
            '如果不是您本人,请忽略此邮件:没有验证码,什么都不会发生。',
          ],
        };
      case 'account_exists':
        return {
          subject: `您在 ${system} 已有账号`,
          lines: [
            `有人想用此邮箱在 ${system} 注册账号。该邮箱已有账号,因此没有生成验证码。`,
            `如果是您本人,请直接登录:${content.loginUrl}`,
          ],
          link: { label: '设置新密码', url: content.resetUrl },
          after: ['如果不是您本人,请忽略此邮件:没有任何改动。'],
        };
      case 'reset':
        return {
          subject: `设置您在 ${system} 的新密码`,
          lines: [`有人为您在 ${system} 的账号 ${content.username} 申请了新密码。`],
          link: { label: '设置新密码', url: content.link },
          after: [
            `链接 ${content.minutes} 分钟内有效,仅可使用一次。设置新密码后,该账号的所有会话都会结束。`,
            '如果不是您本人,请忽略此邮件:您的密码保持不变。',
          ],
        };
      case 'notice':
        return NOTICE_TEXTS.zh(content, system);
      case 'backup_failed':
        return {
          subject: `${system} 备份失败`,
          lines: [`${system} 的每日备份失败:${content.reason}。`],
          after: ['一小时后会再次尝试。面板的“系统”页面显示所有备份。'],
        };
      case 'backup_overdue':
        return {
          subject: `${system} 的备份已逾期`,
          lines: [`${system} 应每天备份,但已有 ${content.hours} 小时没有备份。`],
          after: ['面板的“系统”页面显示所有备份,日志会说明未开始备份的原因。'],
        };
      case 'test':
        return {
          subject: `${system} 的测试邮件`,
          lines: [`${system} 的邮件可以送达:此邮件用于测试设置。`],
          after: [],
        };
    }
  },
};
