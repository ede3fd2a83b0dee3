/**
 * A request for several ranges is answered with a multipart type, which is not forwarded. Without
 * the header the vendor sends the whole file.
 */
export const isMultiRange = (name: string, value: string): boolean => name === 'range' && value.includes(',');
