/**
 * What Telegram's login widget hands over, signed as Telegram does
 * (https://core.telegram.org/widgets/login).
 */
import { createHash, createHmac } from 'node:crypto';

export const BOT = { name: 'taskgate_test_bot', token: '7000000001:AAE-real-form-of-a-bot-token-01234567' };

export type Person = { id: number | string; first_name?: string; username?: string };

/** The parameters in Telegram's order, `hash` last. */
export function signWidget(
  person: Person,
  authDate: number,
  { botToken = BOT.token, more = {} }: { botToken?: string; more?: Record<string, string> } = {},
): URLSearchParams {
  const fields: Record<string, string> = {
    id: String(person.id),
    first_name: person.first_name ?? 'Ада Лавлейс ✨',
    username: person.username ?? 'ada',
    photo_url: 'https://t.me/i/userpic/320/ada.jpg?a=1&b=2',
    auth_date: String(authDate),
    ...more,
  };
  const text = Object.keys(fields)
    .sort()
    .map((name) => `${name}=${fields[name]}`)
    .join('\n');
  const key = createHash('sha256').update(botToken).digest();
  return new URLSearchParams({ ...fields, hash: createHmac('sha256', key).update(text).digest('hex') });
}
