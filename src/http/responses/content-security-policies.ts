/** Every Content-Security-Policy of the gateway. */

/** Answers that are not pages: they load nothing, and no page frames them. */
export const ANSWER_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** Results of vendors, which may be pages: nothing in them runs or loads. */
export const CONTENT_POLICY = "sandbox; default-src 'none'";

/** Icons: an SVG keeps its styles and runs nothing. */
export const ICON_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** The page of `taskgate plugin dev`, with its one script and style. */
export const developmentPolicy = ({ scriptSource, styleSource }: { scriptSource: string; styleSource: string }) =>
  `default-src 'none'; script-src ${scriptSource}; style-src ${styleSource}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** Third parties whose scripts the panel may load; an administrator switches them on. */
export type ThirdParties = { turnstile: boolean; telegram: boolean };

/** Cloudflare Turnstile loads its script and its frame with the challenge from here. */
const TURNSTILE = 'https://challenges.cloudflare.com';
/** Telegram's login widget: the script, and the frame with the button. */
const TELEGRAM_SCRIPT = 'https://telegram.org';
const TELEGRAM_FRAME = 'https://oauth.telegram.org';

/**
 * The panel. No inline script ever runs. Mantine writes style tags, which carry the nonce. `blob:`
 * is for images that are fetched with a token. Apart from the enabled third parties and the origin
 * of results nothing loads from other sites, and no other page may frame this one.
 */
export function panelPolicy(
  nonce: string,
  { thirdParties: { turnstile, telegram }, resultsOrigin }: { thirdParties: ThirdParties; resultsOrigin: string },
): string {
  const withResults = (directive: string): string =>
    resultsOrigin === '' ? directive : `${directive} ${resultsOrigin}`;
  const scripts = [...(turnstile ? [TURNSTILE] : []), ...(telegram ? [TELEGRAM_SCRIPT] : [])];
  const frames = [...(turnstile ? [TURNSTILE] : []), ...(telegram ? [TELEGRAM_FRAME] : [])];
  return [
    "default-src 'none'",
    ["script-src 'self'", ...scripts].join(' '),
    // The API reference, a page of the gateway.
    ["frame-src 'self'", ...frames].join(' '),
    `style-src 'self' 'nonce-${nonce}'`,
    withResults("img-src 'self' data: blob:"),
    withResults("media-src 'self' blob:"),
    "font-src 'self'",
    withResults("connect-src 'self'"),
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}
