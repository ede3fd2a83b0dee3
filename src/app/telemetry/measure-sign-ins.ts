import { Counter, type Registry } from 'prom-client';

/** `outcome`: `success`, or the reason of the refusal. Both come from closed sets. */
type SignIn = { method: string; outcome: string };

/** Counts sign-ins by method and outcome; returns the function that records each. */
export function countSignIns(registry: Registry): (sample: SignIn) => void {
  const signIns = new Counter({
    name: 'taskgate_sign_ins_total',
    help: 'Sign-ins, confirmations and ends of sessions on this node, by method and by success or the reason of the failure.',
    labelNames: ['method', 'outcome'],
    registers: [registry],
  });
  return (sample) => signIns.inc(sample);
}
