/** The OpenAPI entries of what only relay channels serve. The vendor reads all other members. */

const MODEL = { type: 'string', description: 'A model of a relay channel.' } as const;
const STREAM = { type: 'boolean', description: 'Answer with a stream of events.' } as const;
const FILE = { type: 'string', format: 'binary' } as const;

const body = (required: readonly string[], properties: Record<string, unknown>) => ({
  type: 'object' as const,
  required: ['model', ...required],
  properties: { model: MODEL, ...properties },
  additionalProperties: true,
});

type Summary = { tag: string; operationId: string; summary: string; type?: string };

const operation = (
  { tag, operationId, summary, type = 'application/json' }: Summary,
  schema: ReturnType<typeof body>,
  answers: Record<string, object>,
) => ({
  tags: [tag],
  operationId,
  summary,
  requestBody: { required: true, content: { [type]: { schema } } },
  responses: {
    '200': { description: 'The answer of the vendor, unchanged; of a plugin’s model, the gateway’s', content: answers },
  },
});

const RELAYED = { type: 'object', additionalProperties: true } as const;
const JSON_ANSWER = { 'application/json': { schema: RELAYED } };
const EVENTS = { 'text/event-stream': { schema: { type: 'string' } } };

export const RELAYED_OPERATIONS = {
  chat: operation(
    { tag: 'Chat', operationId: 'createChatCompletion', summary: 'Create a chat completion' },
    body(['messages'], {
      messages: { type: 'array', items: { type: 'object', additionalProperties: true } },
      stream: STREAM,
      max_completion_tokens: { type: ['integer', 'null'], description: 'As much is reserved for the answer.' },
    }),
    { ...JSON_ANSWER, ...EVENTS },
  ),
  embedding: operation(
    { tag: 'Embeddings', operationId: 'createEmbeddings', summary: 'Create embeddings' },
    body(['input'], { input: { description: 'A text, or a list of texts or of lists of tokens.' } }),
    JSON_ANSWER,
  ),
  image: operation(
    { tag: 'Images', operationId: 'createImages', summary: 'Create images' },
    body(['prompt'], {
      prompt: { type: 'string' },
      n: { type: ['integer', 'null'], minimum: 1, description: 'How many; as many are reserved.' },
    }),
    { 'application/json': { schema: { anyOf: [RELAYED, { $ref: '#/components/schemas/ImageList' }] } }, ...EVENTS },
  ),
  image_edit: operation(
    { tag: 'Images', operationId: 'editImages', summary: 'Edit images', type: 'multipart/form-data' },
    body(['prompt'], { prompt: { type: 'string' }, image: FILE, mask: FILE }),
    { ...JSON_ANSWER, ...EVENTS },
  ),
  speech: operation(
    { tag: 'Audio', operationId: 'createSpeech', summary: 'Speak a text' },
    body(['input'], { input: { type: 'string' }, voice: { description: 'The name of a voice.' } }),
    { 'audio/*': { schema: FILE }, ...EVENTS },
  ),
  transcription: operation(
    {
      tag: 'Audio',
      operationId: 'createTranscription',
      summary: 'Transcribe a recording',
      type: 'multipart/form-data',
    },
    body(['file'], { file: FILE, response_format: { type: 'string' } }),
    { ...JSON_ANSWER, 'text/plain': { schema: { type: 'string' } }, ...EVENTS },
  ),
};
