/** Deletes a record of a list after a delay in which that can be undone: the API cannot restore a deleted record. */
import { useState } from 'preact/hooks';
import { leave } from '../address.ts';
import type { Refusal } from '../client.ts';
import { toastRefusal } from '../parts/refused.ts';
import { later, toast } from '../parts/toast.ts';
import { t } from '../texts/master.ts';

type Deletable = { id: string; name: string; version: number };

/** @param send deletes the record @returns among others `hidden`, the id of the record that the list leaves out meanwhile */
export function useDeletion(
  send: (which: { id: string; version: number }) => Promise<{ refused?: Refusal }>,
  reload: () => void,
) {
  const [hidden, setHidden] = useState('');
  const close = () => leave('record');
  function remove({ id, name, version }: Deletable): void {
    close();
    setHidden(id);
    const back = () => {
      setHidden('');
      reload();
    };
    const run = async () => {
      const { refused } = await send({ id, version });
      if (refused) toastRefusal(refused);
      else toast(t().deleted(name));
      back();
    };
    later(t().willDelete(name), () => void run(), back);
  }
  return { hidden, remove, close };
}
