import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallableModel, ModelCatalog } from '../../api/types.ts';
import { useGatewayStatus, useSessionSnapshot } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';
import { keyPlaceholder } from '../../ui/code/generate-code.ts';
import { chooseSample, placeholderSample, type Sample, sampleBody } from '../playground/choose-sample.ts';
import { makeExample, type Operation } from './read-document.ts';

/** What is the reader's own in the examples. The key stays in the memory of this page. */
export type Reader = {
  origin: string;
  /** Empty until the reader has entered it. */
  typedKey: string;
  /** The key for the examples: the reader's, or what stands for it. */
  apiKey: string;
  isKeyRefused: boolean;
  setKey(key: string): void;
  models: readonly string[];
  model: string;
  setModel(model: string): void;
  /** A first task with the chosen model. */
  create: { path: string; body: Sample['body'] };
  /**
   * The address and the body with which the examples of an operation begin, and the plugin that
   * they are for.
   */
  begin(operation: Operation): { path: string; body: unknown; plugin?: string };
};

type ModelList = { data: { id: string; owned_by: string }[] };

export function useReader(): Reader {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const isSignedIn = useSessionSnapshot().phase === 'signed_in';
  const [typedKey, setKey] = useState('');
  const [chosen, setModel] = useState('');
  const [readKey] = useDebouncedValue(typedKey, 300);
  const offers = useApiQuery<CallableModel[]>('/api/model', { enabled: isSignedIn }).data ?? [];
  const catalog = useApiQuery<ModelCatalog>('/api/model/catalog', { enabled: isSignedIn }).data;
  const keyModels = useQuery({
    queryKey: ['reference-models', readKey],
    queryFn: async () => {
      const headers = { authorization: `Bearer ${readKey}` };
      const response = await fetch('/v1/models', { headers, credentials: 'omit' });
      if (response.status === 401) return null;
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      return ((await response.json()) as ModelList).data;
    },
    enabled: readKey.startsWith('sk-'),
    gcTime: 0,
  }).data;
  // Relayed models are called in the form of their vendor.
  const ofKey = keyModels?.filter((model) => model.owned_by !== 'relay').map(({ id }) => id);
  const prompt = t('keys.samplePrompt');
  const callable = offers.filter(({ blocked, model }) => blocked === null && ofKey?.includes(model) !== false);
  const models = [...new Set(isSignedIn ? callable.map(({ model }) => model) : (ofKey ?? []))];
  const best = chooseSample({ offers: callable, cards: catalog?.items ?? [], allowed: [], prompt });
  const model = models.includes(chosen) ? chosen : String(best?.body.model ?? models[0] ?? '');
  const offer = callable.find((each) => each.model === model);
  const placeholder = placeholderSample(model === '' ? undefined : model, prompt);
  const sample = offer && chooseSample({ offers: [offer], cards: [], allowed: [], prompt });
  // Images come at once, without a task to follow.
  const own = sample && sample.follow !== null ? sample : undefined;
  const task = offer && { path: offer.surfaces.generic, body: sampleBody(offer, prompt) };
  return {
    origin: (status.data?.server_address || window.location.origin).replace(/\/+$/, ''),
    ...{ typedKey, apiKey: typedKey === '' ? keyPlaceholder : typedKey, isKeyRefused: keyModels === null, setKey },
    ...{ models, model, setModel, create: own ?? task ?? placeholder },
    begin(operation) {
      const [body] = operation.bodies.filter(({ type }) => type === 'application/json');
      const example = body === undefined ? undefined : makeExample(body.schema);
      const fitting = [...(offer ? [offer] : []), ...callable].find(
        ({ surfaces }) =>
          (operation.path === '/v1/videos' && surfaces.proto_video !== null) ||
          (operation.path === '/v1/images/generations' && surfaces.images !== null) ||
          operation.id === 'submitTask' ||
          operation.id === 'quoteTask',
      );
      if (operation.method !== 'POST' || fitting === undefined) return { path: operation.path, body: example };
      const path = operation.path.replace(/^\/v1\/tasks\/\{\w+\}/, fitting.surfaces.generic);
      return { path, body: sampleBody(fitting, prompt), plugin: fitting.plugin_key };
    },
  };
}
