/** Pages of tasks and models, for everybody who is signed in. */
export { HomePage } from '../pages/home/home-page.tsx';
export { ModelsPage } from '../pages/models/models-page.tsx';
export { PlaygroundPage } from '../pages/playground/playground-page.tsx';
export { ReferencePage } from '../pages/reference/reference-page.tsx';
export { TaskPage } from '../pages/tasks/task/task-page.tsx';
export { TasksPage } from '../pages/tasks/tasks-page.tsx';
