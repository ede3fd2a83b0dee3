import { isObject } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';
import type { ClientRequest } from '../types.ts';

/** The model as the body names it, not trimmed. Empty when it is missing or not a text. */
export function requestedModel({ body }: Pick<ClientRequest, 'body'>): string {
  if (body.kind === 'none') return '';
  if (body.kind !== 'json') return body.fields.model?.[0] ?? '';
  const model = isObject(body.value) ? body.value.model : undefined;
  return typeof model === 'string' ? model : '';
}

/**
 * The same, but undefined when the body names no model or a blank one.
 * @throws tasks.model_required for a form that names several: plugin and vendor could take another
 */
export function readModel(request: ClientRequest): string | undefined {
  const { body } = request;
  const isSeveral =
    (body.kind === 'form' || body.kind === 'multipart') &&
    ((body.fields.model?.length ?? 0) > 1 || (body.kind === 'multipart' && body.files.some(isModel)));
  if (isSeveral)
    throw taskErrors.model_required({ message: 'The form must have model once, as a text.', param: 'model' });
  const model = requestedModel(request);
  return model.trim() === '' ? undefined : model;
}

const isModel = ({ field }: { field: string }): boolean => field === 'model';
