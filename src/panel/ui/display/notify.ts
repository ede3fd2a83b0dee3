import { notifications } from '@mantine/notifications';

/**
 * A short word that something was done; it goes by itself. What failed belongs on the page, by the
 * thing that failed.
 */
export const notifySuccess = (message: string): void => {
  notifications.show({ message, color: 'gate', autoClose: 4000, withBorder: true, withCloseButton: false });
};
