import { defineErrors } from '../kernel/index.ts';

export const operationErrors = defineErrors('operations', {
  node_unknown: ['not_found', 'No running node has this id or host name.'],
  node_ambiguous: ['conflict', 'Several running nodes have this host name. Give the id of one.'],
  node_busy: ['conflict', 'Another node is out of service. Start it again or put it back into service first.'],
  node_alone: [
    'conflict',
    'No other node would be left. To reject new tasks while this one keeps running, use maintenance.',
  ],
  node_in_service: ['conflict', 'This node is already in service.'],
});
