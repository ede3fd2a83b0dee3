/** What people read about prices and money. */
export const billingReasons = {
  'billing.budget_key':
    'This API key can spend {{amount}} USD per {{period}}. {{spent}} USD has been spent or reserved, and this request may cost {{cost}} USD. The next {{period}} begins at {{resets_at}}.',
  'billing.budget_key_total':
    'This API key can spend {{amount}} USD in total. {{spent}} USD has been spent or reserved, and this request may cost {{cost}} USD.',
  'billing.budget_user':
    'This account can spend {{amount}} USD per {{period}}. {{spent}} USD has been spent or reserved, and this request may cost {{cost}} USD. The next {{period}} begins at {{resets_at}}.',
  'billing.budget_user_total':
    'This account can spend {{amount}} USD in total. {{spent}} USD has been spent or reserved, and this request may cost {{cost}} USD.',
  'billing.budget_group':
    'Each user of this group can spend {{amount}} USD per {{period}}. {{spent}} USD has been spent or reserved, and this request may cost {{cost}} USD. The next {{period}} begins at {{resets_at}}.',
  'billing.budget_group_total':
    'Each user of this group can spend {{amount}} USD in total. {{spent}} USD has been spent or reserved, and this request may cost {{cost}} USD.',
  'billing.expression_empty': 'The expression is empty. Enter an amount in USD, such as 0.05 * u("seconds").',
  'billing.expression_length': 'The expression is longer than {{max}} characters.',
  'billing.expression_unparsed': 'The expression cannot be read: {{fault}}',
  'billing.expression_tail': 'There is text after the end of the expression.',
  'billing.expression_depth': 'The expression is nested too deeply.',
  'billing.expression_literal': 'Use only numbers, strings, true and false.',
  'billing.expression_name': '"{{name}}" is unknown. Use u("field"), model or action.',
  'billing.expression_operator': 'The operator {{operator}} is not allowed.',
  'billing.expression_nullish': 'The operator ?? is not allowed.',
  'billing.expression_call': 'Only u, min, max, abs, ceil, floor and round can be called.',
  'billing.expression_field': 'u() takes one quoted field name, such as u("seconds").',
  'billing.expression_function': '"{{name}}" is not a function. Use u, min, max, abs, ceil, floor or round.',
  'billing.expression_arguments': '{{name}}() needs a value.',
  'billing.expression_node': '{{node}} is not allowed in a price.',
  'billing.model_empty': 'The model is empty.',
  'billing.model_unpriced': 'The model "{{model}}" has no price. An administrator can set one under Prices.',
  'billing.fact_missing': 'The price needs "{{fact}}", which isn\'t in the request.',
  'billing.price_with_facts': 'With these values the price cannot be computed: {{facts}}. {{fault}}',
  'billing.fact_undeclared': 'The plugin has no billing variable "{{fact}}". It has: {{known}}.',
  'ledger.new_account': 'New account',
  'ledger.first_root': 'First root account',
  'ledger.moved': 'Moved to another channel',
  'ledger.brought': 'Invited user {{user}}',
  'ledger.affiliate': 'Joined with an invitation',
  'ledger.storage': '{{bytes, gigabytes}} of results on {{day}}',
  'prices.too_large': 'The price is too large.',
  'prices.not_finite': 'The price is not a finite number.',
  'prices.negative': 'The price is negative.',
  'prices.text': 'The price has a string where it needs a number.',
  'prices.fact': 'The price needs "{{fact}}", which isn\'t in the request.',
} as const;

/** What a case file answers, ready to be sent to a user or to operators. */
export const casesReasons = {
  'cases.task_succeeded': 'Your task succeeded after {{seconds}} s.',
  'cases.task_waiting':
    'Your task is waiting for free capacity and starts on its own. You do not need to send it again.',
  'cases.task_running': 'Your task is still running. You do not need to send it again.',
  'cases.task_failed': 'Your task failed: {{fault}}',
  'cases.reserved': '{{amount, usd}} is reserved for it. The exact price is charged when it succeeds.',
  'cases.charged': 'It cost {{amount, usd}}, as estimated.',
  'cases.charged_less':
    'We reserved {{reserved, usd}}, charged {{amount, usd}} and returned the difference to your balance.',
  'cases.charged_more': 'The result was larger than estimated: it cost {{amount, usd}} instead of {{reserved, usd}}.',
  'cases.refunded': 'You were not charged. The {{amount, usd}} we had reserved is back in your balance.',
  'cases.free': 'You were not charged.',
  'cases.advice_content': 'Change the prompt or the input files and try again: the content was rejected.',
  'cases.advice_request': 'Correct the request before you send it again: the same one would be rejected again.',
  'cases.advice_busy': 'This is usually over within minutes: please try again later.',
  'cases.advice_operator': 'The cause is on our side, not in your request. We are looking into it.',
  'cases.advice_vendor': 'Please try again. If it fails again, try another prompt, input or model.',
  'cases.user_disabled': 'Your account is disabled, so new requests are rejected.',
  'cases.user_empty': 'Your balance is used up. New requests are rejected until you add credit.',
  'cases.user_balance': 'Your balance is {{amount, usd}}.',
  'cases.user_idle': 'None of your tasks ended in the last 30 days.',
  'cases.user_tasks':
    'In the last 30 days, {{succeeded}} of your tasks succeeded and {{failed}} failed. You were charged {{amount, usd}} in total; failed tasks are free.',
  'cases.most_failures': 'Most common error ({{count}} times): {{fault}}',
  'cases.only_failure': 'The failed task reported: {{fault}}',
  'cases.channel_disabled': 'The channel is disabled and accepts no new tasks.',
  'cases.channel_resting': 'The channel is paused for a while, because the vendor rejected its requests.',
  'cases.channel_ready': 'The channel is enabled and accepts new tasks.',
  'cases.channel_key_refused': 'The vendor last rejected the key "{{key}}": {{fault}}',
  'cases.channel_idle': 'None of its tasks ended in the last 24 hours.',
  'cases.channel_tasks': 'In the last 24 hours, {{succeeded}} of its tasks succeeded and {{failed}} failed.',
} as const;
