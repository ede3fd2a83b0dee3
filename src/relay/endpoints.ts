import type { ReportedFact } from '../billing/index.ts';
import type { WantedValue } from '../kernel/index.ts';
import { FOLLOWED_KINDS, type RelayKind, type RelayObjectKind } from '../store/ports/index.ts';

/** One collection of OpenAI's API that relay channels serve. */
export type Endpoint = {
  /** The path below the channel's base URL. */
  path: string;
  bodies: readonly ('json' | 'multipart')[];
  /**
   * `events`: answers with server-sent events if the client asks for them. `bytes`: its answer is a
   * stream in any case.
   */
  streams?: 'events' | 'bytes';
  /** The answer's media types besides JSON and events. */
  answers?: RegExp;
  /** The facts that its answers report. */
  reports: readonly ReportedFact[];
  /**
   * Where a whole answer has its results: one that has none of them, and reports no usage, costs
   * nothing where the price reads the report. A stream also has one once it brings content.
   */
  results?: Readonly<Record<string, WantedValue>>;
  /** Types of the items that a whole answer has, of which some are calls of the vendor's tools. */
  items?: Readonly<Record<string, WantedValue>>;
  /** Texts of the answer, which count where it reports no usage. */
  counted: Readonly<Record<string, WantedValue>>;
  /** Thoughts and calls, of which the vendor may count more than their texts until they end. */
  calls?: Readonly<Record<string, WantedValue>>;
  /** Other content of events, and their types that show it: only the vendor can count it. */
  opaque?: Readonly<Record<string, WantedValue>>;
  /**
   * The vendor always makes the whole answer, even if only a part arrives: only its report counts.
   */
  isOpaque?: boolean;
  /**
   * The gateway must ask for the usage of a stream, which comes as an event of its own
   * (`usage/ask-for-usage.ts`).
   */
  asksForUsage?: boolean;
  /** No tokens are reserved for its answers. */
  hasNoOutput?: boolean;
};

const TOKENS = ['input_tokens', 'output_tokens', 'cached_tokens'] as const;
/** Models of these APIs may call tools of their vendor. */
const WITH_TOOLS = [...TOKENS, 'tool_calls'] as const;

const CHAT_TEXTS = [
  'content',
  'content[].text',
  'content[].thinking[].text',
  'reasoning_content',
  'reasoning',
  'refusal',
  ...['function_call', 'tool_calls[].function'].flatMap((call) => [`${call}.name`, `${call}.arguments`]),
  'tool_calls[].custom.input',
];
const lengths = (...paths: string[]): Record<string, WantedValue> =>
  Object.fromEntries(paths.map((path) => [path, 'length']));

/** An image is an object of one of these lists with its address or its bytes. */
const IMAGES = Object.fromEntries(
  ['data[]', 'images[]'].flatMap((list): [string, WantedValue][] => [
    [list, 'object'],
    [`${list}.url`, 'length'],
    [`${list}.b64_json`, 'length'],
  ]),
);

export const ENDPOINTS: Readonly<Record<RelayKind, Endpoint>> = {
  response: {
    path: '/responses',
    bodies: ['json'],
    streams: 'events',
    reports: WITH_TOOLS,
    results: { 'output[]': 'object', status: 'string' },
    items: { 'output[].type': 'string', 'response.output[].type': 'string' },
    // An event of text, of reasoning or of a tool's arguments has its part in `delta`.
    counted: lengths('delta'),
    opaque: {
      ...{ type: 'string', 'item.type': 'string' },
      ...{ 'response.status': 'string', 'response.reasoning.effort': 'string' },
    },
  },
  video: { path: '/videos', bodies: ['json', 'multipart'], reports: [], counted: {} },
  chat: {
    path: '/chat/completions',
    bodies: ['json'],
    streams: 'events',
    reports: WITH_TOOLS,
    results: { 'choices[]': 'object' },
    counted: lengths(
      'choices[].text',
      ...CHAT_TEXTS.flatMap((text) => [`choices[].delta.${text}`, `choices[].message.${text}`]),
    ),
    calls: { 'choices[].delta.tool_calls[]': 'object', 'choices[].delta.function_call': 'object' },
    opaque: {
      'choices[].delta.content[].type': 'string',
      'choices[].delta.*': 'object',
      'choices[].delta.*[]': 'object',
    },
    asksForUsage: true,
  },
  embedding: {
    path: '/embeddings',
    bodies: ['json'],
    reports: TOKENS,
    results: { 'data[]': 'object' },
    counted: {},
    hasNoOutput: true,
  },
  image: {
    path: '/images/generations',
    bodies: ['json'],
    streams: 'events',
    reports: [...TOKENS, 'images'],
    results: IMAGES,
    counted: {},
    opaque: { type: 'string' },
    isOpaque: true,
  },
  image_edit: {
    path: '/images/edits',
    bodies: ['multipart', 'json'],
    streams: 'events',
    reports: [...TOKENS, 'images'],
    results: IMAGES,
    counted: {},
    opaque: { type: 'string' },
    isOpaque: true,
  },
  speech: {
    path: '/audio/speech',
    bodies: ['json'],
    streams: 'bytes',
    answers: /^(?:(?:audio|video)\/.*|(?:application|binary)\/octet-stream|application\/(?:x-)?(?:ogg|mp4)|)$/,
    reports: TOKENS,
    counted: {},
    opaque: { type: 'string' },
    isOpaque: true,
  },
  transcription: {
    path: '/audio/transcriptions',
    bodies: ['multipart'],
    streams: 'events',
    answers: /^(?:text\/(?:plain|vtt|srt)|(?:application|binary)\/octet-stream|application\/(?:x-)?subrip|)$/,
    reports: [...TOKENS, 'seconds'],
    results: { text: 'length' },
    counted: lengths('delta'),
    opaque: { type: 'string' },
  },
};

/** Whether the vendor keeps what this request makes, so that its client can read it again. */
export const keepsObject = (kind: RelayKind): kind is RelayObjectKind => kind === 'response' || kind === 'video';

/** Whether the client of such a request may follow it as a task. */
export const mayBeFollowed = (kind: RelayKind): boolean => FOLLOWED_KINDS.includes(kind);
