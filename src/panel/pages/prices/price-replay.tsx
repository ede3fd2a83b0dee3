import { Alert, Anchor, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { translateOrQuote } from '../../api/translate-sentence.ts';
import type { PriceReplay as ReplaySlice } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { DescriptionList } from '../../ui/display/figures.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { signShare } from './price-text.ts';
import classes from './prices.module.css';

const days = 30;
/** Users that are named. */
const mostNamed = 10;

/** Prices and ratios of groups that are not saved yet. */
export type TriedPrices = {
  prices?: readonly { plugin_key: string; model: string; expression: string }[];
  group_ratios?: Readonly<Record<string, number>>;
};

type User = ReplaySlice['users'][number];
type Outcome = Omit<ReplaySlice, 'users' | 'models' | 'next'> & { users: readonly User[]; isDone: boolean };

/**
 * What the charges of the last 30 days would have been. It reads slice after slice, shows the sums
 * as they grow, and stops when it is left or the prices change.
 */
export function PriceReplay({ tried, runsAtOnce = false }: { tried: TriedPrices; runsAtOnce?: boolean }) {
  const { t } = useTranslation();
  const session = useSession();
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isRunning, setRunning] = useState(false);
  const stopping = useRef<AbortController | null>(null);
  const question = JSON.stringify(tried);

  useEffect(() => {
    setOutcome(null);
    setError(null);
    return () => stopping.current?.abort();
  }, [question]);

  const run = async (): Promise<void> => {
    const stop = new AbortController();
    stopping.current = stop;
    setRunning(true);
    setError(null);
    try {
      let sum: Outcome | null = null;
      let after: string | null = null;
      do {
        const body: object = { ...tried, days, ...(after === null ? {} : { after }) };
        const slice: ReplaySlice = await session.send<ReplaySlice>({
          ...{ method: 'POST', path: '/api/price/replay', body, timeoutMs: 60_000, signal: stop.signal },
        });
        sum = addSlice(sum, slice);
        setOutcome(sum);
        after = slice.next;
      } while (after !== null && !stop.signal.aborted);
    } catch (failure) {
      if (!stop.signal.aborted) setError(failure);
    } finally {
      setRunning(false);
    }
  };

  const begin = useEffectEvent(() => void run());
  useEffect(() => {
    if (runsAtOnce) begin();
  }, [runsAtOnce]);

  return (
    <Stack gap="sm">
      {(outcome === null || error !== null) && (
        <Group gap="sm">
          <Button
            variant="default"
            loading={isRunning}
            h="auto"
            mih={{ base: 44, sm: 36 }}
            styles={{ label: { whiteSpace: 'normal' } }}
            onClick={() => void run()}
          >
            {t('replay.run')}
          </Button>
          <Text size="xs" c="dimmed" flex="1 1 240px">
            {t('replay.note')}
          </Text>
        </Group>
      )}
      {error instanceof Error && <ErrorNotice error={error} />}
      {isRunning && <Progress value={100} animated aria-label={t('replay.running')} />}
      <div aria-live="polite">{outcome !== null && <ReplayOutcome outcome={outcome} />}</div>
    </Stack>
  );
}

function addSlice(sum: Outcome | null, slice: ReplaySlice): Outcome {
  const users = new Map((sum?.users ?? []).map((user) => [user.id, user]));
  for (const user of slice.users) {
    const known = users.get(user.id);
    users.set(user.id, {
      ...user,
      tasks: user.tasks + (known?.tasks ?? 0),
      before: user.before + (known?.before ?? 0),
      after: user.after + (known?.after ?? 0),
      balance: user.balance ?? known?.balance ?? null,
    });
  }
  return {
    read: slice.read + (sum?.read ?? 0),
    tasks: slice.tasks + (sum?.tasks ?? 0),
    before: slice.before + (sum?.before ?? 0),
    after: slice.after + (sum?.after ?? 0),
    refused: slice.refused + (sum?.refused ?? 0),
    refusal: sum?.refusal ?? slice.refusal,
    users: [...users.values()],
    isDone: slice.next === null,
  };
}

const growth = ({ before, after }: Pick<User, 'before' | 'after'>): number => after - before;

function ReplayOutcome({ outcome }: { outcome: Outcome }) {
  const { t } = useTranslation();
  const format = useFormat();
  const signed = (quota: number): string =>
    `${quota > 0 ? '+' : quota < 0 ? '−' : '±'}${format.money(Math.abs(quota))}`;
  const { tasks, before, after, refused, refusal, users } = outcome;
  const paying = users.filter((user) => growth(user) > 0).sort((a, b) => growth(b) - growth(a));
  /** With the top-ups that they made, they would not have come so far. */
  const short = paying.filter((user) => user.balance !== null && user.balance < growth(user));
  if (tasks === 0) return <Text size="sm">{t(outcome.isDone ? 'replay.none' : 'replay.running')}</Text>;
  return (
    <Stack gap="md">
      <DescriptionList
        entries={[
          [t('replay.revenue'), `${format.money(before)} → ${format.money(after)}`],
          [
            t('replay.change'),
            before === 0
              ? signed(growth(outcome))
              : `${signed(growth(outcome))} (${signShare(growth(outcome) / before, format.percent)})`,
          ],
          [t('replay.bills'), format.number(tasks)],
          ...(refused > 0 ? [[t('replay.refused'), format.number(refused)] as const] : []),
        ]}
      />
      {refused > 0 && refusal !== null && (
        <Alert color="yellow" variant="light" title={t('replay.refusedTitle')}>
          {translateOrQuote(refusal, t)}
        </Alert>
      )}
      {paying.length > 0 && (
        <div>
          <Text size="sm" fw={600} mb={6}>
            {t('replay.paying', { count: paying.length, number: format.number(paying.length) })}
          </Text>
          <ul className={classes.paying}>
            {paying.slice(0, mostNamed).map((user) => (
              <li key={user.id}>
                <Anchor component={Link} to={`/users/${user.id}`} size="sm">
                  {user.name ?? t('tasks.userNumber', { id: user.id })}
                </Anchor>
                <span>{`${format.money(user.before)} → ${format.money(user.after)}`}</span>
                <span>{signed(growth(user))}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {short.length > 0 && (
        <Text size="sm" c="dimmed">
          {t('replay.short', {
            names: short
              .slice(0, mostNamed)
              .map(({ id, name }) => name ?? t('tasks.userNumber', { id }))
              .join(', '),
          })}
        </Text>
      )}
      {!outcome.isDone && (
        <Text size="xs" c="dimmed">
          {t('replay.running')}
        </Text>
      )}
    </Stack>
  );
}
