import type { TFunction } from 'i18next';
import { ApiError } from '../../api/api-error.ts';
import { errorMessage } from '../../api/error-message.ts';
import { sayServerText } from '../../api/say-server-text.ts';
import type { Refusal } from './use-quote.ts';

/** What a plugin says of a request, where it says it in its own words. */
const pluginCodes: ReadonlySet<string> = new Set(['PLUGIN_REQUEST_INVALID', 'PLUGIN_USAGE_INVALID']);

/** Why a request would be refused, in the user's language; null: it would not. */
export function refusalText(refusal: Refusal | null, t: TFunction, language: string): string | null {
  if (refusal === null) return null;
  const { code, message, reason, params } = refusal;
  const known = sayServerText(message, t);
  if (known !== null) return known;
  if (reason === null && pluginCodes.has(code)) return message;
  const said = reason === null ? {} : { reason, params: params ?? {} };
  return errorMessage(new ApiError({ status: 400, code, message, ...said }), t, language);
}
