import type { MailServerSettings } from '../../config.ts';
import type { Log } from '../../log.ts';
import { type Connector, ServerFault } from './connector.ts';

export function openGraph(_settings: MailServerSettings, _log: Log): Connector {
  return {
    kind: 'Graph',
    subscriptions: null,
    read: async () => {
      throw new ServerFault('Unreachable', 'Graph is not spoken yet.');
    },
  };
}
