import type { BodyLimitName } from '../bodies/body-limits.ts';
import type { AccessLevel, ProofNeed } from '../pipeline/access-levels.ts';

/** An OpenAPI operation, as far as the gateway edits it. */
export type Operation = {
  operationId?: string | undefined;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: unknown;
  requestBody?: unknown;
  security?: unknown;
  responses?: Record<string, unknown>;
  'x-access'?: AccessLevel;
  /** The path with its real parameter names, where the router or OpenAPI forces others on it. */
  'x-path'?: string;
  /** Parameters that the handler reads itself. */
  'x-parameters'?: readonly object[];
  'x-limit'?: string;
  'x-limit-per-user'?: string;
  'x-limit-model-requests'?: boolean;
  'x-body-limit'?: BodyLimitName;
  'x-security-proof'?: ProofNeed;
  /** Failures that callers should expect, by status. */
  'x-failures'?: Record<string, string>;
};

export type OpenApiDocument = {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string; description: string }[];
  /** The first ones in their order. */
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  /** The webhooks that the gateway sends. */
  webhooks: object;
  components: Record<string, unknown>;
  /** All error codes with their meaning. */
  'x-codes': PublishedCode[];
};

/** An error code: its form on `/api` and on routes for API clients. */
export type PublishedCode = { panel: string; openai: string; status: number; message: string };
