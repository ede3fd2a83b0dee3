import { baseAddress, boolean, endpoint, type OptionRules, secret, text } from './option-rule.ts';

export const telegramOptions = {
  TelegramOAuthEnabled: { proof: 'settings.security', ...boolean(false) },
  TelegramBotToken: { proof: 'settings.security', ...secret('the token that BotFather gave for the bot') },
  TelegramBotName: {
    proof: 'settings.security',
    ...text(
      '',
      (value) => value === '' || /^[A-Za-z][A-Za-z0-9_]{4,31}$/.test(value),
      "the bot's user name without @: 5 to 32 letters, digits and underscores, beginning with a letter, or nothing",
    ),
  },
} satisfies OptionRules;

export const wechatOptions = {
  WeChatAuthEnabled: { proof: 'settings.security', ...boolean(false) },
  /** The server that resolves a code to a WeChat user. */
  WeChatServerAddress: { proof: 'settings.security', ...baseAddress('') },
  WeChatServerToken: { proof: 'settings.security', ...secret('the token of the WeChat server') },
  /** The QR code that people scan. */
  WeChatAccountQRCodeImageURL: { proof: 'settings.security', ...endpoint('') },
} satisfies OptionRules;
