/** The longest that the API takes. */
const maxLength = 64;

/**
 * The code of whoever shared the link, from its `aff`. Empty when there is none that could be
 * right.
 */
export function readAffiliateCode(params: URLSearchParams): string {
  const code = (params.get('aff') ?? '').trim();
  return code.length <= maxLength ? code : '';
}

/** The same as the query of a link to another page, so that it is not lost on the way. */
export function affiliateQuery(params: URLSearchParams): string {
  const code = readAffiliateCode(params);
  return code === '' ? '' : `?${new URLSearchParams({ aff: code })}`;
}
