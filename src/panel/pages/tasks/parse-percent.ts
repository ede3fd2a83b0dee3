/** "42%" as 42; null if the vendor reports no percentage. */
export function parsePercent(progress: string): number | null {
  const value = Number.parseFloat(progress);
  return Number.isFinite(value) ? Math.min(Math.max(value, 0), 100) : null;
}
