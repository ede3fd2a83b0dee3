import { constantTimeEqual, err, hmacSha256Hex, ok, type Result, sha256Hex } from '../../kernel/index.ts';

/** A signed statement of Telegram's login widget. Only Telegram and the bot's owner can sign it. */
export type TelegramAssertion = {
  /** Telegram's user id, in decimal digits. */
  subject: string;
  /** The signed text: the same for every spelling of the query, so it identifies the assertion. */
  text: string;
  /** Unix seconds. */
  expiresAt: number;
};

/**
 * As in new-api: an assertion is valid for five minutes, and may come from a clock that is at most
 * two minutes ahead.
 */
const MAX_AGE_SECONDS = 300;
const MAX_AHEAD_SECONDS = 120;

/** Telegram sends seven parameters. */
const MAX_PARAMETERS = 16;
export const MAX_CHARACTERS = 4096;
const NAME = /^[a-z_]{1,32}$/;
const ID = /^[1-9]\d{0,18}$/;
const AUTH_DATE = /^\d{1,12}$/;
const HASH = /^[0-9a-f]{64}$/;

/**
 * Reads the widget's parameters and checks signature and age
 * (https://core.telegram.org/widgets/login). `now` is in Unix seconds. The error is for the log.
 */
export function readAssertion(
  query: URLSearchParams,
  botToken: string,
  now: number,
): Result<TelegramAssertion, string> {
  const fields = readFields(query);
  if (!fields) return err('a parameter is repeated, or is not one that Telegram sends');
  const { hash = '', id = '', auth_date: date = '' } = Object.fromEntries(fields);
  if (!HASH.test(hash) || !ID.test(id) || !AUTH_DATE.test(date))
    return err('id, auth_date or hash is missing or wrong');

  fields.delete('hash');
  const text = [...fields]
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('\n');
  const key = Buffer.from(sha256Hex(botToken), 'hex');
  if (!constantTimeEqual(hmacSha256Hex(key, text), hash)) return err('the signature is wrong');

  const authDate = Number(date);
  if (now - authDate > MAX_AGE_SECONDS) return err('the assertion is too old');
  if (authDate - now > MAX_AHEAD_SECONDS) return err('the assertion is from the future');
  return ok({ subject: id, text, expiresAt: authDate + MAX_AGE_SECONDS });
}

/**
 * The parameters by name. `undefined` when one is repeated, or when it could make two different
 * sets of parameters share one signed text.
 */
function readFields(query: URLSearchParams): Map<string, string> | undefined {
  const fields = new Map<string, string>();
  let characters = 0;
  for (const [name, value] of query) {
    characters += name.length + value.length;
    if (fields.size >= MAX_PARAMETERS || characters > MAX_CHARACTERS) return undefined;
    if (fields.has(name) || !NAME.test(name) || /[\0\n]/.test(value)) return undefined;
    fields.set(name, value);
  }
  return fields;
}
