import { constantTimeEqual, err, hmacSha256Hex, ok, type Result, sha256Hex } from '../../kernel/index.ts';

/**
 * What Telegram's login widget says about a person, with a signature that only Telegram and the
 * bot's owner can make.
 */
export type TelegramAssertion = {
  /** Telegram's id of the person, in decimal digits. */
  subject: string;
  /** What was signed: the same for every spelling of the query, so that it names the assertion. */
  text: string;
  /** Unix seconds from which it is too old. */
  expiresAt: number;
};

/**
 * As in new-api: an assertion is taken for five minutes, and from a clock that is at most two ahead
 * of this one.
 */
const MAX_AGE_SECONDS = 300;
const MAX_AHEAD_SECONDS = 120;

/** Telegram sends seven parameters; what is far from that is not looked at. */
const MAX_PARAMETERS = 16;
export const MAX_CHARACTERS = 4096;
const NAME = /^[a-z_]{1,32}$/;
const ID = /^[1-9]\d{0,18}$/;
const AUTH_DATE = /^\d{1,12}$/;
const HASH = /^[0-9a-f]{64}$/;

/**
 * Reads the parameters that the widget hands over and checks signature and age
 * (https://core.telegram.org/widgets/login). `now` in Unix seconds. An error says for the log why
 * it is none.
 */
export function readAssertion(
  query: URLSearchParams,
  botToken: string,
  now: number,
): Result<TelegramAssertion, string> {
  const fields = readFields(query);
  if (!fields) return err('a parameter is repeated, or is none that Telegram sends');
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
  if (now - authDate > MAX_AGE_SECONDS) return err('it is too old');
  if (authDate - now > MAX_AHEAD_SECONDS) return err('it is from the future');
  return ok({ subject: id, text, expiresAt: authDate + MAX_AGE_SECONDS });
}

/**
 * The parameters by name; `undefined` when one is repeated or could make two sets of parameters
 * have one signed text.
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
