import { type Clock, type Sentence, sentence, toSentence } from '../../kernel/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { NetworkStep, UpstreamFailure, UpstreamRequest, UpstreamResponse } from '../../upstream/index.ts';
import type { SendToVendor } from '../types.ts';

type Name = 'address' | 'proxy' | 'connection' | 'tls' | 'answer';
/** No message contains a secret. */
export type NetworkTrialStep = { name: Name; ok: boolean } & Sentence;

/** `answer`: undefined where the way did not lead to one. */
type Traced = { steps: NetworkTrialStep[]; answer?: { response: UpstreamResponse; ms: number } };

/** Sends a request of a channel, and tells each step of its way: up to the first failure. */
export async function traceNetwork(
  { send, clock }: { send: SendToVendor; clock: Clock },
  channel: ChannelRecord,
  request: UpstreamRequest,
): Promise<Traced> {
  const passed: NetworkStep[] = [];
  const started = clock.monotonicMs();
  const sent = await send(channel, { ...request, onStep: (step) => void passed.push(step) });
  const ms = Math.round(clock.monotonicMs() - started);
  const steps = describePassed(passed, request.url.startsWith('https:'));
  if (!sent.ok) {
    steps.push({ name: findFailed(sent.error, passed, request.url), ok: false, ...toSentence(sent.error) });
    return { steps };
  }
  const { status } = sent.value;
  steps.push({ name: 'answer', ok: status < 500, ...sentence('trial.answered', { status, ms }) });
  return { steps, answer: { response: sent.value, ms } };
}

function describePassed(passed: readonly NetworkStep[], isTls: boolean): NetworkTrialStep[] {
  const steps: NetworkTrialStep[] = [];
  const add = (name: Name, said: Sentence) => void steps.push({ name, ok: true, ...said });
  const named = passed.find(({ at }) => at === 'name');
  let proxy: string | undefined;
  for (const step of passed) {
    if (step.at === 'begin') proxy = step.proxy;
    if (step.at === 'name') {
      const { host, addresses } = step;
      if (addresses.length === 0) add('address', sentence('trial.left_to_proxy', { host }));
      else add('address', sentence('trial.resolved', { host, addresses: addresses.join(', ') }));
    }
    if (!named && step.at === (proxy === undefined ? 'connected' : 'proxy')) add('address', sentence('trial.allowed'));
    if (step.at === 'proxy') add('proxy', sentence('trial.proxy', { proxy: proxy ?? '' }));
    if (step.at === 'connected') add('connection', sentence(isTls ? 'trial.connected' : 'trial.connected_clear'));
    if (step.at === 'tls') {
      const { authority, until } = step;
      add('tls', sentence('trial.certificate_by', { authority, date: until }));
    }
  }
  return steps;
}

/** The step that did not succeed: the one after the last that did. */
function findFailed({ kind, notSent }: UpstreamFailure, passed: readonly NetworkStep[], url: string): Name {
  if (kind === 'refused' || kind === 'dns') return 'address';
  if (!notSent) return 'answer';
  const hasProxy = passed.some((step) => step.at === 'begin' && step.proxy !== undefined);
  const has = (at: NetworkStep['at']) => passed.some((step) => step.at === at);
  if (hasProxy && !has('proxy')) return 'proxy';
  if (!has('connected')) return 'connection';
  return url.startsWith('https:') && !has('tls') ? 'tls' : 'answer';
}
