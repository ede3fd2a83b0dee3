import type { CommandSpec } from './command.ts';

const out = {
  type: 'string',
  value: 'DIR',
  doc: 'wait for the end, and download the results into this folder',
} as const;
const wait = { type: 'boolean', doc: 'wait for the end' } as const;

const ABOUT =
  'Calls the gateway at TASKGATE_URL with TASKGATE_API_KEY, or the one of "taskgate login". Exit 1 if the task failed.';

/** Commands that call a gateway, on this machine or any other. */
export const CLIENT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'login',
    summary: 'remember a gateway and an API key for the commands below',
    positionals: ['URL'],
    options: {
      'key-stdin': { type: 'boolean', doc: 'read the key from standard input (default: ask at the terminal)' },
    },
    load: async () => (await import('./commands/call-gateway.ts')).login,
  },
  {
    name: 'models',
    summary: 'list the models of a gateway',
    positionals: [],
    options: {},
    more: async () => ABOUT,
    load: async () => (await import('./commands/call-gateway.ts')).listModels,
  },
  {
    name: 'run',
    summary: 'have a video, a picture or a sound made',
    positionals: ['MODEL'],
    options: {
      prompt: { type: 'string', value: 'TEXT', doc: 'what to make' },
      image: { type: 'string', value: 'FILE', doc: 'a picture to start from: a file or an address' },
      seconds: { type: 'string', value: 'N', doc: 'how long' },
      size: { type: 'string', value: 'WxH', doc: 'how large, such as 1280x720' },
      body: { type: 'string', value: 'JSON', doc: 'an object with further members of the request' },
      out,
      wait,
    },
    more: async () => `${ABOUT}\nA connection that fails is tried again without buying anything twice.`,
    load: async () => (await import('./commands/call-gateway.ts')).runModel,
  },
  {
    name: 'get',
    summary: 'show a task, and download what it has made',
    positionals: ['ID'],
    options: { out, wait },
    more: async () => ABOUT,
    load: async () => (await import('./commands/call-gateway.ts')).getTask,
  },
  {
    name: 'tasks',
    summary: 'list your latest tasks',
    positionals: [],
    options: {},
    more: async () => ABOUT,
    load: async () => (await import('./commands/call-gateway.ts')).listTasks,
  },
];
