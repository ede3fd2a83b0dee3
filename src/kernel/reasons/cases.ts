/** What a case file answers, ready to be sent to a user or to operators. */
export const casesReasons = {
  'cases.task_succeeded': 'Your task succeeded after {{seconds}} s.',
  'cases.task_waiting':
    'Your task is waiting for free capacity and starts on its own. You do not need to send it again.',
  'cases.task_running': 'Your task is still running. You do not need to send it again.',
  'cases.task_failed': 'Your task failed: {{fault}}',
  'cases.reserved': '{{amount}} USD is reserved for it. The exact price is charged when it succeeds.',
  'cases.charged': 'It cost {{amount}} USD, as estimated.',
  'cases.charged_less':
    'We reserved {{reserved}} USD, charged {{amount}} USD and returned the difference to your balance.',
  'cases.charged_more': 'The result was larger than estimated: it cost {{amount}} USD instead of {{reserved}} USD.',
  'cases.refunded': 'You were not charged. The {{amount}} USD we had reserved is back in your balance.',
  'cases.free': 'You were not charged.',
  'cases.advice_content': 'Change the prompt or the input files and try again: the content was rejected.',
  'cases.advice_request': 'Correct the request before you send it again: the same one would be rejected again.',
  'cases.advice_busy': 'This is usually over within minutes: please try again later.',
  'cases.advice_operator': 'The cause is on our side, not in your request. We are looking into it.',
  'cases.advice_vendor': 'Please try again. If it fails again, try another prompt, input or model.',
  'cases.user_disabled': 'Your account is disabled, so new requests are rejected.',
  'cases.user_empty': 'Your balance is used up. New requests are rejected until you add credit.',
  'cases.user_balance': 'Your balance is {{amount}} USD.',
  'cases.user_idle': 'None of your tasks ended in the last 30 days.',
  'cases.user_tasks':
    'In the last 30 days, {{succeeded}} of your tasks succeeded and {{failed}} failed. You were charged {{amount}} USD; failed tasks are free.',
  'cases.most_failures': 'Most frequent reason for failures ({{count}}): {{fault}}',
  'cases.channel_disabled': 'The channel is disabled and gets no new tasks.',
  'cases.channel_resting': 'The channel is paused for a while, because the vendor rejected its requests.',
  'cases.channel_ready': 'The channel is enabled and gets new tasks.',
  'cases.channel_key_refused': 'The vendor last rejected the key "{{key}}": {{fault}}',
  'cases.channel_idle': 'None of its tasks ended in the last 24 hours.',
  'cases.channel_tasks': 'In the last 24 hours, {{succeeded}} of its tasks succeeded and {{failed}} failed.',
} as const;
