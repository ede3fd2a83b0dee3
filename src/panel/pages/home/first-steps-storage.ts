const storageKey = 'taskgate.firstSteps';

/**
 * Whether the first steps were put away in this browser: not everybody who runs a gateway asks
 * models for something.
 */
export function areStepsHidden(): boolean {
  try {
    return localStorage.getItem(storageKey) === 'hidden';
  } catch {
    return false;
  }
}

export function hideSteps(): void {
  try {
    localStorage.setItem(storageKey, 'hidden');
  } catch {
    // Storage is blocked: they stay away as long as the page.
  }
}
