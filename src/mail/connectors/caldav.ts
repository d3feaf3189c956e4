import type { MailServerSettings } from '../../config.ts';
import type { Log } from '../../log.ts';
import { type Connector, ServerFault } from './connector.ts';

export function openCalDav(_settings: MailServerSettings, _log: Log): Connector {
  return {
    kind: 'CalDav',
    subscriptions: null,
    read: async () => {
      throw new ServerFault('Unreachable', 'CalDav is not spoken yet.');
    },
  };
}
