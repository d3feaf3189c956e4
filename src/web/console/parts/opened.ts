/** What a dialog shows that is open: the address says that it is, so that Back closes it and leads no further. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { go, leave, place } from '../address.ts';

/**
 * The address alone does not open a dialog: what it shows is not there.
 * @param name in the address, its own among the dialogs of a screen
 * @param first what is open at first, if the address says that something is
 */
export function useOpened<Opened>(name: string, first: () => Opened | undefined = () => undefined) {
  const isOpen = place.value['dialog'] === name;
  const [opened, setOpened] = useState(() => (isOpen ? first() : undefined));
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    if (wasOpen.current && !isOpen) setOpened(undefined);
    if (isOpen && opened === undefined) leave('dialog');
    wasOpen.current = isOpen;
  }, [isOpen]);
  return {
    opened,
    show(next: Opened): void {
      setOpened(() => next);
      go({ dialog: name });
    },
    close(): void {
      setOpened(undefined);
      if (place.value['dialog'] === name) leave('dialog');
    },
  };
}
