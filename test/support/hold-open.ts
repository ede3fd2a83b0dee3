const kept: Response[] = [];

/**
 * Keeps the connection of a response whose body is not read, or not to its end, until it is aborted
 * or ended. Of a response that nothing refers to any more the runtime closes the connection
 * whenever it next collects garbage: a test that holds places would lose one now and then.
 */
export function holdOpen(response: Response): Response {
  kept.push(response);
  return response;
}
