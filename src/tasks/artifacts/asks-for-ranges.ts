/**
 * Several ranges are answered with a multipart type, which is not passed on: without the header the
 * whole comes.
 */
export const asksForRanges = (name: string, value: string): boolean => name === 'range' && value.includes(',');
