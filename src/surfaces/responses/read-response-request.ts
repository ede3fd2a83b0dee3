import { isObject, type JsonObject } from '../../kernel/index.ts';
import type { ResponsesMode } from '../../plugins/index.ts';
import { readFlag } from '../../relay/index.ts';
import { type ClientRequest, readModel, taskErrors } from '../../tasks/index.ts';
import { surfaceErrors } from '../errors.ts';

export type ResponseForm = { stream: boolean; background: boolean };
export type ResponseRequest = {
  model: string;
  form: ResponseForm;
  /** The request as plugins see it: without `background`, which the gateway handles. */
  request: ClientRequest;
};

/**
 * Reads the parts of `POST /v1/responses` that the gateway handles.
 * @throws tasks.body_required, tasks.unsupported_media, tasks.model_required,
 * tasks.response_form_invalid
 */
export function readResponseRequest(request: ClientRequest): ResponseRequest {
  const { body } = request;
  if (body.kind === 'none') throw taskErrors.body_required();
  if (body.kind !== 'json') throw taskErrors.unsupported_media({ message: 'This route requires a JSON body.' });
  const model = readModel(request);
  if (model === undefined || !isObject(body.value)) throw taskErrors.model_required({ param: 'model' });
  const { background: _, ...visible } = body.value as JsonObject;
  return {
    model,
    form: {
      stream: readFlag(body.value, 'stream', surfaceErrors.response_form_invalid),
      background: readFlag(body.value, 'background', surfaceErrors.response_form_invalid),
    },
    request: { ...request, body: { ...body, value: visible } },
  };
}

const DESCRIPTIONS: Record<ResponsesMode, string> = {
  sync: 'waiting for the answer (neither "stream" nor "background")',
  stream: 'streaming ("stream": true)',
  background: 'the background ("background": true, then GET /v1/responses/<id>)',
};

/**
 * Checks that the plugin's claim supports this form. Streaming in the background needs both modes.
 * @throws tasks.response_form_unsupported naming the supported forms
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
  const supported = supports.map((mode) => DESCRIPTIONS[mode]);
  throw surfaceErrors.response_form_unsupported({
    message: `The model "${model.slice(0, 120)}" does not take ${DESCRIPTIONS[missing]}. It takes: ${supported.join('; ')}.`,
    ...(missing === 'sync' ? {} : { param: missing }),
  });
}
