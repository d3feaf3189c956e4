/** Deletes a record after a while in which that can be undone; the API could only make another one. */
import type { Refusal } from '../client.ts';
import { sayRefusal } from '../parts/refused.ts';
import { later, toast } from '../parts/toast.ts';
import { t } from '../texts/master.ts';

export function deleteLater(name: string, send: () => Promise<{ refused?: Refusal }>, onDone: () => void): void {
  const run = async () => {
    const { refused } = await send();
    if (refused) toast(sayRefusal(refused), { kind: 'fault' });
    else toast(t().deleted(name));
    onDone();
  };
  later(t().willDelete(name), () => void run(), onDone);
}
