import type { MailServerSettings } from '../../config.ts';
import type { Log } from '../../log.ts';
import { type Connector, ServerFault } from './connector.ts';

export function openEws(_settings: MailServerSettings, _log: Log): Connector {
  return {
    kind: 'Ews',
    subscriptions: null,
    read: async () => {
      throw new ServerFault('Unreachable', 'Ews is not spoken yet.');
    },
  };
}
