/** Types that browsers may display. Pages, scripts and SVG of a vendor are only ever downloaded. */
const INLINE = /^(?:video|audio|image)\/(?!.*(?:svg|xml))/;

const MAX_TYPE = 256;
const ESSENCE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
/** Only unquoted values are kept: a quoted one may contain a comma, at which some readers split. */
const PARAMETER = /^[a-z0-9-]{1,40}=[a-z0-9!#$&^_.+-]{1,100}$/i;
const QUOTED_PARAMETER = /^[a-z0-9-]{1,40}="[a-z0-9 !#$&^_.+-]{0,100}"$/i;

type MediaType = { essence: string; parameters: string[] };

/**
 * Accepts a header only if it is exactly one media type: otherwise readers could disagree on it.
 */
export function readMediaType(header: string | undefined): MediaType | undefined {
  if (header === undefined || header.length > MAX_TYPE) return undefined;
  const [first = '', ...rest] = header.split(';').map((part) => part.trim());
  const essence = first.toLowerCase();
  if (!ESSENCE.test(essence)) return undefined;
  if (!rest.every((part) => PARAMETER.test(part) || QUOTED_PARAMETER.test(part))) return undefined;
  return { essence, parameters: rest.filter((part) => PARAMETER.test(part)) };
}

export const isDisplayed = (essence: string): boolean => INLINE.test(essence);

export const writeMediaType = ({ essence, parameters }: MediaType): string => [essence, ...parameters].join('; ');
