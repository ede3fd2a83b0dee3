import { notifications } from '@mantine/notifications';

// A file of its own: the first page of the panel loads without the library.

/**
 * A short notification of success that disappears by itself. Show errors on the page, beside what
 * failed.
 */
export const notifySuccess = (message: string): void => {
  notifications.show({ message, color: 'gate', autoClose: 4000, withBorder: true, withCloseButton: false });
};
