import { embedText } from '../embed-text.ts' with { type: 'macro' };

/** A member and not a constant, whose text the bundler would repeat at each use. */
const embedded = { contract: embedText('../../contracts/v1.d.ts') };

/** The contract's types, as authors read them. */
export const CONTRACT: string = embedded.contract;

/** The lines of an interface in the contract, its own and those of what it extends. */
function readFields(name: string): string[] {
  const start = CONTRACT.indexOf(`export interface ${name} `);
  if (start === -1) throw new Error(`the contract declares no interface ${name}`);
  const head = CONTRACT.slice(start, CONTRACT.indexOf('{', start));
  const body = CONTRACT.slice(start, CONTRACT.indexOf('\n}', start));
  const parents = head.split(' extends ')[1]?.split(',') ?? [];
  const own = body.split('\n').flatMap((line) => /^ {2}(\w+)\??:/.exec(line)?.[1] ?? []);
  return [...parents.flatMap((parent) => readFields(parent.trim())), ...own];
}

const fields = (...interfaces: string[]): (() => ReadonlySet<string>) => {
  let known: ReadonlySet<string> | undefined;
  return () => {
    known ??= new Set(interfaces.flatMap(readFields));
    return known;
  };
};

/** Members of the global `utils`: those of every host, and the further ones of this gateway. */
const methods = (name: string): ReadonlySet<string> => {
  const start = CONTRACT.indexOf(`export interface ${name} {`);
  const body = CONTRACT.slice(start, CONTRACT.indexOf('\n}', start));
  return new Set([...body.matchAll(/^ {2}(\w+)(?:\(|: \{)/gm)].map(([, method = '']) => method));
};
export const UTILS = methods('Utils');
export const UTILS_EXTENSIONS = methods('UtilsExtensions');

/** The fields that the gateway reads of a hook's result, as the contract declares them. */
export const RESULT_FIELDS: Readonly<Record<string, () => ReadonlySet<string>>> = {
  buildSubmitRequest: fields('SubmitDescriptor'),
  buildQueryRequest: fields('RequestDescriptor'),
  buildBatchQueryRequest: fields('RequestDescriptor'),
  buildContentRequest: fields('ContentDescriptor'),
  parseSubmitResponse: fields('SubmitResult'),
  parseSubmitEvent: fields('SubmitEventResult'),
  parseSubmitEventDelta: fields('SubmitEventDelta'),
  parseSubmitError: fields('SubmitError'),
  parseTaskResult: fields('TaskResult'),
  resolveArtifact: fields('ArtifactResolution'),
  listArtifacts: fields('Artifact'),
  buildBalanceRequest: fields('BalanceRequest'),
  queryCapacity: fields('CapacityAnswer'),
  'protocols.proto_video.decodeRequest': fields('SubmitIntent'),
  'protocols.proto_responses.decodeRequest': fields('SubmitIntent'),
  'protocols.proto_image.decodeRequest': fields('SubmitIntent'),
};

/** The fields that the gateway reads of what a native route's decoder returns. */
export const decodedFields = fields('SubmitIntent', 'QueryIntent');
