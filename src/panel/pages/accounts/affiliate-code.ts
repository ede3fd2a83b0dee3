/** The API's maximum length. */
const maxLength = 64;

/** The affiliate code from the `aff` query parameter; empty if it is missing or too long. */
export function readAffiliateCode(params: URLSearchParams): string {
  const code = (params.get('aff') ?? '').trim();
  return code.length <= maxLength ? code : '';
}

/** The code as a query string for a link to another page. */
export function affiliateQuery(params: URLSearchParams): string {
  const code = readAffiliateCode(params);
  return code === '' ? '' : `?${new URLSearchParams({ aff: code })}`;
}
