import { baseAddress, boolean, endpoint, secret, text } from '../option-rule.ts';

export const telegramOptions = {
  TelegramOAuthEnabled: boolean(false),
  TelegramBotToken: secret('the token that BotFather gave for the bot'),
  TelegramBotName: text(
    '',
    (value) => value === '' || /^[A-Za-z][A-Za-z0-9_]{4,31}$/.test(value),
    "the bot's user name without @: 5 to 32 letters, digits and underscores, beginning with a letter, or nothing",
  ),
};

export const wechatOptions = {
  WeChatAuthEnabled: boolean(false),
  /** The server that tells whose code a code is. */
  WeChatServerAddress: baseAddress(''),
  WeChatServerToken: secret('the token of the WeChat server'),
  /** The picture to scan. */
  WeChatAccountQRCodeImageURL: endpoint(''),
};
