/** The keys and the account of a user. */
export { KeyPage } from '../pages/keys/key-page.tsx';
export { KeysPage } from '../pages/keys/keys-page.tsx';
export { NewKeyPage } from '../pages/keys/new-key-page.tsx';
export { RotateKeyPage } from '../pages/keys/rotate-key-page.tsx';
export { NotificationsPage } from '../pages/notifications/notifications-page.tsx';
export { ProfilePage } from '../pages/profile/profile-page.tsx';
export { SecurityPage } from '../pages/security/security-page.tsx';
