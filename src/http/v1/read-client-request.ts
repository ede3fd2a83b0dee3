import type { JsonObject } from '../../kernel/index.ts';
import { isObject } from '../../kernel/index.ts';
import type { ClientRequest, RequestBody, RequestFile } from '../../tasks/index.ts';
import { httpErrors } from '../errors.ts';
import { BODY_CAPS, mediaType, parseJsonBody, readBody, readForm } from '../read-body.ts';

/** Limits of form and multipart bodies (as in new-api). */
const MAX_FIELDS = 256;
const MAX_FILES = 32;
const MAX_NAME_BYTES = 256;
const MAX_FILENAME_BYTES = 255;
const MAX_VALUE_BYTES = 1024 * 1024;
/** Room for the fields and the framing around the files of a multipart body. */
const MULTIPART_OVERHEAD = 1024 * 1024;

/**
 * The request as the task engine takes it, with its body read under the cap of its kind.
 * @throws http.too_large, http.unsupported_media, http.bad_json, http.bad_body
 */
export async function readClientRequest(
  request: Request,
  params: Record<string, string>,
  maxFileBytes: number,
): Promise<ClientRequest> {
  const url = new URL(request.url);
  const query = new Map<string, string[]>();
  for (const [name, value] of url.searchParams) addValue(query, name, value);
  return {
    method: request.method,
    path: url.pathname,
    params,
    query: Object.fromEntries(query),
    contentType: request.headers.get('content-type') ?? '',
    accept: request.headers.get('accept') ?? '',
    body: await readRequestBody(request, maxFileBytes),
  };
}

async function readRequestBody(request: Request, maxFileBytes: number): Promise<RequestBody> {
  const type = mediaType(request.headers);
  if (
    type === '' ||
    request.headers.get('content-length') === '0' ||
    request.method === 'GET' ||
    request.method === 'HEAD'
  ) {
    return { kind: 'none' };
  }
  if (type === 'application/json' || type.endsWith('+json')) {
    return { kind: 'json', value: parseJsonBody(await readBody(request, BODY_CAPS.json)) };
  }
  if (type === 'application/x-www-form-urlencoded') {
    const { fields } = splitForm(await readForm(request, BODY_CAPS.json, MAX_FIELDS + MAX_FILES));
    return { kind: 'form', fields };
  }
  if (type === 'multipart/form-data') {
    return {
      kind: 'multipart',
      ...splitForm(await readForm(request, maxFileBytes + MULTIPART_OVERHEAD, MAX_FIELDS + MAX_FILES)),
    };
  }
  throw httpErrors.unsupported_media({
    message: `The content type ${type.slice(0, 100)} is not taken here: send JSON, a form or multipart/form-data.`,
  });
}

function splitForm(form: FormData): { fields: Record<string, string[]>; files: RequestFile[] } {
  const fields = new Map<string, string[]>();
  const files: RequestFile[] = [];
  let count = 0;
  for (const [name, value] of form.entries()) {
    if (name === '' || Buffer.byteLength(name) > MAX_NAME_BYTES) {
      throw httpErrors.bad_body({
        message: `A field name of the form is empty or longer than ${MAX_NAME_BYTES} bytes.`,
      });
    }
    if (typeof value === 'string') {
      if (Buffer.byteLength(value) > MAX_VALUE_BYTES) {
        throw httpErrors.too_large({ message: `The form field "${name}" is larger than 1 MiB.`, param: name });
      }
      count += 1;
      addValue(fields, name, value);
    } else files.push(requestFile(name, value, files));
  }
  if (count > MAX_FIELDS) throw httpErrors.bad_body({ message: `The form has more than ${MAX_FIELDS} fields.` });
  if (files.length > MAX_FILES) throw httpErrors.bad_body({ message: `The form has more than ${MAX_FILES} files.` });
  return { fields: Object.fromEntries(fields), files };
}

/** In place: a copy for each value would cost the square of their number. */
function addValue(fields: Map<string, string[]>, name: string, value: string): void {
  const values = fields.get(name);
  if (values) values.push(value);
  else fields.set(name, [value]);
}

function requestFile(field: string, file: File, earlier: readonly RequestFile[]): RequestFile {
  const index = earlier.filter((other) => other.field === field).length;
  if (Buffer.byteLength(file.name) > MAX_FILENAME_BYTES) {
    throw httpErrors.bad_body({
      message: `A file name of the form is longer than ${MAX_FILENAME_BYTES} bytes.`,
      param: field,
    });
  }
  return {
    ref: index === 0 ? `request_file:${field}` : `request_file:${field}#${index}`,
    field,
    filename: file.name,
    mimeType: file.type,
    size: file.size,
    stream: () => file.stream(),
    bytes: () => file.bytes(),
  };
}

/** The model that a request names, for the key's own limits; empty where it names none. */
export function requestedModel(request: ClientRequest): string {
  const { body } = request;
  if (body.kind === 'none') return '';
  if (body.kind !== 'json') return body.fields.model?.[0] ?? '';
  const model = isObject(body.value) ? (body.value as JsonObject).model : undefined;
  return typeof model === 'string' ? model : '';
}
