/** Pages for everybody who is signed in. */
export { HomePage } from '../pages/home/home-page.tsx';
export { KeyPage } from '../pages/keys/key-page.tsx';
export { KeysPage } from '../pages/keys/keys-page.tsx';
export { NewKeyPage } from '../pages/keys/new-key-page.tsx';
export { RotateKeyPage } from '../pages/keys/rotate-key-page.tsx';
export { ModelsPage } from '../pages/models/models-page.tsx';
export { NotificationsPage } from '../pages/notifications/notifications-page.tsx';
export { PlaygroundPage } from '../pages/playground/playground-page.tsx';
export { ProfilePage } from '../pages/profile/profile-page.tsx';
export { ReferencePage } from '../pages/reference/reference-page.tsx';
export { SecurityPage } from '../pages/security/security-page.tsx';
export { TaskPage } from '../pages/tasks/task-page.tsx';
export { TasksPage } from '../pages/tasks/tasks-page.tsx';
