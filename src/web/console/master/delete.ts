/** Deletes a record of a list after a delay in which that can be undone: the API cannot restore a deleted record. */
import { useState } from 'preact/hooks';
import { line } from '../../bidi.ts';
import { leave } from '../address.ts';
import { hasFault, type Refusal } from '../client.ts';
import { sayRefusal } from '../parts/refused.ts';
import { refusalIn } from '../parts/stale.ts';
import { later, toast } from '../parts/toast.ts';
import { t } from '../texts/master.ts';

export type Deletable = { id: string; name: string; version: number };

const sayRefused = (error: unknown): string => sayRefusal(refusalIn(error));
/** No use, for records that nothing else names. */
const unused = async (): Promise<undefined> => undefined;

/**
 * @param send deletes the record
 * @param sayUse says what still uses a record, and what to do first: then it is not deleted
 * @returns among others `hidden`, the id of the record that the list leaves out meanwhile
 */
export function useDeletion(
  send: (which: { id: string; version: number }) => Promise<{ refused?: Refusal }>,
  reload: () => void,
  sayUse: (which: Deletable) => Promise<string | undefined> = unused,
) {
  const [hidden, setHidden] = useState('');
  const close = () => leave('record');
  async function remove(which: Deletable): Promise<void> {
    const use = await sayUse(which).catch(sayRefused);
    if (use) return toast(use, { kind: 'fault' });
    const { id, name, version } = which;
    close();
    setHidden(id);
    const back = () => {
      setHidden('');
      reload();
    };
    const run = async () => {
      const { refused } = await send({ id, version });
      // Something may have begun to use it meanwhile.
      const late = hasFault(refused, 'InUse') ? await sayUse(which).catch(sayRefused) : undefined;
      if (refused) toast(late ?? line`${name}: ${sayRefusal(refused)}`, { kind: 'fault' });
      else toast(t().deleted(name));
      back();
    };
    later(t().willDelete(name), () => void run(), back);
  }
  return { hidden, remove, close };
}
