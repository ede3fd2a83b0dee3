/** Resolves when `condition` holds; throws after a minute in which it was false at every look. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (const end = performance.now() + 60_000; ; await Bun.sleep(20)) {
    const late = performance.now() > end;
    if (await condition()) return;
    if (late) throw new Error('the condition did not come true within a minute');
  }
}
