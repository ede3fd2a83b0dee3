/** Whether a dialog or an open panel has the keys, such as the palette. */
export const isDialogOpen = (): boolean => document.querySelector('[role="dialog"]') !== null;
