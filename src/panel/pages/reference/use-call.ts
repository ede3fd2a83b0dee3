import { useState } from 'react';
import type { CodeRequest } from '../../ui/code/generate-code.ts';
import { makeExample, type Operation, type Parameter } from './read-document.ts';
import type { Reader } from './use-reader.ts';

/** A request of one operation as the reader changes it: shown as code, and sent. */
export type Call = {
  parameters: readonly Parameter[];
  values: Readonly<Record<string, string>>;
  setValue(name: string, value: string): void;
  /** The body as JSON; undefined: it has none. */
  bodyText: string | undefined;
  setBodyText(text: string): void;
  needsKey: boolean;
  /** null: the body is not JSON. */
  request: CodeRequest | null;
  /** What a price can be asked for: a plugin, and its own form of the request; null: nothing. */
  quoted: { plugin: string; body: Record<string, unknown> } | null;
  /** Forms are sent from programs. */
  canSend: boolean;
};

export function useCall(operation: Operation, reader: Reader): Call {
  const { path, body, plugin } = reader.begin(operation);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [typedBody, setBodyText] = useState<string>();
  const bodyText = typedBody ?? (body === undefined ? undefined : JSON.stringify(body, null, 2));
  const needsKey = operation.access !== 'public' && operation.access !== 'refreshCookie';
  // What a path already has is not a question.
  const parameters = operation.parameters.filter(
    ({ in: place, name }) => place !== 'cookie' && (place !== 'path' || path.includes(`{${name}}`)),
  );
  const form = operation.bodies.find(({ type }) => type === 'multipart/form-data');
  const isForm = bodyText === undefined && form !== undefined;
  const request = writeRequest({
    ...{ operation, path, values, bodyText },
    form: isForm ? readForm(form.schema) : undefined,
    origin: reader.origin,
    apiKey: needsKey ? reader.apiKey : '',
  });
  // Elsewhere a changed field may have another name than the plugin's.
  const isOfPlugin = operation.id === 'submitTask' || typedBody === undefined;
  return {
    ...{ parameters, values, bodyText, setBodyText, needsKey, canSend: !isForm, request },
    setValue: (name, value) => setValues({ ...values, [name]: value }),
    quoted: plugin !== undefined && isOfPlugin && request?.body ? { plugin, body: request.body } : null,
  };
}

type WriteInput = {
  operation: Operation;
  path: string;
  values: Readonly<Record<string, string>>;
  bodyText: string | undefined;
  form: Readonly<Record<string, string>> | undefined;
  origin: string;
  apiKey: string;
};

/** The request as the fields say; parameters of the path without a value stay as `{name}`. */
function writeRequest({ operation, path, values, bodyText, form, origin, apiKey }: WriteInput): CodeRequest | null {
  let url = path;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  for (const { in: place, name } of operation.parameters) {
    const value = values[name] ?? '';
    if (value === '') continue;
    if (place === 'path') url = url.replace(`{${name}}`, () => encodeURIComponent(value));
    else if (place === 'query') query.set(name, value);
    else if (place === 'header') headers[name] = value;
  }
  let body: Record<string, unknown> | undefined;
  try {
    if (bodyText !== undefined) body = JSON.parse(bodyText) as Record<string, unknown>;
  } catch {
    return null;
  }
  return {
    ...{ url: `${origin}${url}${query.size > 0 ? `?${query}` : ''}`, method: operation.method, headers, apiKey },
    ...(body === undefined ? {} : { body }),
    ...(form === undefined ? {} : { form }),
    result: readResult(operation),
  };
}

/** Downloads are stored, streams are printed line by line. */
function readResult({ method, responses }: Operation): 'json' | 'lines' | 'file' | 'headers' {
  if (method === 'HEAD') return 'headers';
  const types = responses.filter(({ status }) => status.startsWith('2')).flatMap(({ bodies }) => bodies);
  if (types.length === 0 || types.some(({ type }) => type.endsWith('json'))) return 'json';
  return types.some(({ type }) => type.startsWith('text/')) ? 'lines' : 'file';
}

/** The required fields of a form. */
function readForm(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, { format?: string }>>;
  const example = makeExample(schema) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(example).map(([name, value]) => [
      name,
      properties[name]?.format === 'binary' ? `@${name}` : String(value),
    ]),
  );
}
