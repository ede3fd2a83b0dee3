import type { TrialResult } from '../types.ts';
import { recordSteps } from './record-steps.ts';

/**
 * Checks the form of token and name and sends nothing: Telegram answers through the browser, and
 * its API takes the token only in a URL, where logs would keep it.
 */
export async function tryTelegram({ botToken, botName }: { botToken: string; botName: string }): Promise<TrialResult> {
  const steps = recordSteps();
  if (!/^\d{5,20}:[A-Za-z0-9_-]{30,60}$/.test(botToken)) {
    return steps.fail(
      'token',
      'TelegramBotToken does not have the form that BotFather gives: digits, a colon, about 35 characters.',
    );
  }
  steps.pass('token', 'TelegramBotToken has the form that BotFather gives.');
  if (!/bot$/i.test(botName)) {
    return steps.fail('name', 'TelegramBotName is not the name of a bot: those end in "bot".');
  }
  steps.pass(
    'name',
    `Sign in once to check that the token belongs to @${botName}: the gateway itself never talks to Telegram.`,
  );
  return steps.end();
}
