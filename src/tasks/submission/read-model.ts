import { isObject } from '../../kernel/index.ts';
import type { ClientRequest } from '../types.ts';

/** The model as the body names it, not trimmed. Empty when it is missing or not a text. */
export function requestedModel({ body }: Pick<ClientRequest, 'body'>): string {
  if (body.kind === 'none') return '';
  if (body.kind !== 'json') return body.fields.model?.[0] ?? '';
  const model = isObject(body.value) ? body.value.model : undefined;
  return typeof model === 'string' ? model : '';
}

/** The same, but undefined when the body names no model or a blank one. */
export function readModel(request: ClientRequest): string | undefined {
  const model = requestedModel(request);
  return model.trim() === '' ? undefined : model;
}
