const storageKey = 'taskgate.firstSteps';

/**
 * Whether the first steps were hidden in this browser: not everybody who runs a gateway submits
 * tasks.
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
    // Storage is blocked: they stay hidden until the page is closed.
  }
}
