/** Removes an entry of a list after a delay in which that can be undone. */
import { useState } from 'preact/hooks';
import type { Refusal } from '../client.ts';
import { toastRefusal } from './refused.ts';
import { later } from './toast.ts';

/** @param message announces the removal @returns among others `isGoing`: whether the list leaves an entry out meanwhile */
export function useRevocation<Which extends { id: string }>(
  send: (which: Which) => Promise<{ refused?: Refusal }>,
  message: string,
  reload: () => void,
) {
  const [going, setGoing] = useState<readonly string[]>([]);
  function revoke(which: Which): void {
    const { id } = which;
    setGoing((all) => [...all, id]);
    const back = () => setGoing((all) => all.filter((each) => each !== id));
    const run = async () => {
      const { refused } = await send(which);
      if (refused) toastRefusal(refused);
      reload();
      back();
    };
    later(message, () => void run(), back);
  }
  return { revoke, isGoing: ({ id }: { id: string }) => going.includes(id) };
}
