import type { Quote } from '../../billing/index.ts';
import { mapModel } from '../../channels/index.ts';
import { type ChannelRecord, ROLE } from '../../store/ports/index.ts';
import { readChoices, readTier, refuseUncounted } from '../bodies/request-members.ts';
import { ENDPOINTS } from '../endpoints.ts';
import { readSources, type Sources } from '../objects/find-sources.ts';
import { measureSound } from '../sound/measure-sound.ts';
import type { Creation, RelayDeps, RelayIntent } from '../types.ts';
import { estimateReservation } from '../usage/estimate-reservation.ts';
import { refuseUnmeasurableAudio, speakerSeconds } from '../usage/refuse-unmeasurable-audio.ts';
import { RELAY_PLUGIN_KEY } from '../usage/reserve-and-bill.ts';

/** Facts whose reservation depends on the length of the sound. */
const SOUND_FACTS = ['seconds', 'input_tokens'] as const;

/**
 * Prices a request on a channel, by the most that it may use. `asked`: the request as the client
 * sent it, before the channel's own fields.
 * @throws billing.model_price_error, tasks.relay_request_invalid
 */
export async function quoteRelayRequest(
  deps: RelayDeps,
  { caller: { user, group }, intent, request }: Creation,
  { channel, sources, asked }: { channel: ChannelRecord; sources: Sources; asked: RelayIntent },
): Promise<Quote> {
  const { model, kind: action } = intent;
  const upstreamModel = mapModel(channel.modelMapping, model);
  const price = deps.billing.prices.find(RELAY_PLUGIN_KEY, model, upstreamModel);
  const factKeys = price?.expression.factKeys ?? [];
  const hasSound = ENDPOINTS[action].reports.includes('seconds');
  const sounds = request.client.body.kind === 'multipart' ? request.client.body.files : [];
  if (hasSound && factKeys.includes('seconds')) refuseUnmeasurableAudio(sounds, intent.values);
  const readsSound = hasSound && SOUND_FACTS.some((fact) => factKeys.includes(fact));
  const soundSeconds = readsSound ? (await measureSound(sounds)) + speakerSeconds(intent.values) : undefined;
  const built = factKeys.length > 0 ? await readSources(deps, sources) : { seconds: 0, tokens: 0, videos: [] };
  const measured = { settings: channel.settings, soundSeconds, storedTokens: built.tokens };
  const estimates = factKeys.length > 0 ? await estimateReservation(intent, request.client, measured) : {};
  const { seconds } = intent.facts;
  const isBuilt = action === 'video' && typeof seconds === 'number';
  const quote = deps.billing.quote({
    pluginKey: RELAY_PLUGIN_KEY,
    model,
    upstreamModel,
    action,
    // The client's own word does not count about what the vendor reports, nor against the length of
    // a video that it builds on.
    facts: {
      ...intent.facts,
      ...(isBuilt ? { seconds: Math.max(seconds, built.seconds) } : {}),
      ...(factKeys.includes('service_tier') ? { service_tier: readTier(intent.values) } : {}),
      ...readChoices(intent, { factKeys, videos: built.videos }),
      ...estimates,
    },
    group,
    isAdmin: user.role >= ROLE.admin,
  });
  const isFree = quote.quota === 0 && factKeys.length === 0;
  if (!isFree) refuseUncounted(asked, factKeys);
  return quote;
}
