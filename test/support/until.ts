/** Resolves when `condition` holds; throws after ten seconds. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (const end = performance.now() + 10_000; performance.now() < end; await Bun.sleep(20)) {
    if (await condition()) return;
  }
  throw new Error('the condition did not come true within ten seconds');
}
