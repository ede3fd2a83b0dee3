/** Messages between tabs: which session started or ended, never a token. */
export type TabEvent = { kind: 'authenticated' | 'signed_out'; sid: string };

export type TabChannel = { publish(event: TabEvent): void; subscribe(listener: (event: TabEvent) => void): void };

const name = 'taskgate:session';

/**
 * Notifies the other tabs of this origin by BroadcastChannel, or by storage events if it is
 * missing.
 */
export function createTabChannel(): TabChannel {
  return typeof BroadcastChannel === 'function' ? overBroadcast(new BroadcastChannel(name)) : overStorage();
}

function overBroadcast(channel: BroadcastChannel): TabChannel {
  return {
    publish: (event) => channel.postMessage(event),
    subscribe: (listener) =>
      channel.addEventListener('message', ({ data }) => {
        if (isTabEvent(data)) listener(data);
      }),
  };
}

function overStorage(): TabChannel {
  return {
    publish: (event) => {
      try {
        // The nonce makes each write a change: writing an equal value raises no event.
        const nonce = crypto.getRandomValues(new Uint32Array(2)).join('-');
        localStorage.setItem(name, JSON.stringify({ ...event, nonce }));
        localStorage.removeItem(name);
      } catch {
        // Storage is blocked: the other tabs notice at their next request.
      }
    },
    subscribe: (listener) =>
      window.addEventListener('storage', ({ key, newValue }) => {
        if (key !== name || newValue === null) return;
        const event = parse(newValue);
        if (isTabEvent(event)) listener(event);
      }),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isTabEvent(value: unknown): value is TabEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, sid } = value as Partial<TabEvent>;
  return (kind === 'authenticated' || kind === 'signed_out') && typeof sid === 'string';
}
