/** Nothing about the task changes any more. */
export const hasEnded = ({ status }: { status: string }): boolean => status === 'SUCCESS' || status === 'FAILURE';
