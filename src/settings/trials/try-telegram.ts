import type { TrialResult } from '../types.ts';
import { recordSteps } from './record-steps.ts';

/**
 * Nothing is asked: Telegram's answers come through the browser, and its API takes the token in an
 * address only, where logs keep it.
 */
export async function tryTelegram({ botToken, botName }: { botToken: string; botName: string }): Promise<TrialResult> {
  const steps = recordSteps();
  if (!/^\d{5,20}:[A-Za-z0-9_-]{30,60}$/.test(botToken)) {
    return steps.fail(
      'token',
      'TelegramBotToken is not of the form that BotFather gives: digits, a colon, about 35 characters.',
    );
  }
  steps.pass('token', 'TelegramBotToken has the form that BotFather gives.');
  if (!/bot$/i.test(botName)) {
    return steps.fail('name', 'TelegramBotName is no name of a bot: those end in "bot".');
  }
  steps.pass(
    'name',
    `Sign in once to see that the token is that of @${botName}: the gateway itself never talks to Telegram.`,
  );
  return steps.end();
}
