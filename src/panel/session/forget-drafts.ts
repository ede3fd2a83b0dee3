/** Removes the requests that the playground keeps in this browser. */
export function forgetDrafts(): void {
  try {
    localStorage.removeItem('taskgate.drafts');
  } catch {
    // Blocked: there are none.
  }
}
