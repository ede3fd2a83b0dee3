const kept: Response[] = [];

/**
 * Keeps the connection of a response whose body is not read, or not to its end, until it is aborted
 * or ended. The runtime closes the connection of a response that nothing refers to any more
 * whenever it next collects garbage: a test that holds places would lose one now and then.
 */
export function holdOpen(response: Response): Response {
  kept.push(response);
  return response;
}
