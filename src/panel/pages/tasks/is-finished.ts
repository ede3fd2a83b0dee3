/** Nothing about the task changes any more. */
export const isFinished = ({ status }: { status: string }): boolean => status === 'SUCCESS' || status === 'FAILURE';
