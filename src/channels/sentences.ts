import { defineSentences } from '../kernel/index.ts';

/** Why a channel cannot be saved; the panel has each in its languages. */
export const channelSentences = defineSentences('channels', {
  name_length: 'name must have 1 to {{max}} characters.',
  key_length: "key must have 1 to {{max}} characters: it is the vendor's credential.",
  key_length_of: "key must have 1 to {{max}} characters: it is the vendor's credential, such as {{format}}.",
  address_length: 'base_url must have at most {{max}} characters.',
  address_absolute: 'base_url must be an absolute address such as https://api.example.com.',
  address_scheme: 'base_url must begin with http:// or https://.',
  address_credentials: 'base_url must not contain credentials; put them into key.',
  address_query: 'base_url must not contain a query or a fragment.',
  list_empty: '{{field}} must name at least one entry.',
  list_max: '{{field}} may have at most {{max}} entries.',
  list_empty_entry: '{{field}} must not contain an empty entry.',
  list_twice: '{{field}} names an entry twice.',
  mapping_names: 'model_mapping must map model names to model names.',
  mapping_cycle: 'model_mapping has a cycle at "{{model}}".',
  grace_range: 'settings.not_found_grace_seconds must be a whole number of seconds from 0 to {{max}}.',
  plugin_needed: 'A channel of type 61 needs task_plugin_key.',
  plugin_missing: 'No plugin with the key "{{plugin}}" is installed.',
  plugin_unwanted: 'task_plugin_key belongs to channels of type 61 only.',
  type_unknown: 'No plugin declares the channel type {{type}}. Use 61 with task_plugin_key, or 1 for a relay.',
  address_needed: 'base_url is needed: the plugin has no default address.',
  hidden_characters:
    '{{field}}: it must have no control characters, no invisible ones, and none that change the direction of text.',
});
