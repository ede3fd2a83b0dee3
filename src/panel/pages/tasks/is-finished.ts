/** The task no longer changes. */
export const isFinished = ({ status }: { status: string }): boolean => status === 'SUCCESS' || status === 'FAILURE';
