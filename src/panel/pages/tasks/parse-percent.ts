/** "42%" as 42; null where the vendor tells no share. */
export function parsePercent(progress: string): number | null {
  const value = Number.parseFloat(progress);
  return Number.isFinite(value) ? Math.min(Math.max(value, 0), 100) : null;
}
