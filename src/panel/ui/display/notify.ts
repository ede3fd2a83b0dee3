import { notifications } from '@mantine/notifications';

/**
 * A short notification of success that disappears by itself. Show errors on the page, beside what
 * failed.
 */
export const notifySuccess = (message: string): void => {
  notifications.show({ message, color: 'gate', autoClose: 4000, withBorder: true, withCloseButton: false });
};
