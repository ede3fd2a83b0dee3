/**
 * ComfyUI by its public source (`server.py`): it takes a workflow whose nodes it knows, and tells
 * of a job in the history once it has ended.
 */
import { usualCases } from './usual-cases.ts';
import { type Answer, type Expected, mark, type Received, type Scenario, type Vendor, videoBytes } from './vendor.ts';

const workflow = (prompt: string, image = 'example.png', width = 512) => ({
  '1': { class_type: 'LoadImage', inputs: { image } },
  '2': { class_type: 'EmptyImage', inputs: { width, height: 512, batch_size: 1, color: 0 } },
  '3': { class_type: 'SaveImage', inputs: { images: ['2', 0], filename_prefix: prompt } },
});
const INPUTS = { prompt: '3.filename_prefix', image: '1.image', width: '2.width', height: '2.height' };

const id = (name: string) => `job-${mark(name)}`;
const ended = (outputs: unknown) => ({
  ...{ prompt: [0, 'id', {}, {}, ['3']], outputs, meta: {} },
  status: {
    ...{ status_str: 'success', completed: true },
    messages: [
      ['execution_start', { timestamp: 1_790_000_000_000 }],
      ['execution_success', { timestamp: 1_790_000_004_000 }],
    ],
  },
});
const file = (name: string, ending = 'png') => ({ filename: `${mark(name)}.${ending}`, subfolder: '', type: 'output' });
const done = (name: string) => ({ [id(name)]: ended({ '3': { images: [file(name)] } }) });
const failed = (name: string) => ({
  [id(name)]: {
    outputs: {},
    status: {
      ...{ status_str: 'error', completed: false },
      messages: [['execution_error', { node_id: '2', node_type: 'EmptyImage', exception_message: 'out of memory' }]],
    },
  },
});
/** The id that the gateway proposes is a UUID; the rest must be the workflow with its values. */
const expectWorkflow = (prompt: unknown): Expected => ({
  method: 'POST',
  path: '/prompt',
  headers: { authorization: null },
  check({ json }: Received) {
    const { prompt_id: proposed, ...rest } = json as { prompt_id: string };
    if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(proposed)) return `prompt_id is ${proposed}`;
    return Bun.deepEquals(rest, { prompt }) ? undefined : `the workflow is ${JSON.stringify(rest)}`;
  },
});
const accepted = (name: string) => ({ prompt_id: id(name), number: 4, node_errors: {} });
const expectPoll = (name: string): Expected => ({ method: 'GET', path: `/history/${id(name)}` });
const content = (name: string, ending = 'png'): NonNullable<Scenario['content']> => [
  {
    expect: {
      ...{ method: 'GET', path: '/view' },
      query: { filename: `${mark(name)}.${ending}`, subfolder: '', type: 'output' },
    },
    answer: { bytes: videoBytes(name), headers: { 'content-type': 'image/png' } },
  },
];
const NOTHING_LEFT: Answer = { json: { exec_info: { queue_remaining: 1 } } };

/** Keeps a picture in the input folder, as `LoadImage` wants it. Its name is the task's. */
function keepUpload({ fields }: Received): Answer {
  const { image, ...rest } = fields ?? {};
  const isPicture = typeof image === 'object' && image.type === 'image/png' && /^task_\w+\.png$/.test(image.file);
  const isInput = Bun.deepEquals(rest, { type: 'input', overwrite: 'true' });
  if (!isPicture || !isInput) return { status: 400, text: '' };
  return { json: { name: image.file, subfolder: '', type: 'input' } };
}

export const vendor: Vendor = {
  key: 'comfyui',
  channel: {
    key: 'none',
    models: ['my-comfy-picture', 'my-comfy-video'],
    model_mapping: { 'my-comfy-picture': 'comfyui-image', 'my-comfy-video': 'comfyui-video' },
    settings: {
      workflows: {
        'my-comfy-picture': { workflow: workflow('x'), inputs: INPUTS },
        'my-comfy-video': { workflow: workflow('x'), inputs: INPUTS, seconds: 3, outputs: ['3'] },
      },
    },
  },
  prices: {
    'my-comfy-picture': '0.001 * u("compute_seconds") + 0.01 * u("images")',
    'my-comfy-video': '0.02 * u("seconds")',
  },
  authorize: () => undefined,
  // How much is left is asked for without the id of a job, and a picture comes before its workflow.
  async serve(received) {
    if (received.path === '/upload/image') return keepUpload(received);
    return received.method === 'GET' && received.path === '/prompt' ? NOTHING_LEFT : undefined;
  },
  scenarios: [
    ...usualCases({
      client: (name) => ({ model: 'my-comfy-picture', prompt: mark(name) }),
      submit: (name) => expectWorkflow(workflow(mark(name))),
      accepted,
      poll: expectPoll,
      running: () => ({}),
      done,
      failed: { json: failed, reason: 'EmptyImage: out of memory' },
      unknown: () => 'resting',
      complaint: { json: { error: 'no prompt', node_errors: [] }, message: 'no prompt' },
      noJob: { json: { number: 4 }, message: 'ComfyUI answered without a job.' },
      unauthorized: { status: 401, text: 'the proxy before it wants a token' },
      content,
      artifacts: (name) => ({ image: videoBytes(name) }),
      bill: (0.001 * 4 + 0.01) * 500_000,
    }),
    {
      name: 'uploaded-picture',
      client: {
        via: 'video',
        form: {
          ...{ model: 'my-comfy-video', prompt: mark('uploaded-picture') },
          ...{ input_reference: new File([videoBytes('frame')], 'a.png', { type: 'image/png' }) },
        },
      },
      poll: { expect: expectPoll('uploaded-picture'), answers: [{ json: {} }, { json: done('uploaded-picture') }] },
      content: [
        {
          // The workflow follows the picture, and names it.
          expect: {
            ...{ method: 'POST', path: '/prompt' },
            check({ json }) {
              const { prompt } = json as { prompt: ReturnType<typeof workflow> };
              const { image } = prompt['1'].inputs;
              if (!/^task_\w+\.png$/.test(image)) return `the picture is ${image}`;
              const wanted = workflow(mark('uploaded-picture'), image);
              return Bun.deepEquals(prompt, wanted) ? undefined : `the workflow is ${JSON.stringify(prompt)}`;
            },
          },
          answer: { json: accepted('uploaded-picture') },
        },
        ...content('uploaded-picture'),
      ],
      // Three seconds by the settings. Upload and workflow are not submissions to the vendor.
      outcome: { artifacts: { image: videoBytes('uploaded-picture') }, bill: 0.02 * 3 * 500_000, attempts: 0, jobs: 0 },
    },
    {
      name: 'refused-workflow',
      client: {
        via: 'generic',
        json: { model: 'my-comfy-picture', prompt: mark('refused-workflow'), size: '1024x512' },
      },
      submit: {
        expect: expectWorkflow(workflow(mark('refused-workflow'), 'example.png', 1024)),
        answers: [
          {
            status: 400,
            json: {
              error: { type: 'prompt_outputs_failed_validation', message: 'Prompt outputs failed validation' },
              node_errors: {
                '2': {
                  class_type: 'EmptyImage',
                  errors: [{ type: 'value_bigger_than_max', message: 'Value 1024 bigger than max', details: 'width' }],
                },
              },
            },
          },
        ],
      },
      outcome: {
        refused: {
          status: 400,
          message: 'Prompt outputs failed validation; node 2 (EmptyImage): Value 1024 bigger than max (width)',
        },
        jobs: 0,
      },
    },
  ],
};
