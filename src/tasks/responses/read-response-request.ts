import { isObject, type JsonObject } from '../../kernel/index.ts';
import type { ResponsesMode } from '../../plugins/index.ts';
import { taskErrors } from '../errors.ts';
import { modelOf } from '../submission/submit-surfaces.ts';
import type { ClientRequest } from '../types.ts';

export type ResponseForm = { stream: boolean; background: boolean };
export type ResponseRequest = {
  model: string;
  form: ResponseForm;
  /** The request as plugins see it: without `background`, which is the host's affair. */
  request: ClientRequest;
};

/**
 * `POST /v1/responses` as far as the host reads it.
 * @throws tasks.body_required, tasks.unsupported_media, tasks.model_required,
 * tasks.response_form_invalid
 */
export function readResponseRequest(request: ClientRequest): ResponseRequest {
  const { body } = request;
  if (body.kind === 'none') throw taskErrors.body_required();
  if (body.kind !== 'json') throw taskErrors.unsupported_media({ message: 'This route requires a JSON body.' });
  const model = modelOf(request);
  if (model === undefined || !isObject(body.value)) throw taskErrors.model_required({ param: 'model' });
  const { background: _, ...visible } = body.value as JsonObject;
  return {
    model,
    form: { stream: readFlag(body.value, 'stream'), background: readFlag(body.value, 'background') },
    request: { ...request, body: { ...body, value: visible } },
  };
}

/** Null is how clients write a flag that they leave open. */
function readFlag(body: Record<string, unknown>, name: 'stream' | 'background'): boolean {
  const value = body[name] ?? false;
  if (typeof value !== 'boolean') {
    throw taskErrors.response_form_invalid({ message: `${name} must be true or false.`, param: name });
  }
  return value;
}

const HOW: Record<ResponsesMode, string> = {
  sync: 'waiting for the answer (neither "stream" nor "background")',
  stream: 'streaming ("stream": true)',
  background: 'the background ("background": true, then GET /v1/responses/<id>)',
};

/**
 * Whether the plugin's claim takes requests of this form; one that streams in the background needs
 * both.
 * @throws tasks.response_form_unsupported naming the forms that are taken
 */
export function assertFormSupported(
  supports: readonly ResponsesMode[],
  { stream, background }: ResponseForm,
  model: string,
): void {
  const needed: ResponsesMode[] = [];
  if (stream) needed.push('stream');
  if (background) needed.push('background');
  if (needed.length === 0) needed.push('sync');
  const missing = needed.find((mode) => !supports.includes(mode));
  if (missing === undefined) return;
  const taken = supports.map((mode) => HOW[mode]);
  throw taskErrors.response_form_unsupported({
    message: `The model "${model.slice(0, 120)}" does not take ${HOW[missing]}. It takes: ${taken.join('; ')}.`,
    ...(missing === 'sync' ? {} : { param: missing }),
  });
}
